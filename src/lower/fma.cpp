// Fused multiply-adds.
//
// Contraction changes bits, so it is done here, once, on the program: the interpreter and every back end then run the same
// nodes. It runs on block form because the permission is a property of the block (`math`).
//
// A term that is 0 under a condition is added under that condition only, so that whole loops of such terms are skipped: a sum
// starts at +0 and is never -0, so nothing changes.
//
// Differences are left alone. x*s - m, where m is the greatest of the rounded products x*s, is 0 at that product; with one
// rounding it is the product's rounding error, which exp makes infinite when s is large: a softmax would give NaN.

#include <algorithm>

#include "ir/visitor.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

const Binary* product(const Expr& e) { return as_binary(e, BinaryOp::Mul); }

/// Is `e` the sum so far of the reduction?
bool accumulator(const Expr& e, const Block& block) {
  const Load* load = e.as<Load>();
  return load && block.is_reduction() && std::ranges::any_of(block.writes, [&](const BufferRegion& w) {
           return w.buffer.same_as(load->buffer);
         });
}

bool is_zero(const Expr& e) {
  const FloatImm* number = e.as<FloatImm>();
  return is_int(e, 0) || (number && number->value == 0);
}

/// The contracted form of an Add (or of an update of a sum by Sub) of floats, or an undefined Expr.
Expr contract(const Expr& e, const Block& block) {
  const Binary* b = e.as<Binary>();
  if (!b || !e.dtype().is_float()) return {};
  auto fused = [&](const Expr& x, const Expr& y, const Expr& z) {
    return Expr(new Call(e.dtype(), Intrinsic::Fma, {x, y, z}));
  };
  if (b->op == BinaryOp::Add) {
    if (const Binary* m = product(b->b)) return fused(m->a, m->b, b->a);
    if (const Binary* m = product(b->a)) return fused(m->a, m->b, b->b);
  }
  if (b->op == BinaryOp::Sub && accumulator(b->a, block)) {
    if (const Binary* m = product(b->b)) return fused(-m->a, m->b, b->a);
  }
  return {};
}

bool may_contract(const Block& block) {
  auto note = block.annotations.find(kMathNote);
  if (note == block.annotations.end()) return true;
  const std::string* mode = std::get_if<std::string>(&note->second);
  return !mode || *mode != "MathMode::Exact";
}

class Contraction : public Mutator {
 protected:
  using Mutator::mutate_node;
  Stmt mutate_node(const For& n, const Stmt& self) override {
    if (n.for_kind == ForKind::Vectorized) lanes_.push_back(n.var);
    Stmt out = Mutator::mutate_node(n, self);
    if (n.for_kind == ForKind::Vectorized) lanes_.pop_back();
    return out;
  }
  Stmt mutate_node(const Block& n, const Stmt& self) override {
    Stmt body = guarded(n);
    if (may_contract(n)) body = rewrite_exprs(body, [&](const Expr& e) { return contract(e, n); });
    if (body.same_as(n.body)) return self;
    auto out = copy(n);
    out->body = std::move(body);
    return Stmt(out.release());
  }

 private:
  /// The body, where terms that are 0 in all lanes are not added.
  Stmt guarded(const Block& n) const {
    const Store* update = n.body.as<Store>();
    const Binary* sum = update && n.is_reduction() ? as_binary(update->value, BinaryOp::Add) : nullptr;
    const Select* term = sum && accumulator(sum->a, n) ? sum->b.as<Select>() : nullptr;
    if (!term || !is_zero(term->if_false) || differs_between_lanes(term->condition, n)) return n.body;
    const Expr value = Expr(new Binary(BinaryOp::Add, sum->a, term->if_true));
    return make_stmt<If>(
        term->condition,
        make_stmt<Store>(update->buffer, value, update->indices, update->mask, update->streaming), Stmt());
  }

  bool differs_between_lanes(const Expr& condition, const Block& n) const {
    for (std::size_t i = 0; i < n.iters.size(); ++i) {
      if (!mentions(condition, n.iters[i].var)) continue;
      if (std::ranges::any_of(lanes_, [&](const Var& lane) { return mentions(n.bindings[i], lane); }))
        return true;
    }
    return false;
  }

  std::vector<Var> lanes_;
};

}  // namespace

Program form_fma(const Program& program, const Target&, const Options& options) {
  if (!options.form_fma) return program;
  return program.with_body(Contraction().mutate(program->body));
}

}  // namespace lathe::lower
