// f16 and bf16 are storage formats: arithmetic on them runs in f32 and is rounded back after each operation.
//
// For + - * / and sqrt that is the correctly rounded result: f32 has more than twice the precision, so rounding twice is
// rounding once (Figueroa 1995).

#include "ir/visitor.h"
#include "lower/passes.h"

namespace lathe::lower {
namespace {

bool is_small_float(DataType t) { return t.is_float() && t.bits == 16; }
Expr widen(const Expr& e) { return is_small_float(e.dtype()) ? cast(f32, e) : e; }

Expr legal(const Expr& e) {
  if (const Binary* b = e.as<Binary>(); b && is_small_float(b->a.dtype())) {
    Expr wide(new Binary(b->op, widen(b->a), widen(b->b)));
    return is_comparison(b->op) ? wide : cast(e.dtype(), wide);
  }
  const Call* c = e.as<Call>();
  if (!c || c->args.empty() || !is_small_float(c->args[0].dtype()) || c->op >= Intrinsic::Reinterpret)
    return {};
  std::vector<Expr> args;
  for (const Expr& a : c->args) args.push_back(widen(a));
  const bool test = c->op >= Intrinsic::IsNan && c->op <= Intrinsic::IsFinite;
  Expr wide(new Call(test ? e.dtype() : f32.with_lanes(e.dtype().lanes), c->op, std::move(args)));
  return test ? wide : cast(e.dtype(), wide);
}

}  // namespace

Program legalize(const Program& program, const Target&, const Options&) {
  return program.with_body(rewrite_exprs(program->body, legal));
}

}  // namespace lathe::lower
