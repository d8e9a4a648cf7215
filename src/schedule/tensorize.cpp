// tensorize: a loop nest is computed by a declared function.
//
// The nest becomes a block as by blockize, with the notes "tensorize" (the intrinsic) and "operands" (which of the block's
// regions is which parameter). The block keeps its inside, which is what the description says: that is what the interpreter
// runs and what later primitives see. Lowering calls the function instead.
//
// Matching runs through nest and description side by side. Loops pair up in order. A variable of the block is its outer part
// plus, for one of the description's variables at most, that variable; so a subscript of the nest must be an outer part plus
// the description's subscript. Which dimension of a buffer is which of a parameter's is found by trial: the function gets the
// strides, so any will do.

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "lathe/tensor_intrinsic.h"
#include "schedule/blockize.h"
#include "schedule/legality.h"

namespace lathe::schedule {
namespace {

/// The only block of a description with its loops; undefined block: it has another form.
struct Description {
  std::vector<Stmt> loops;
  Stmt block;
};
Description description_of(const Program& program) {
  Description out;
  Stmt s = program->body;
  while (const For* loop = s.as<For>()) {
    out.loops.push_back(s);
    s = loop->body;
  }
  const Block* block = s.as<Block>();
  bool fits =
      block && program->temps.empty() && block->iters.size() == out.loops.size() && is_true(block->predicate);
  for (std::size_t i = 0; fits && i < out.loops.size(); ++i)
    fits = block->bindings[i].get() == out.loops[i].as<For>()->var.get() &&
           as_int(out.loops[i].as<For>()->extent);
  if (fits) out.block = s;
  return out;
}

class Matcher {
 public:
  Matcher(const Stmt& block, const std::vector<Stmt>& inside, const arith::Division& division,
          const Description& description, arith::Analyzer& analyzer)
      : block_(block), inside_(inside), division_(division), wanted_(description), analyzer_(analyzer) {}

  /// Empty when the nest is the description, else why not.
  std::string match() {
    const Block& have = *block_.as<Block>();
    const Block& want = *wanted_.block.as<Block>();
    if (inside_.size() != wanted_.loops.size()) {
      return "it has " + std::to_string(inside_.size()) + " loops, the intrinsic " +
             std::to_string(wanted_.loops.size());
    }
    for (std::size_t i = 0; i < inside_.size(); ++i) {
      const For &a = *inside_[i].as<For>(), &b = *wanted_.loops[i].as<For>();
      if (as_int(a.extent) != as_int(b.extent)) {
        return "loop \"" + a.var.name() + "\" has " + to_string(a.extent) + " iterations, loop \"" +
               b.var.name() + "\" of the intrinsic " + to_string(b.extent);
      }
    }
    if (have.is_reduction() != want.is_reduction()) {
      return std::string("block \"") + have.name() + "\" is " + (have.is_reduction() ? "a" : "no") +
             " reduction, the intrinsic is " + (want.is_reduction() ? "one" : "none");
    }
    if (std::string why = pair_variables(have, want); !why.empty()) return why;
    if (!same(have.body, want.body)) return "block \"" + have.name() + "\" computes something else";
    return {};
  }

  /// What the nest has for a parameter of the description.
  struct Operand {
    Buffer buffer;
    std::vector<std::size_t> dimensions;  ///< of the buffer, for those of the parameter
    std::vector<Expr> bases;              ///< of all the buffer's dimensions: what does not vary inside
  };
  const std::map<const BufferNode*, Operand>& operands() const { return operands_; }

 private:
  std::string pair_variables(const Block& have, const Block& want) {
    for (std::size_t i = 0; i < have.iters.size(); ++i) {
      const Expr& part = division_.inner_value[i];
      const Var outer(have.iters[i].var.name() + "_o");
      Expr value = arith::mul(outer, division_.inner_extent[i]);
      for (std::size_t l = 0; l < inside_.size(); ++l) {
        if (inside_[l].as<For>()->var.get() != part.get()) continue;
        if (have.iters[i].kind != want.iters[l].kind)
          return "\"" + have.iters[i].var.name() + "\" and \"" + want.iters[l].var.name() +
                 "\" of the intrinsic are not of one kind";
        value = arith::add(value, want.iters[l].var);
        analyzer_.bind_extent(want.iters[l].var, want.iters[l].extent);
      }
      if (!as_int(part) && !mentions_wanted(value, want)) return mixed(have, i);
      values_.emplace(have.iters[i].var.node(), value);
    }
    return {};
  }
  static bool mentions_wanted(const Expr& e, const Block& want) {
    return std::any_of(want.iters.begin(), want.iters.end(),
                       [&](const IterVar& i) { return mentions(e, i.var); });
  }
  static std::string mixed(const Block& have, std::size_t i) {
    return "\"" + have.iters[i].var.name() + "\" is no single loop of the nest";
  }

