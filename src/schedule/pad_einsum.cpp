// pad_einsum: a contraction over domains that its tiles divide.
//
//     C[i, j] += A[i, k] * B[k, j]   with j in 0..29, padded to a multiple of 16:
//
//     for k: for j in 0..32:  B_padded[k, j] = select(j < 29, B[k, j], 0)
//     for i: for j in 0..32: for k:   C[i, j] += A[i, k] * B_padded[k, j]      (C has 32 columns now)
//
// A variable whose domain is a multiple already gets the copy all the same: what a trace makes does not depend on the values
// of its factors. The surplus elements are computed and never read. A guard or a mask inside the reduction costs more than they do, and
// the padded copy is where an operand gets packed anyway.

#include <algorithm>
#include <map>

#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"

namespace lathe::schedule {
namespace {

/// A variable of the block that gets a larger domain.
struct Widened {
  std::size_t at;  ///< position among the block's variables
  Var var;
  Expr old_extent, extent;
};

/// The subscripts of every access of the block to the buffer. (A region would not do: it leaves out variables of extent 1.)
std::vector<std::vector<Expr>> subscripts(const Block& block, const Buffer& buffer) {
  std::vector<std::vector<Expr>> found;
  for (const Stmt& part : {block.init, block.body}) {
    if (!part.defined()) continue;
    walk(
        part,
        [&](const Stmt& s) {
          if (const Store* store = s.as<Store>(); store && store->buffer.same_as(buffer))
            found.push_back(store->indices);
          return true;
        },
        [&](const Expr& e) {
          if (const Load* l = e.as<Load>(); l && l->buffer.same_as(buffer)) found.push_back(l->indices);
          return true;
        });
  }
  return found;
}

[[noreturn]] void refuse_window(const Edit& edit, const Stmt& self, const Buffer& buffer, const Var& var) {
  edit.refuse(code::S067,
              "\"" + buffer->name + "\" is subscripted with an expression of \"" + var.name() +
                  "\", so larger values of it have no place to be padded",
              {{self.get(), "here"}}, "pad variables that stand alone in a subscript");
}

/// The dimension of the buffer that the variable, by itself, subscripts in all accesses; nothing when none mentions it.
std::optional<std::size_t> dimension_of(const Edit& edit, const Stmt& self, const Buffer& buffer,
                                        const Var& var) {
  std::optional<std::size_t> dimension;
  bool first = true;
  for (const std::vector<Expr>& indices : subscripts(*self.as<Block>(), buffer)) {
    std::optional<std::size_t> found;
    bool alone = true;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!mentions(indices[d], var)) continue;
      alone &= !found && indices[d].get() == var.get();
      found = d;
    }
    if (!alone || (!first && found != dimension)) {
      refuse_window(edit, self, buffer, var);
    }
    dimension = found;
    first = false;
  }
  return dimension;
}

/// A dimension of what is read that larger values of the variables make longer.
struct Lengthened {
  std::int64_t length = 0;  ///< then
  std::int64_t filled = 0;  ///< what lies beyond is zero
};

/// A window of a spatial variable (x[i + r]) reaches as far as it does at the variables' largest values; a reduce variable stands
/// alone, as zeros are what its surplus values must find.
std::map<std::size_t, Lengthened> lengthened(const Edit& edit, const Stmt& self, const Buffer& buffer,
                                             const std::vector<Widened>& widened) {
  const Block& block = *self.as<Block>();
  arith::Analyzer analyzer;
  for (const IterVar& i : block.iters) {
    const auto wide = std::ranges::find_if(widened, [&](const Widened& w) { return w.var.same_as(i.var); });
    analyzer.bind_extent(i.var, wide == widened.end() ? i.extent : wide->extent);
  }
  const std::vector<std::vector<Expr>> accesses = subscripts(block, buffer);
  std::map<std::size_t, Lengthened> found;
  for (const Widened& w : widened) {
    if (block.iters[w.at].kind == IterKind::Reduce) {
      if (const auto d = dimension_of(edit, self, buffer, w.var))
        found[*d] = {*constant(w.extent),
                     std::min(*constant(w.old_extent), constant(buffer->shape[*d]).value_or(0))};
      continue;
    }
    for (const std::vector<Expr>& indices : accesses) {
      for (std::size_t d = 0; d < indices.size(); ++d) {
        if (!mentions(indices[d], w.var) || found.count(d) > 0) continue;
        Lengthened all{0, constant(buffer->shape[d]).value_or(0)};
        for (const std::vector<Expr>& each : accesses) {
          const arith::ConstBound bound = analyzer.bound(each[d]);
          const Expr step =
              analyzer.simplify(substitute(each[d], VarMap{{w.var.node(), w.var + 1}}) - each[d]);
          if (!constant(buffer->shape[d]) || !bound.bounded() || constant(step).value_or(-1) < 0)
            refuse_window(edit, self, buffer, w.var);
          all.length = std::max(all.length, bound.max + 1);
        }
        found[d] = all;
      }
    }
  }
  return found;
}

