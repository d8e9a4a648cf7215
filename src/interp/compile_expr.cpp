#include <algorithm>

#include "interp/compiler.h"
#include "interp/kinds.h"
#include "support/error_codes/interp.h"

namespace lathe::interp {

Compiler::Operand Compiler::expr(const Expr& e) {
  auto at = hoisted_.find(e.get());
  return at == hoisted_.end() ? compile_expr(e) : at->second;
}

Compiler::Operand Compiler::compile_expr(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::IntImm: {
      const std::int64_t v = e.as<IntImm>()->value;
      if (!with_kind(e.dtype(), []<class K>() { return true; })) refuse("the type " + e.dtype().str());
      return constant(e.dtype(), {.i = v}, v);
    }
    case ExprKind::FloatImm: {
      const double v = e.as<FloatImm>()->value;
      Slot s{.i = 0};
      if (e.dtype() == f64)
        s.d = v;
      else
        s.f = static_cast<float>(v);
      return constant(e.dtype(), s, {});
    }
    case ExprKind::Var: {
      auto at = vars_.find(static_cast<const VarNode*>(e.get()));
      if (at == vars_.end()) {
        refuse("variable \"" + static_cast<const VarNode*>(e.get())->name +
               "\" is used where it is not defined");
      }
      return at->second;
    }
    case ExprKind::Binary: return binary_expr(*e.as<Binary>());
    case ExprKind::Not: {
      const Expr& a = e.as<Not>()->a;
      const Operand x = expr(a);
      if (x.known && !e.dtype().is_vector()) return constant(boolean, {.i = !*x.known}, !*x.known);
      const std::uint32_t dst = new_register(e.dtype().lanes);
      Instr& i = emit(op::logical_not);
      i.dst = dst, i.a = x.reg, i.lanes = e.dtype().lanes;
      return {dst, {}, {}};
    }
    case ExprKind::Cast: return cast_expr(*e.as<Cast>());
    case ExprKind::Select: return select_expr(*e.as<Select>());
    case ExprKind::Load: return load_expr(*e.as<Load>());
    case ExprKind::Call: return call_expr(*e.as<Call>());
    case ExprKind::Ramp:
    case ExprKind::Broadcast: return spread_expr(e);
  }
  refuse("an expression of an unknown kind");
}

void Compiler::expr_into(const Expr& e, std::uint32_t dst) {
  const Operand x = expr(e);
  Instr& i = emit(op::move);
  i.dst = dst, i.a = x.reg, i.lanes = e.dtype().lanes;
}

std::optional<std::int64_t> Compiler::fold(BinaryOp op, DataType t, const Operand& a, const Operand& b) {
  if (!a.known || !b.known || t.is_vector()) return {};
  if (!t.is_index()) return integer_op(t, op, *a.known, *b.known);
  std::int64_t result;
  if (!index_op(op, *a.known, *b.known, result)) return {};
  if (t.bits == 32 && !is_comparison(op) && result != static_cast<std::int32_t>(result)) return {};
  return result;
}

