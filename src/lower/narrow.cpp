// 32-bit index arithmetic where every value of it fits.
//
// Address computation in 64 bits costs little on CPUs but vectors of subscripts (gathers, ramps in masks) halve in width.
// A vector subscript or condition is narrowed when the bounds of all its parts fit 32 bits; scalars stay 64 bits.

#include "lower/bounded_mutator.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

constexpr DataType kNarrow{TypeCode::Index, 32, 1};

class Narrowing : public BoundedMutator {
 public:
  using BoundedMutator::BoundedMutator;

 protected:
  using BoundedMutator::mutate_node;
  Expr mutate_node(const Binary& n, const Expr& self) override {
    // Comparisons of index vectors (masks) are narrowed as a whole.
    if (is_comparison(n.op) && n.a.dtype().is_vector() && n.a.dtype().is_index() && fits(n.a) && fits(n.b)) {
      return Expr(new Binary(n.op, narrowed(n.a), narrowed(n.b)));
    }
    return BoundedMutator::mutate_node(n, self);
  }

 private:
  /// Do the expression and all its index parts lie within 32 bits?
  bool fits(const Expr& e) {
    if (e.as<Load>() || e.as<Cast>() || e.as<Call>()) return false;
    if (const Broadcast* b = e.as<Broadcast>()) return fits_scalar(b->value);
    if (const Ramp* r = e.as<Ramp>()) {
      const auto base = analyzer_.bound(r->base), stride = analyzer_.bound(r->stride);
      if (!base.bounded() || !stride.bounded()) return false;
      const __int128 reach =
          static_cast<__int128>(r->lanes()) * std::max(std::abs(stride.min), std::abs(stride.max));
      return base.min - reach >= INT32_MIN && base.max + reach <= INT32_MAX;
    }
    if (const Binary* b = e.as<Binary>()) {
      if (!b->a.dtype().is_index()) return false;
      if (b->op > BinaryOp::Max) return false;
      if (b->op == BinaryOp::Mul || b->op == BinaryOp::Add || b->op == BinaryOp::Sub)
        return false;  // sums of vectors: rare, stay wide
      return fits(b->a) && fits(b->b);
    }
    return false;
  }
  bool fits_scalar(const Expr& e) {
    const auto bound = analyzer_.bound(e);
    return bound.bounded() && bound.min >= INT32_MIN && bound.max <= INT32_MAX;
  }
  Expr narrowed(const Expr& e) {
    if (const Broadcast* b = e.as<Broadcast>()) return broadcast(cast(kNarrow, b->value), b->lanes());
    if (const Ramp* r = e.as<Ramp>())
      return ramp(cast(kNarrow, r->base), cast(kNarrow, r->stride), r->lanes());
    const Binary* b = e.as<Binary>();
    return Expr(new Binary(b->op, narrowed(b->a), narrowed(b->b)));
  }
};

}  // namespace

Program narrow(const Program& program, const Target&, const Options&) {
  return program.with_body(Narrowing(program).mutate(program->body));
}

}  // namespace lathe::lower