/// Is the block's update `sum + x * y * …` with every factor a load that mentions the variable? Then zeros in the padding
/// add zero, whatever the other elements are.
bool zeros_add_nothing(const Block& block, const Var& var) {
  if (!block.reducer || block.reducer->name != "sum") return false;
  const Store* store = block.body.as<Store>();
  const Binary* sum = store ? as_binary(store->value, BinaryOp::Add) : nullptr;
  if (!sum) return false;
  auto is_own = [&](const Expr& e) {
    const Load* l = e.as<Load>();
    return l && l->buffer.same_as(store->buffer);
  };
  std::vector<Expr> factors{is_own(sum->a) ? sum->b : sum->a};
  while (!factors.empty()) {
    const Expr e = factors.back();
    factors.pop_back();
    if (const Binary* product = as_binary(e, BinaryOp::Mul)) {
      factors.insert(factors.end(), {product->a, product->b});
    } else if (const Cast* cast = e.as<Cast>()) {
      factors.push_back(cast->a);
    } else if (const Load* l = e.as<Load>();
               !l || is_own(e) ||
               !std::ranges::any_of(l->indices, [&](const Expr& i) { return mentions(i, var); })) {
      return false;
    }
  }
  return true;
}

class Padding {
 public:
  explicit Padding(Edit& edit) : edit_(edit), path_(edit.block(0)), self_(path_.back()) {}

  void run() {
    check_block();
    find_widened();
    std::vector<Stmt> before;
    BufferMap renamed;
    for (const BufferRegion& r : block().reads) {
      if (std::optional<Stmt> copy = padded_copy(r, renamed)) before.push_back(*copy);
    }
    before.push_back(widened_nest(renamed));
    std::vector<Stmt> stmts;
    const Stmt& root = edit_.body();
    for (const Stmt& s : root.as<Seq>() ? root.as<Seq>()->stmts : std::vector<Stmt>{root}) {
      if (contains(s, self_.get()))
        stmts.insert(stmts.end(), before.begin(), before.end());
      else
        stmts.push_back(s);
    }
    edit_.set_body(replace_buffers(make_seq(std::move(stmts)), enlarged_));
  }

 private:
  const Block& block() const { return *self_.as<Block>(); }

  void check_block() {
    if (std::string why = why_not_schedulable(block(), edit_.body()); !why.empty()) {
      edit_.refuse(code::S040, "block \"" + block().name() + "\" is neither complete nor a reduction: " + why,
                   {{self_.get(), "here"}});
    }
    if (block().partner.defined()) {
      edit_.refuse(code::S041, "the reduction \"" + block().name() + "\" was decomposed",
                   {{self_.get(), "here"}}, "pad it before decompose_reduction or cache_write");
    }
    const std::vector<Stmt> loops = loops_on(path_);
    const bool alone = blocks_below(loops.empty() ? self_ : loops[0]).size() == 1;
    bool plain = alone && loops.size() == block().iters.size() && is_true(block().predicate);
    for (std::size_t i = 0; plain && i < loops.size(); ++i) {
      const For& loop = *loops[i].as<For>();
      plain = loop.for_kind == ForKind::Serial &&
              std::ranges::any_of(block().bindings, [&](const Expr& b) { return b.get() == loop.var.get(); });
    }
    if (!plain) {
      edit_.refuse(code::S067, "the loops of block \"" + block().name() + "\" are not as it was computed",
                   {{self_.get(), "here"}}, "pad a block before its loops are split, moved or shared");
    }
    for (const BufferRegion& w : block().writes) {
      if (is_param(edit_.program(), w.buffer)) {
        edit_.refuse(code::S013, "\"" + w.buffer->name + "\" is a parameter and cannot be enlarged",
                     {{self_.get(), "here"}}, "put a cache_write between");
      }
    }
  }

  void find_widened() {
    const ArgList* list = edit_.arg(1).get<ArgList>();
    if (!list || list->size() != block().iters.size()) {
      edit_.refuse(code::S067, "block \"" + block().name() + "\" has " +
                                   std::to_string(block().iters.size()) +
                                   " variables, give one multiple for each");
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const IterVar& iter = block().iters[i];
      const std::optional<std::int64_t> multiple = edit_.integer_or_inferred((*list)[i]);
      if (!multiple || *multiple < 1) edit_.refuse(code::S067, "a multiple is a positive number");
      const std::optional<std::int64_t> extent = constant(iter.extent);
      if (*multiple == 1) continue;
      if (!extent) {
        edit_.refuse(code::S067, "the extent of \"" + iter.var.name() + "\" is known at run time only",
                     {{self_.get(), "here"}}, "use Tail::Guard or Tail::Peel");
      }
      if (iter.kind == IterKind::Reduce && *extent % *multiple != 0 &&
          !zeros_add_nothing(block(), iter.var)) {
        edit_.refuse(code::S067,
                     "block \"" + block().name() + "\" is no sum of products of elements at \"" +
                         iter.var.name() + "\", so zeros there may change its result",
                     {{self_.get(), "here"}}, "use Tail::Guard or Tail::Peel");
      }
      widened_.push_back(
          {i, iter.var, iter.extent, make_index((*extent + *multiple - 1) / *multiple * *multiple)});
    }
  }

