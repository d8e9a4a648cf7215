// split: one loop becomes a nest of loops.

#include "schedule/edit.h"
#include "schedule/split_pad.h"

namespace lathe::schedule {
namespace {

struct Factors {
  std::vector<Expr> extents;  ///< one a new loop
  Expr covered;               ///< their product
};

/// Puts the decisions in, infers the open factor, checks that the loops cover `extent`.
Factors resolve(const Edit& edit, const Path& path) {
  const For& loop = *path.back().as<For>();
  const ArgList* list = edit.arg(1).get<ArgList>();
  if (!list || list->empty())
    edit.refuse(code::S010, "no factors were given", {}, "give at least one, e.g. {_, 8}");
  Factors out;
  std::int64_t known = 1;
  int inferred = -1;
  for (std::size_t i = 0; i < list->size(); ++i) {
    std::optional<std::int64_t> f = edit.integer_or_inferred((*list)[i]);
    if (!f) {
      if (inferred >= 0)
        edit.refuse(code::S010, "more than one factor is to be inferred", {}, "leave at most one open");
      inferred = static_cast<int>(i);
      out.extents.push_back(Expr());
      continue;
    }
    if (*f < 1) edit.refuse(code::S010, "factor " + std::to_string(*f) + " is not positive");
    if (__builtin_mul_overflow(known, *f, &known))
      edit.refuse(code::S010, "the product of the factors overflows 64 bits");
    out.extents.push_back(make_index(*f));
  }
  std::optional<std::int64_t> extent = constant(loop.extent);
  if (inferred >= 0) {
    out.extents[inferred] = arith::ceil_div(loop.extent, make_index(known));
  } else if (!extent) {
    edit.refuse(code::S010,
                "the extent " + to_string(loop.extent) +
                    " is known at run time only, so constant factors cannot cover it",
                {{path.back().get(), "here"}}, "leave one factor open: {_, …}");
  } else if (known < *extent) {
    edit.refuse(
        code::S010,
        "the factors cover " + std::to_string(known) + " iterations, the loop has " + std::to_string(*extent),
        {{path.back().get(), "here"}}, "leave one factor open: {_, …}");
  }
  // An empty loop stays empty, whatever the factors, and needs no guard: one that never holds would be taken for a spatial
  // condition, under which a reduction over nothing would not even be initialised.
  // (An inferred factor of 0 further in would make the outer ones count for nothing.)
  if (extent == 0) {
    if (inferred >= 0) out.extents[inferred] = make_index(1);
    out.extents[0] = make_index(0);
  }
  out.covered = arith::product(out.extents);
  return out;
}

}  // namespace

void run_split(Edit& edit) {
  const Path path = edit.loop(0);
  const For& loop = *path.back().as<For>();
  if (loop.for_kind != ForKind::Serial) {
    edit.refuse(code::S011, "loop \"" + loop.var.name() + "\" is already " + spelling(loop.for_kind),
                {{path.back().get(), "here"}}, "split first, then mark the part");
  }
  const Factors factors = resolve(edit, path);
  const std::string& tail = edit.symbol(2);
  if (tail == "Tail::Pad") return split_padded(edit, path, factors.extents, factors.covered);
  if (tail != "Tail::Guard" && tail != "Tail::Peel") edit.refuse(code::S003, tail + " is no Tail");

  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, path);
  std::vector<Var> vars;
  Expr index = 0;
  for (std::size_t i = 0; i < factors.extents.size(); ++i) {
    vars.push_back(Var(loop.var.name() + "_" + std::to_string(i)));
    analyzer.bind_extent(vars[i], factors.extents[i]);
    index = arith::add(arith::mul(index, factors.extents[i]), vars[i]);
  }
  index = analyzer.simplify(index);
  const bool divides = analyzer.can_prove_equal(factors.covered, loop.extent);
  const Expr guard = divides ? true_expr() : index < loop.extent;

  Stmt nest = rebind(loop.body, {{loop.var.node(), index}}, guard, analyzer);
  for (std::size_t i = vars.size(); i-- > 0;) {
    Annotations notes = i == 0 ? loop.annotations : Annotations();
    if (i == 0 && tail == "Tail::Peel") notes["partition"] = std::int64_t{1};
    nest = make_stmt<For>(vars[i], factors.extents[i], ForKind::Serial, nest, ThreadAxis::None,
                          std::move(notes));
  }
  edit.set_body(replace(path, nest));
  edit.consume(loop.var);
  for (const Var& v : vars) edit.output(v);
}

}  // namespace lathe::schedule