  bool same(const Stmt& a, const Stmt& b) {
    if (a.kind() != b.kind()) return false;
    if (const Seq* x = a.as<Seq>()) {
      const Seq* y = b.as<Seq>();
      return x->stmts.size() == y->stmts.size() &&
             std::equal(x->stmts.begin(), x->stmts.end(), y->stmts.begin(),
                        [&](const Stmt& p, const Stmt& q) { return same(p, q); });
    }
    const Store *x = a.as<Store>(), *y = b.as<Store>();
    return x && same(x->value, y->value) && access(x->buffer, x->indices, y->buffer, y->indices);
  }

  bool same(const Expr& a, const Expr& b) {
    if (a.kind() != b.kind() || a.dtype() != b.dtype()) return false;
    if (a.dtype().is_index()) return index(a, b);
    if (const Load* x = a.as<Load>())
      return access(x->buffer, x->indices, b.as<Load>()->buffer, b.as<Load>()->indices);
    if (const Binary* x = a.as<Binary>()) {
      const Binary* y = b.as<Binary>();
      return x->op == y->op && same(x->a, y->a) && same(x->b, y->b);
    }
    if (const Cast* x = a.as<Cast>()) return same(x->a, b.as<Cast>()->a);
    if (const Not* x = a.as<Not>()) return same(x->a, b.as<Not>()->a);
    if (const Select* x = a.as<Select>()) {
      const Select* y = b.as<Select>();
      return same(x->condition, y->condition) && same(x->if_true, y->if_true) &&
             same(x->if_false, y->if_false);
    }
    if (const Call* x = a.as<Call>()) {
      const Call* y = b.as<Call>();
      return x->op == y->op && x->symbol == y->symbol && x->args.size() == y->args.size() &&
             std::equal(x->args.begin(), x->args.end(), y->args.begin(),
                        [&](const Expr& p, const Expr& q) { return same(p, q); });
    }
    return structural_equal(a, b);  // literals
  }
  bool index(const Expr& a, const Expr& b) { return analyzer_.can_prove_equal(substitute(a, values_), b); }

  /// The element of `have` is that of `want`, moved by what does not vary inside.
  bool access(const Buffer& have, const std::vector<Expr>& at, const Buffer& want,
              const std::vector<Expr>& wanted) {
    if (have->dtype != want->dtype || at.size() < wanted.size()) return false;
    if (const auto known = operands_.find(want.get()); known != operands_.end()) {
      const Operand& operand = known->second;
      const std::optional<std::vector<Expr>> same = bases(at, wanted, operand.dimensions);
      return operand.buffer.same_as(have) && same &&
             std::equal(same->begin(), same->end(), operand.bases.begin(),
                        [&](const Expr& a, const Expr& b) { return analyzer_.can_prove_equal(a, b); });
    }
    // The last dimensions first: the usual case, and the one to take where extents of 1 leave a choice.
    std::vector<std::size_t> order(at.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::rotate(order.begin(), order.end() - static_cast<std::ptrdiff_t>(wanted.size()), order.end());
    std::vector<std::size_t> chosen;
    return assign(have, at, want, wanted, order, chosen);
  }

  /// Extends `chosen`, the dimensions for the first of the parameter's, by all of the others.
  bool assign(const Buffer& have, const std::vector<Expr>& at, const Buffer& want,
              const std::vector<Expr>& wanted, const std::vector<std::size_t>& order,
              std::vector<std::size_t>& chosen) {
    if (chosen.size() == wanted.size()) {
      std::optional<std::vector<Expr>> found = bases(at, wanted, chosen);
      if (found) operands_.emplace(want.get(), Operand{have, chosen, std::move(*found)});
      return found.has_value();
    }
    // The rotation has put dimension `size - rank + k` at place k.
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t d = order[(chosen.size() + i) % order.size()];
      if (std::ranges::count(chosen, d) || !base(at[d], wanted[chosen.size()])) continue;
      chosen.push_back(d);
      if (assign(have, at, want, wanted, order, chosen)) return true;
      chosen.pop_back();
    }
    return false;
  }

  /// What the subscript is beyond the description's; nothing when that varies inside.
  std::optional<Expr> base(const Expr& at, const Expr& wanted) {
    Expr rest = analyzer_.simplify(arith::sub(substitute(at, values_), wanted));
    if (mentions_wanted(rest, *wanted_.block.as<Block>())) return std::nullopt;
    return rest;
  }
  std::optional<std::vector<Expr>> bases(const std::vector<Expr>& at, const std::vector<Expr>& wanted,
                                         const std::vector<std::size_t>& dimensions) {
    std::vector<Expr> out;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const auto found = std::ranges::find(dimensions, d);
      const std::optional<Expr> rest =
          base(at[d], found == dimensions.end() ? Expr(0) : wanted[found - dimensions.begin()]);
      if (!rest) return std::nullopt;
      out.push_back(*rest);
    }
    return out;
  }