  /// A copy of what is read, with zeros where the variables go beyond their old domains; nothing when it reads none of them.
  std::optional<Stmt> padded_copy(const BufferRegion& access, BufferMap& renamed) {
    const std::map<std::size_t, Lengthened> longer = lengthened(edit_, self_, access.buffer, widened_);
    if (longer.empty()) return std::nullopt;
    std::vector<Expr> shape = access.buffer->shape, indices;
    std::vector<Var> vars;
    for (std::size_t d = 0; d < shape.size(); ++d)
      indices.push_back(vars.emplace_back("v" + std::to_string(d)));
    Expr inside = true_expr();
    for (const auto& [d, now] : longer) {
      shape[d] = make_index(now.length);
      if (now.length > now.filled) inside = arith::conjunction(inside, vars[d] < make_index(now.filled));
    }
    const Buffer copy(unique_name(access.buffer->name + "_padded"), access.buffer->dtype, std::move(shape));
    auto made = std::make_unique<Block>();
    made->label = make_label(unique_block_name(edit_.program(), copy->name));
    made->predicate = true_expr();
    for (std::size_t d = 0; d < vars.size(); ++d) {
      made->iters.push_back({vars[d], copy->shape[d], IterKind::Spatial});
      made->bindings.push_back(vars[d]);
    }
    const Expr value = load(access.buffer, indices);
    made->body = make_stmt<Store>(
        copy, is_true(inside) ? value : select(inside, value, make_const(copy->dtype, 0)), indices);
    renamed.emplace(access.buffer.get(), copy);
    edit_.add_temp(copy);
    edit_.output(made->label);
    const Stmt fresh = with_fresh_regions(std::move(made));
    arith::Analyzer analyzer;
    return nest(*fresh.as<Block>(), std::vector<VarRange>(vars.size()), analyzer);
  }

  /// The block's own nest over the larger domains.
  Stmt widened_nest(const BufferMap& renamed) {
    for (const BufferRegion& w : block().writes) {
      std::vector<Expr> shape = w.buffer->shape;
      for (const Widened& v : widened_) {
        const std::optional<std::size_t> d = dimension_of(edit_, self_, w.buffer, v.var);
        if (d) {
          shape[*d] = v.extent;
        } else if (block().iters[v.at].kind == IterKind::Spatial) {
          // A subscript of one value may have been simplified away.
          edit_.refuse(code::S067,
                       "\"" + w.buffer->name + "\" is not subscripted with \"" + v.var.name() +
                           "\", so larger values of it have no place to be stored",
                       {{self_.get(), "here"}}, "pad before transform_layout");
        }
      }
      const Buffer grown(w.buffer->name, w.buffer->dtype, std::move(shape), w.buffer->scope);
      enlarged_.emplace(w.buffer.get(), grown);
      edit_.replace_temp(w.buffer, grown);
    }
    auto wide = copy(block());
    for (const Widened& w : widened_) wide->iters[w.at].extent = w.extent;
    if (wide->init.defined()) wide->init = replace_buffers(replace_buffers(block().init, renamed), enlarged_);
    wide->body = replace_buffers(replace_buffers(block().body, renamed), enlarged_);
    Stmt out = with_fresh_regions(std::move(wide));
    const std::vector<Stmt> loops = loops_on(path_);
    for (std::size_t i = loops.size(); i-- > 0;) {
      const For& loop = *loops[i].as<For>();
      Expr extent = loop.extent;
      for (const Widened& w : widened_) {
        if (block().bindings[w.at].get() == loop.var.get()) extent = w.extent;
      }
      out = make_stmt<For>(loop.var, extent, loop.for_kind, out, loop.axis, loop.annotations);
    }
    return out;
  }

  std::string unique_name(const std::string& name) const {
    auto taken = [&](const std::string& n) {
      return std::ranges::any_of(edit_.temps(), [&](const Buffer& b) { return b->name == n; }) ||
             std::ranges::any_of(edit_.program()->params, [&](const Param& p) { return p.name() == n; });
    };
    std::string candidate = name;
    for (int i = 1; taken(candidate); ++i) candidate = name + "_" + std::to_string(i);
    return candidate;
  }

  Edit& edit_;
  const Path path_;
  const Stmt self_;
  std::vector<Widened> widened_;
  BufferMap enlarged_;
};

}  // namespace

void run_pad_einsum(Edit& edit) { Padding(edit).run(); }

}  // namespace lathe::schedule