/// Where the result of an index operation lies, when that is in 64 (or 32) bits for certain.
std::optional<Compiler::Operand::Between> Compiler::bounds(BinaryOp op, DataType t, const Operand& a,
                                                           const Operand& b) {
  auto between = [](const Operand& x) {
    return x.known ? std::optional(Operand::Between{*x.known, *x.known}) : x.between;
  };
  const auto x = between(a), y = between(b);
  if (!t.is_index() || t.is_vector() || !x || !y) return {};
  Operand::Between r{0, 0};
  bool fits = true;
  auto combine = [&](std::int64_t u, std::int64_t v) {
    std::int64_t w = 0;
    fits = fits && index_op(op, u, v, w);
    return w;
  };
  switch (op) {
    case BinaryOp::Add: r = {combine(x->low, y->low), combine(x->high, y->high)}; break;
    case BinaryOp::Sub: r = {combine(x->low, y->high), combine(x->high, y->low)}; break;
    case BinaryOp::Mul: {
      const std::int64_t corners[] = {combine(x->low, y->low), combine(x->low, y->high),
                                      combine(x->high, y->low), combine(x->high, y->high)};
      r = {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
      break;
    }
    case BinaryOp::FloorDiv:
      if (y->low <= 0) return {};
      r = {std::min(combine(x->low, y->low), combine(x->low, y->high)),
           std::max(combine(x->high, y->low), combine(x->high, y->high))};
      break;
    case BinaryOp::FloorMod:
      if (y->low <= 0) return {};
      r = {0, y->high - 1};
      break;
    case BinaryOp::Min:
    case BinaryOp::Max: r = {combine(x->low, y->low), combine(x->high, y->high)}; break;
    default: return {};
  }
  if (t.bits == 32) fits = fits && r.low >= INT32_MIN && r.high <= INT32_MAX;
  return fits ? std::optional(r) : std::nullopt;
}

Compiler::Operand Compiler::binary_expr(const Binary& n) {
  if (n.op == BinaryOp::And || n.op == BinaryOp::Or) return logical_expr(n);
  const DataType t = n.a.dtype();
  const Operand a = expr(n.a), b = expr(n.b);
  if (!t.is_float()) {
    if (auto v = fold(n.op, t, a, b)) return constant(n.dtype, {.i = *v}, v);
  }
  const Fn fn = binary_fn(n.op, t.element(), t.is_vector());
  if (!fn) refuse(std::string("operator ") + spelling(n.op) + " on " + t.str());
  const std::uint32_t dst = new_register(t.lanes);
  Instr& i = emit(fn);
  i.dst = dst, i.a = a.reg, i.b = b.reg, i.lanes = t.lanes;
  if (t.is_vector()) i.c = mask_;
  if (tally_ >= 0) {
    Tally& tally = code_.tallies[tally_];
    (t.is_index() ? tally.index_ops : tally.binary_ops[static_cast<int>(n.op)]) += t.lanes;
  }
  return {dst, {}, bounds(n.op, t, a, b)};
}

/// The right side is evaluated only when (in those lanes where) it decides.
Compiler::Operand Compiler::logical_expr(const Binary& n) {
  const bool is_and = n.op == BinaryOp::And;
  const int lanes = n.dtype.lanes;
  const Operand a = expr(n.a);
  if (a.known && lanes == 1) {
    if (static_cast<bool>(*a.known) != is_and) return constant(boolean, {.i = !is_and}, !is_and);
    return expr(n.b);
  }
  if (tally_ >= 0) code_.tallies[tally_].binary_ops[static_cast<int>(n.op)] += lanes;
  const std::uint32_t dst = new_register(lanes);
  Instr& keep = emit(op::move);
  keep.dst = dst, keep.a = a.reg, keep.lanes = lanes;
  const int tally = tally_;
  const std::uint32_t mask = mask_;
  std::size_t skip;
  if (lanes == 1) {
    skip = emit_jump(is_and ? op::jump_if_zero : op::jump_if_nonzero, dst);
    open_tally();
    expr_into(n.b, dst);
  } else {
    const std::uint32_t open = new_register(lanes);  // lanes where the right side decides
    Instr& m = emit(is_and ? op::mask_and : op::mask_and_not);
    m.dst = open, m.a = mask_, m.b = a.reg, m.lanes = lanes;
    skip = emit_jump(op::jump_if_no_lane, open, lanes);
    open_tally();
    mask_ = open;
    const Operand b = expr(n.b);
    Instr& combine = emit(binary_fn(n.op, boolean, true));
    combine.dst = dst, combine.a = a.reg, combine.b = b.reg, combine.lanes = lanes;
  }
  mask_ = mask;
  land(skip);
  tally_ = tally;
  return {dst, {}, {}};
}

Compiler::Operand Compiler::select_expr(const Select& n) {
  const Operand condition = n.dtype.is_vector() ? Operand{} : expr(n.condition);
  if (condition.known) return expr(*condition.known ? n.if_true : n.if_false);
  if (tally_ >= 0) code_.tallies[tally_].selects += n.dtype.lanes;
  const std::uint32_t dst = new_register(n.dtype.lanes);
  const int tally = tally_;
  if (n.dtype.is_vector()) {
    select_lanes(n, dst);
  } else {
    const std::size_t otherwise = emit_jump(op::jump_if_zero, condition.reg);
    open_tally();
    expr_into(n.if_true, dst);
    const std::size_t done = emit_jump(op::jump);
    land(otherwise);
    tally_ = tally;
    open_tally();
    expr_into(n.if_false, dst);
    land(done);
  }
  tally_ = tally;
  return {dst, {}, {}};
}

void Compiler::select_lanes(const Select& n, std::uint32_t dst) {
  const int lanes = n.dtype.lanes, tally = tally_;
  const std::uint32_t mask = mask_;
  Operand condition = expr(n.condition);
  if (!n.condition.dtype().is_vector()) {
    const std::uint32_t wide = new_register(lanes);
    Instr& i = emit(op::broadcast);
    i.dst = wide, i.a = condition.reg, i.lanes = lanes;
    condition.reg = wide;
  }
  for (bool side : {true, false}) {
    const std::uint32_t on = new_register(lanes);
    Instr& m = emit(side ? op::mask_and : op::mask_and_not);
    m.dst = on, m.a = mask, m.b = condition.reg, m.lanes = lanes;
    const std::size_t skip = emit_jump(op::jump_if_no_lane, on, lanes);
    tally_ = tally;
    open_tally();
    mask_ = on;
    const Operand value = expr(side ? n.if_true : n.if_false);
    mask_ = mask;
    Instr& take = emit(op::move_masked);
    take.dst = dst, take.a = value.reg, take.b = on, take.lanes = lanes;
    land(skip);
  }
}

Compiler::Operand Compiler::spread_expr(const Expr& e) {
  const int lanes = e.dtype().lanes, tally = tally_;
  const std::uint32_t dst = new_register(lanes), mask = mask_;
  std::optional<std::size_t> skip;
  if (mask != kNone) {  // scalars under a select are evaluated when any lane needs them
    skip = emit_jump(op::jump_if_no_lane, mask, lanes);
    open_tally();
  }
  mask_ = kNone;
  std::optional<std::int64_t> known;
  if (const Broadcast* b = e.as<Broadcast>()) {
    const Operand value = expr(b->value);
    Instr& i = emit(op::broadcast);
    i.dst = dst, i.a = value.reg, i.lanes = lanes;
  } else {
    const Ramp& n = *e.as<Ramp>();
    const Operand base = expr(n.base), stride = expr(n.stride);
    Instr& i = emit(op::ramp);
    i.dst = dst, i.a = base.reg, i.b = stride.reg, i.c = mask, i.lanes = lanes;
    i.extra = e.dtype().bits;
    i.imm = static_cast<int>(e.dtype().code);
  }
  mask_ = mask;
  if (skip) land(*skip);
  tally_ = tally;
  return {dst, known, {}};
}

Compiler::Operand Compiler::cast_expr(const Cast& n) {
  const DataType from = n.a.dtype(), to = n.dtype;
  const Operand a = expr(n.a);
  if (from == to) return a;
  if (a.known && !to.is_vector() && !to.is_float() && !from.is_float()) {
    const std::int64_t v = to.is_index() ? *a.known : wrap_integer(to, *a.known);
    if (!to.is_index() || to.bits == 64 || v == static_cast<std::int32_t>(v))
      return constant(to, {.i = v}, v);
  }
  const Fn fn = cast_fn(to.element(), from.element());
  if (!fn) refuse("a cast from " + from.str() + " to " + to.str());
  const std::uint32_t dst = new_register(to.lanes);
  Instr& i = emit(fn);
  i.dst = dst, i.a = a.reg, i.c = to.is_vector() ? mask_ : kNone, i.lanes = to.lanes;
  if (tally_ >= 0) code_.tallies[tally_].casts += to.lanes;
  return {dst, {}, {}};
}

// ---- accesses ------------------------------------------------------------------------------------------

Access* Compiler::make_access(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& mask,
                              int lanes) {
  code_.accesses.push_back(std::make_unique<Access>());
  Access* access = code_.accesses.back().get();
  access->info = &buffer_info(buffer);
  buffer_register(buffer);
  const Node* label = block_ ? block_->label.get() : nullptr;
  const bool takes_turns = label && take_turns_.count(label) && writers_[buffer.get()].count(label);
  access->check_race = options_.check_races && !takes_turns;
  if (static_cast<int>(indices.size()) != buffer->rank()) {
    if (indices.size() != 1) {
      refuse("\"" + buffer->name + "\" has " + std::to_string(buffer->rank()) +
             " dimensions and is accessed with " + std::to_string(indices.size()) + " subscripts");
    }
    access->flat = true;
  }
  for (const Expr& i : indices) {
    if (i.dtype().is_float())
      refuse("a subscript of \"" + buffer->name + "\" has the type " + i.dtype().str());
    access->index.push_back(expr(i).reg);
    access->step.push_back(i.dtype().is_vector() ? 1 : 0);
  }
  access->mask = lanes > 1 ? mask_ : kNone;
  if (mask.defined() && !is_true(mask)) {
    Operand m = expr(mask);
    if (!mask.dtype().is_vector() && lanes > 1) {
      const std::uint32_t wide = new_register(lanes);
      Instr& i = emit(op::broadcast);
      i.dst = wide, i.a = m.reg, i.lanes = lanes;
      m.reg = wide;
    }
    access->mask = m.reg;
    if (mask_ != kNone && lanes > 1) {
      access->mask = new_register(lanes);
      Instr& i = emit(op::mask_and);
      i.dst = access->mask, i.a = mask_, i.b = m.reg, i.lanes = lanes;
    }
  }
  return access;
}

/// Of the scalar instruction; -1 for the general one.
int Compiler::access_rank(const Access& access) const {
  if (access.flat || access.info->strided || access.index.size() > 3) return -1;
  return static_cast<int>(access.index.size());
}

Instr& Compiler::emit_access(Fn fn, std::uint32_t dst, int lanes, const Access* access) {
  Instr& i = emit(fn);
  i.dst = dst;
  i.lanes = lanes;
  i.ptr = access;
  i.extra = buffer_registers_.at(access->info->buffer.get());
  if (access->index.size() > 0) i.a = access->index[0];
  if (access->index.size() > 1) i.b = access->index[1];
  if (access->index.size() > 2) i.c = access->index[2];
  return i;
}

Compiler::Operand Compiler::load_expr(const Load& n) {
  const int lanes = n.dtype.lanes;
  const Access* access = make_access(n.buffer, n.indices, n.mask, lanes);
  const bool vector = lanes > 1 || access->mask != kNone;
  const Fn fn = load_fn(n.buffer->dtype, access_rank(*access), vector, shadow_);
  if (!fn) refuse("a buffer of type " + n.buffer->dtype.str());
  const std::uint32_t dst = new_register(lanes);
  emit_access(fn, dst, lanes, access);
  if (tally_ >= 0 && access->mask == kNone) code_.tallies[tally_].buffers[access->info->id].first += lanes;
  return {dst, {}, {}};
}

// ---- calls ---------------------------------------------------------------------------------------------

Compiler::Operand Compiler::call_expr(const Call& n) {
  if (n.op == Intrinsic::Extern) return extern_expr(n);
  if (n.op == Intrinsic::Prefetch || n.op == Intrinsic::BarrierBlock || n.op == Intrinsic::BarrierWarp) {
    refuse(std::string(spelling(n.op)) + " has no value; it belongs into an Evaluate statement");
  }
  if (static_cast<int>(n.args.size()) != arity(n.op))
    refuse(std::string(spelling(n.op)) + " with a wrong number of arguments");
  std::vector<std::uint32_t> args;
  for (const Expr& a : n.args) args.push_back(expr(a).reg);
  const DataType t = n.args[0].dtype();
  const std::uint32_t dst = new_register(n.dtype.lanes);
  Fn fn;
  const void* ptr = nullptr;
  if (n.op == Intrinsic::Reinterpret) {
    fn = reinterpret_fn(n.dtype.element(), t.element());
  } else if (n.op >= Intrinsic::VectorSum && n.op <= Intrinsic::VectorMax) {
    static constexpr BinaryOp ops[] = {BinaryOp::Add, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max};
    const Fn combine =
        binary_fn(ops[static_cast<int>(n.op) - static_cast<int>(Intrinsic::VectorSum)], t.element(), false);
    fn = combine ? vector_reduce_fn(n.op, t.element()) : nullptr;
    ptr = reinterpret_cast<const void*>(combine);
  } else {
    fn = intrinsic_fn(n.op, t.element());
  }
  if (!fn) refuse(std::string(spelling(n.op)) + " on " + t.str());
  Instr& i = emit(fn);
  i.dst = dst, i.a = args[0], i.lanes = t.lanes;
  if (args.size() > 1) i.b = args[1];
  if (args.size() > 2)
    i.c = args[2];
  else if (t.is_vector())
    i.c = mask_;
  if (ptr) i.ptr = ptr;
  if (tally_ >= 0) code_.tallies[tally_].intrinsics[static_cast<int>(n.op)] += t.lanes;
  return {dst, {}, {}};
}

Compiler::Operand Compiler::extern_expr(const Call& n) {
  auto found = options_.functions.find(n.symbol);
  if (found == options_.functions.end()) {
    throw UserError(code::I005, "the program calls \"" + n.symbol +
                                    "\", which the interpreter does not know; give it in Options::functions");
  }
  if (n.dtype.is_vector()) refuse("a call of \"" + n.symbol + "\" for a vector");
  auto call = std::make_unique<ExternCall>();
  call->symbol = n.symbol;
  call->function = &found->second;
  call->result = n.dtype;
  for (const Expr& a : n.args) {
    if (a.dtype().is_vector()) refuse("a vector given to \"" + n.symbol + "\"");
    call->args.emplace_back(expr(a).reg, a.dtype());
  }
  const std::uint32_t dst = new_register();
  Instr& i = emit(op::extern_call);
  i.dst = dst, i.ptr = call.get();
  code_.externs.push_back(std::move(call));
  if (tally_ >= 0) ++code_.tallies[tally_].intrinsics[static_cast<int>(n.op)];
  return {dst, {}, {}};
}

}  // namespace lathe::interp
