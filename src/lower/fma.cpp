// Fused multiply-adds.
//
// Contraction changes bits, so it is done here, once, on the program: the interpreter and every back end then run the same
// nodes. It runs on block form because the permission is a property of the block (`math`).
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
  Stmt mutate_node(const Block& n, const Stmt& self) override {
    if (!may_contract(n)) return self;
    Stmt body = rewrite_exprs(n.body, [&](const Expr& e) { return contract(e, n); });
    if (body.same_as(n.body)) return self;
    auto out = copy(n);
    out->body = std::move(body);
    return Stmt(out.release());
  }
};

}  // namespace

Program form_fma(const Program& program, const Target&, const Options& options) {
  if (!options.form_fma) return program;
  return program.with_body(Contraction().mutate(program->body));
}

}  // namespace lathe::lower