  const Stmt& block_;
  const std::vector<Stmt>& inside_;
  const arith::Division& division_;
  const Description& wanted_;
  arith::Analyzer& analyzer_;
  VarMap values_;
  std::map<const BufferNode*, Operand> operands_;
};

/// For each parameter of the intrinsic: "r" or "w", the number of the block's read or written region, and its dimensions;
/// empty when the block has no such region.
std::string operands(const Program& description, const Matcher& matcher, const Block& block) {
  std::string out;
  for (const Param& p : description->params) {
    const auto found = matcher.operands().find(p.buffer.get());
    if (found == matcher.operands().end()) return {};
    const bool written = p.role == ParamRole::Output;
    const std::vector<BufferRegion>& list = written ? block.writes : block.reads;
    const auto region = std::ranges::find_if(
        list, [&](const BufferRegion& r) { return r.buffer.same_as(found->second.buffer); });
    if (region == list.end()) return {};
    out +=
        (out.empty() ? "" : ",") + std::string(written ? "w" : "r") + std::to_string(region - list.begin());
    for (std::size_t d : found->second.dimensions) out += ":" + std::to_string(d);
  }
  return out;
}

}  // namespace

std::string why_not_intrinsic(const Block& outer, const TensorIntrinsic& intrinsic, const Program& program) {
  const std::vector<Stmt> blocks = blocks_below(outer.body);
  if (blocks.size() != 1) return "it has " + std::to_string(blocks.size()) + " blocks inside";
  const Block& inner = *blocks[0].as<Block>();
  const std::vector<Stmt> inside = loops_on(path_to(outer.body, blocks[0].get()));
  arith::Analyzer analyzer;
  bind_sizes(analyzer, program);
  std::vector<arith::Domain> outside;
  for (const IterVar& i : outer.iters) {
    outside.push_back({i.var, i.extent});
    analyzer.bind_extent(i.var, i.extent);
  }
  std::vector<Expr> extents;
  for (const IterVar& i : inner.iters) extents.push_back(i.extent);
  for (const Stmt& l : inside) analyzer.bind_extent(l.as<For>()->var, l.as<For>()->extent);
  const std::optional<arith::Division> division =
      arith::subspace_divide(inner.bindings, extents, outside, domains_of(inside), inner.predicate, analyzer);
  if (!division) return "its variables are no tile of the loops outside";
  const Description description = description_of(intrinsic.description);
  Matcher matcher(blocks[0], inside, *division, description, analyzer);
  if (std::string why = matcher.match(); !why.empty()) return why;
  const auto note = outer.annotations.find(kOperandsNote);
  const bool same = note != outer.annotations.end() &&
                    note->second == Annotation(operands(intrinsic.description, matcher, outer));
  return same ? "" : "its operands have changed";
}

void run_tensorize(Edit& edit) {
  const std::string& name = edit.text(1);
  const TensorIntrinsic* intrinsic = find_tensor_intrinsic(name);
  if (!intrinsic)
    edit.refuse(code::S069, "no intrinsic is called \"" + name + "\"", {},
                "declare it with register_tensor_intrinsic");
  const Enclosed nest = enclose(edit, 0);
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  const Description description = description_of(intrinsic->description);
  Matcher matcher(nest.block, nest.inside, nest.division, description, analyzer);
  if (std::string why = matcher.match(); !why.empty()) {
    edit.refuse(code::S069, "the nest is not what intrinsic \"" + name + "\" computes: " + why,
                {{nest.loop.back().get(), "here"}},
                "the intrinsic computes\n" + to_string(intrinsic->description));
  }
  const Label label = make_label(unique_block_name(edit.program(), nest.block.as<Block>()->name() + "_o"));
  const Stmt block = as_block(nest, label, {});
  auto noted = copy(*block.as<Block>());
  noted->annotations[kIntrinsicNote] = name;
  noted->annotations[kOperandsNote] = operands(intrinsic->description, matcher, *noted);
  edit.set_body(replace(nest.loop, Stmt(noted.release())));
}

}  // namespace lathe::schedule

namespace lathe {
namespace {

struct Intrinsics {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<const TensorIntrinsic>> by_name;
};
Intrinsics& intrinsics() {
  static Intrinsics instance;
  return instance;
}

}  // namespace

bool register_tensor_intrinsic(TensorIntrinsic intrinsic) {
  const std::string name = intrinsic.name;
  const schedule::Description description = schedule::description_of(intrinsic.description);
  if (!description.block.defined()) {
    throw UserError(code::S069, "intrinsic \"" + name +
                                    "\": its description is not one compute with constant extents\n" +
                                    to_string(intrinsic.description));
  }
  Intrinsics& all = intrinsics();
  const std::lock_guard lock(all.mutex);
  if (!all.by_name.emplace(name, std::make_unique<const TensorIntrinsic>(std::move(intrinsic))).second)
    throw UserError(code::S069, "an intrinsic \"" + name + "\" is declared already");
  return true;
}

const TensorIntrinsic* find_tensor_intrinsic(const std::string& name) {
  Intrinsics& all = intrinsics();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second.get();
}

}  // namespace lathe
