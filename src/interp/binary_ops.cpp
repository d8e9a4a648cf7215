// Binary operators, one function for each operator and type.

#include "interp/kinds.h"

namespace lathe::interp {
namespace {

/// A float operator on the unrounded operands; the kind rounds.
template <BinaryOp Op, class V>
V float_apply(V x, V y) {
  if constexpr (Op == BinaryOp::Add) return x + y;
  if constexpr (Op == BinaryOp::Sub) return x - y;
  if constexpr (Op == BinaryOp::Mul) return x * y;
  if constexpr (Op == BinaryOp::Div) return x / y;
  if constexpr (Op == BinaryOp::Min || Op == BinaryOp::Max) {
    if (x != x || y != y) return std::numeric_limits<V>::quiet_NaN();
    const bool x_first = x == y ? std::signbit(x) : x < y;  // -0 below +0
    return x_first == (Op == BinaryOp::Min) ? x : y;
  }
}

template <BinaryOp Op, class V>
bool compare(V x, V y) {
  if constexpr (Op == BinaryOp::Eq) return x == y;
  if constexpr (Op == BinaryOp::Ne) return x != y;
  if constexpr (Op == BinaryOp::Lt) return x < y;
  if constexpr (Op == BinaryOp::Le) return x <= y;
  if constexpr (Op == BinaryOp::Gt) return x > y;
  if constexpr (Op == BinaryOp::Ge) return x >= y;
}

template <class K, BinaryOp Op>
std::int64_t integer_apply(std::int64_t x, std::int64_t y) {
  using U = std::uint64_t;
  if constexpr (Op == BinaryOp::Add)
    return static_cast<std::int64_t>(static_cast<U>(x) + static_cast<U>(y));
  else if constexpr (Op == BinaryOp::Sub)
    return static_cast<std::int64_t>(static_cast<U>(x) - static_cast<U>(y));
  else if constexpr (Op == BinaryOp::Mul)
    return static_cast<std::int64_t>(static_cast<U>(x) * static_cast<U>(y));
  else
    return integer_op(K::type, Op, x, y);
}

constexpr bool defined_for(BinaryOp op, DataType t) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::Min:
    case BinaryOp::Max: return !t.is_bool();
    case BinaryOp::Div: return t.is_float() || t.is_data_int();
    case BinaryOp::Mod: return t.is_data_int();
    case BinaryOp::FloorDiv:
    case BinaryOp::FloorMod: return t.is_integral();
    case BinaryOp::And:
    case BinaryOp::Or: return t.is_bool();
    default: return true;
  }
}

template <class K, BinaryOp Op>
void apply(Slot& dst, Slot a, Slot b) {
  if constexpr (is_comparison(Op)) {
    if constexpr (K::is_float)
      dst.i = compare<Op>(K::get(a), K::get(b));
    else if constexpr (K::type.is_unsigned()) {
      dst.i = compare<Op>(static_cast<std::uint64_t>(a.i), static_cast<std::uint64_t>(b.i));
    } else {
      dst.i = compare<Op>(a.i, b.i);
    }
  } else if constexpr (K::is_float) {
    K::set(dst, float_apply<Op>(K::get(a), K::get(b)));
  } else {
    K::set(dst, integer_apply<K, Op>(a.i, b.i));
  }
}

template <class K, BinaryOp Op>
const Instr* scalar(const Instr* p, Slot* r, Context&) {
  apply<K, Op>(r[p->dst], r[p->a], r[p->b]);
  return p + 1;
}
template <class K, BinaryOp Op>
const Instr* lanes(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) apply<K, Op>(r[p->dst + l], r[p->a + l], r[p->b + l]);
  return p + 1;
}

/// index_type: overflow is an error. Lanes that `c` (a mask) switches off compute nothing.
template <class T, BinaryOp Op>
bool index_apply(std::int64_t x, std::int64_t y, std::int64_t& result) {
  if (!index_op(Op, x, y, result)) return false;
  return sizeof(T) == 8 || result == static_cast<std::int64_t>(static_cast<T>(result));
}
template <class T, BinaryOp Op>
[[gnu::cold, gnu::noinline]] const Instr* index_overflow(const Instr* p, Slot* r, Context& c, std::int64_t x,
                                                         std::int64_t y, std::uint32_t lane) {
  r[p->dst + lane].i = 0;
  const std::string what =
      Op == BinaryOp::Min || Op == BinaryOp::Max || Op == BinaryOp::FloorDiv || Op == BinaryOp::FloorMod
          ? std::string(spelling(Op)) + "(" + std::to_string(x) + ", " + std::to_string(y) + ")"
          : std::to_string(x) + " " + spelling(Op) + " " + std::to_string(y);
  return violate(c, p, p + 1, ViolationKind::IndexOverflow, nullptr, {},
                 what + " leaves " + std::to_string(sizeof(T) * 8) + " bits");
}
template <class T, BinaryOp Op>
const Instr* index_scalar(const Instr* p, Slot* r, Context& c) {
  const std::int64_t x = r[p->a].i, y = r[p->b].i;
  std::int64_t result;
  bool fits;
  if constexpr (Op == BinaryOp::Add)
    fits = !__builtin_add_overflow(x, y, &result);
  else if constexpr (Op == BinaryOp::Sub)
    fits = !__builtin_sub_overflow(x, y, &result);
  else if constexpr (Op == BinaryOp::Mul)
    fits = !__builtin_mul_overflow(x, y, &result);
  else
    fits = index_op(Op, x, y, result);
  if constexpr (sizeof(T) < 8) fits = fits && result == static_cast<std::int64_t>(static_cast<T>(result));
  if (!fits) [[unlikely]]
    return index_overflow<T, Op>(p, r, c, x, y, 0);
  r[p->dst].i = result;
  return p + 1;
}
template <class T, BinaryOp Op>
const Instr* index_lanes(const Instr* p, Slot* r, Context& c) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    if (p->c != kNone && !r[p->c + l].i) continue;
    const std::int64_t x = r[p->a + l].i, y = r[p->b + l].i;
    std::int64_t result;
    if (index_apply<T, Op>(x, y, result))
      r[p->dst + l].i = result;
    else if (!index_overflow<T, Op>(p, r, c, x, y, l))
      return nullptr;
  }
  return p + 1;
}

template <class K, BinaryOp Op>
Fn pick(bool vector) {
  if constexpr (!defined_for(Op, K::type)) {
    return nullptr;
  } else if constexpr (K::type.is_index() && !is_comparison(Op)) {
    return vector ? index_lanes<typename K::Stored, Op> : index_scalar<typename K::Stored, Op>;
  } else {
    return vector ? lanes<K, Op> : scalar<K, Op>;
  }
}

template <class K>
Fn pick_op(BinaryOp op, bool vector) {
  switch (op) {
#define CASE(name) \
  case BinaryOp::name: return pick<K, BinaryOp::name>(vector);
    CASE(Add)
    CASE(Sub)
    CASE(Mul)
    CASE(Div)
    CASE(Mod)
    CASE(FloorDiv)
    CASE(FloorMod)
    CASE(Min)
    CASE(Max)
    CASE(Eq)
    CASE(Ne)
    CASE(Lt)
    CASE(Le)
    CASE(Gt)
    CASE(Ge)
    CASE(And)
    CASE(Or)
#undef CASE
  }
  return nullptr;
}

}  // namespace

Fn binary_fn(BinaryOp op, DataType t, bool vector) {
  return with_kind(t, [&]<class K>() -> Fn { return pick_op<K>(op, vector); });
}

}  // namespace lathe::interp
