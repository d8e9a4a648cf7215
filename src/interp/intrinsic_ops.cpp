// Casts, intrinsics, vector reductions.

#include <bit>

#include "interp/kinds.h"

namespace lathe::interp {
namespace {

// ---- casts ---------------------------------------------------------------------------------------------

/// A 64-bit integer as a double that rounds to any narrower float as the integer itself would.
double integer_to_odd(bool is_unsigned, std::int64_t v) {
  const bool negative = !is_unsigned && v < 0;
  std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  const int excess = 64 - 53 - std::countl_zero(magnitude | 1);
  if (excess > 0) {
    const std::uint64_t lost = magnitude & ((std::uint64_t{1} << excess) - 1);
    magnitude = (magnitude >> excess | (lost != 0)) << excess;
  }
  const double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

template <class To, class From>
const Instr* cast_lanes(const Instr* p, Slot* r, Context& c) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    const Slot a = r[p->a + l];
    Slot& dst = r[p->dst + l];
    if constexpr (To::is_float) {
      if constexpr (From::is_float) {
        To::set(dst, static_cast<double>(From::get(a)));
      } else if constexpr (To::type == f64) {
        dst.d = From::type.is_unsigned() ? static_cast<double>(static_cast<std::uint64_t>(a.i))
                                         : static_cast<double>(a.i);
      } else {
        To::set(dst, integer_to_odd(From::type.is_unsigned(), a.i));
      }
    } else if constexpr (From::is_float) {
      const double v = static_cast<double>(From::get(a));
      To::set(dst,
              To::type.is_bool()
                  ? std::int64_t{v != 0}
                  : float_to_integer(
                        DataType{To::type.is_index() ? TypeCode::Int : To::type.code, To::type.bits}, v));
    } else if constexpr (To::type.is_index() && To::type.bits == 32) {
      if (a.i != static_cast<std::int32_t>(a.i) && !(p->c != kNone && !r[p->c + l].i)) {
        dst.i = 0;
        if (!violate(c, p, p + 1, ViolationKind::IndexOverflow, nullptr, {},
                     std::to_string(a.i) + " leaves 32 bits")) {
          return nullptr;
        }
      } else {
        To::set(dst, a.i);
      }
    } else {
      To::set(dst, a.i);
    }
  }
  return p + 1;
}

// ---- functions of floats -------------------------------------------------------------------------------

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double rsqrt(double x) { return 1.0 / std::sqrt(x); }

using Unary = double (*)(double);
Unary unary(Intrinsic op) {
  switch (op) {
    case Intrinsic::Exp: return std::exp;
    case Intrinsic::Exp2: return std::exp2;
    case Intrinsic::Expm1: return std::expm1;
    case Intrinsic::Log: return std::log;
    case Intrinsic::Log2: return std::log2;
    case Intrinsic::Log10: return std::log10;
    case Intrinsic::Log1p: return std::log1p;
    case Intrinsic::Sin: return std::sin;
    case Intrinsic::Cos: return std::cos;
    case Intrinsic::Tan: return std::tan;
    case Intrinsic::Asin: return std::asin;
    case Intrinsic::Acos: return std::acos;
    case Intrinsic::Atan: return std::atan;
    case Intrinsic::Sinh: return std::sinh;
    case Intrinsic::Cosh: return std::cosh;
    case Intrinsic::Tanh: return std::tanh;
    case Intrinsic::Erf: return std::erf;
    case Intrinsic::Sigmoid: return sigmoid;
    case Intrinsic::Sqrt: return std::sqrt;
    case Intrinsic::Rsqrt: return rsqrt;
    case Intrinsic::Floor: return std::floor;
    case Intrinsic::Ceil: return std::ceil;
    case Intrinsic::Round: return std::nearbyint;
    case Intrinsic::Trunc: return std::trunc;
    default: return nullptr;
  }
}
using TwoToOne = double (*)(double, double);
TwoToOne two_to_one(Intrinsic op) {
  switch (op) {
    case Intrinsic::Atan2: return std::atan2;
    case Intrinsic::Pow: return std::pow;
    case Intrinsic::CopySign: return std::copysign;
    case Intrinsic::FloatMod: return std::fmod;
    default: return nullptr;
  }
}

template <class K, Intrinsic Op>
const Instr* unary_lanes(const Instr* p, Slot* r, Context&) {
  static const Unary f = unary(Op);
  for (std::uint32_t l = 0; l < p->lanes; ++l)
    K::set(r[p->dst + l], f(static_cast<double>(K::get(r[p->a + l]))));
  return p + 1;
}
template <class K, Intrinsic Op>
const Instr* two_lanes(const Instr* p, Slot* r, Context&) {
  static const TwoToOne f = two_to_one(Op);
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    K::set(r[p->dst + l],
           f(static_cast<double>(K::get(r[p->a + l])), static_cast<double>(K::get(r[p->b + l]))));
  }
  return p + 1;
}
template <class K>
const Instr* fma_lanes(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    const auto x = K::get(r[p->a + l]), y = K::get(r[p->b + l]), z = K::get(r[p->c + l]);
    if constexpr (K::type.bits == 16)
      K::set(r[p->dst + l], add_to_odd(x * y, z));  // the product is exact
    else
      K::set(r[p->dst + l], std::fma(x, y, z));
  }
  return p + 1;
}
template <class K, Intrinsic Op>
const Instr* classify_lanes(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    const double v = static_cast<double>(K::get(r[p->a + l]));
    r[p->dst + l].i = Op == Intrinsic::IsNan   ? std::isnan(v)
                      : Op == Intrinsic::IsInf ? std::isinf(v)
                                               : std::isfinite(v);
  }
  return p + 1;
}

// ---- functions of numbers and integers -----------------------------------------------------------------

/// Only the low `bits` of v count.
std::uint64_t low_bits(std::int64_t v, int bits) {
  return bits >= 64 ? static_cast<std::uint64_t>(v)
                    : static_cast<std::uint64_t>(v) & ((std::uint64_t{1} << bits) - 1);
}

/// False when an index operation overflows.
template <class K, Intrinsic Op>
bool integer_function(std::int64_t x, std::int64_t y, std::int64_t& result) {
  constexpr DataType t = K::type;
  constexpr int bits = t.is_bool() ? 1 : t.bits;
  result = 0;
  if constexpr (Op == Intrinsic::Abs) {
    result = t.is_unsigned() || x >= 0 ? x : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
    if (t.is_index()) return result >= 0 && (t.bits == 64 || result == static_cast<std::int32_t>(result));
  } else if constexpr (Op == Intrinsic::BitAnd) {
    result = x & y;
  } else if constexpr (Op == Intrinsic::BitOr) {
    result = x | y;
  } else if constexpr (Op == Intrinsic::BitXor) {
    result = x ^ y;
  } else if constexpr (Op == Intrinsic::BitNot) {
    result = t.is_bool() ? !x : ~x;
  } else if constexpr (Op == Intrinsic::ShiftLeft) {
    const bool out = static_cast<std::uint64_t>(y) >= static_cast<std::uint64_t>(bits);
    if (!out) result = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y);
    if (t.is_index()) {
      if (out) return x == 0;
      return static_cast<std::int64_t>(static_cast<typename K::Stored>(result)) >> y == x &&
             (t.bits == 64 || result == static_cast<std::int32_t>(result));
    }
  } else if constexpr (Op == Intrinsic::ShiftRight) {
    const bool out = static_cast<std::uint64_t>(y) >= static_cast<std::uint64_t>(bits);
    if (t.is_unsigned())
      result = out ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) >> y);
    else
      result = x >> (out ? 63 : y);
  } else if constexpr (Op == Intrinsic::Popcount) {
    result = std::popcount(low_bits(x, bits));
  } else if constexpr (Op == Intrinsic::CountLeadingZeros) {
    result = std::countl_zero(low_bits(x, bits)) - (64 - bits);
  }
  return true;
}
template <class K, Intrinsic Op>
const Instr* integer_lanes(const Instr* p, Slot* r, Context& c) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    const std::int64_t x = r[p->a + l].i, y = p->b == kNone ? 0 : r[p->b + l].i;
    std::int64_t result;
    if (!integer_function<K, Op>(x, y, result) && !(p->c != kNone && !r[p->c + l].i)) {
      result = 0;
      if (!violate(c, p, p + 1, ViolationKind::IndexOverflow, nullptr, {},
                   std::string(spelling(Op)) + "(" + std::to_string(x) +
                       (p->b == kNone ? "" : ", " + std::to_string(y)) + ") leaves " +
                       std::to_string(K::type.bits) + " bits")) {
        return nullptr;
      }
    }
    K::set(r[p->dst + l], result);
  }
  return p + 1;
}
template <class K>
const Instr* float_abs_lanes(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    if constexpr (K::type == f64)
      r[p->dst + l].d = std::fabs(r[p->a + l].d);
    else
      r[p->dst + l].f = std::fabs(r[p->a + l].f);
  }
  return p + 1;
}

template <class K>
Fn float_function(Intrinsic op) {
  switch (op) {
#define CASE(name) \
  case Intrinsic::name: return unary_lanes<K, Intrinsic::name>;
    // clang-format off
    CASE(Exp) CASE(Exp2) CASE(Expm1) CASE(Log) CASE(Log2) CASE(Log10) CASE(Log1p)
    CASE(Sin) CASE(Cos) CASE(Tan) CASE(Asin) CASE(Acos) CASE(Atan) CASE(Sinh) CASE(Cosh) CASE(Tanh)
    CASE(Erf) CASE(Sigmoid) CASE(Sqrt) CASE(Rsqrt) CASE(Floor) CASE(Ceil) CASE(Round) CASE(Trunc)
    // clang-format on
#undef CASE
                case Intrinsic::Atan2 : return two_lanes<K, Intrinsic::Atan2>;
    case Intrinsic::Pow: return two_lanes<K, Intrinsic::Pow>;
    case Intrinsic::CopySign: return two_lanes<K, Intrinsic::CopySign>;
    case Intrinsic::FloatMod: return two_lanes<K, Intrinsic::FloatMod>;
    case Intrinsic::Fma: return fma_lanes<K>;
    case Intrinsic::IsNan: return classify_lanes<K, Intrinsic::IsNan>;
    case Intrinsic::IsInf: return classify_lanes<K, Intrinsic::IsInf>;
    case Intrinsic::IsFinite: return classify_lanes<K, Intrinsic::IsFinite>;
    case Intrinsic::Abs: return float_abs_lanes<K>;
    default: return nullptr;
  }
}
template <class K>
Fn integer_fn(Intrinsic op) {
  switch (op) {
#define CASE(name) \
  case Intrinsic::name: return integer_lanes<K, Intrinsic::name>;
    // clang-format off
    CASE(Abs) CASE(BitAnd) CASE(BitOr) CASE(BitXor) CASE(BitNot)
    CASE(ShiftLeft) CASE(ShiftRight) CASE(Popcount) CASE(CountLeadingZeros)
    // clang-format on
#undef CASE
            default : return nullptr;
  }
}

// ---- reinterpretation ----------------------------------------------------------------------------------

template <class To, class From>
const Instr* reinterpret_lanes(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    const typename From::Stored bits = From::to_memory(r[p->a + l]);
    typename To::Stored out;
    std::memcpy(&out, &bits, sizeof out);
    r[p->dst + l] = To::from_memory(out);
  }
  return p + 1;
}

// ---- vector reductions ---------------------------------------------------------------------------------

/// See lathe/interp.h for the order. `ptr` of the instruction is the scalar operator.
const Instr* reduce_lanes(const Instr* p, Slot* r, Context& c) {
  const Fn combine = reinterpret_cast<Fn>(const_cast<void*>(p->ptr));
  std::vector<Slot> v(r + p->a, r + p->a + p->lanes);
  Instr op;
  auto into = [&](std::size_t to, std::size_t from) {
    op.dst = op.a = static_cast<std::uint32_t>(to);
    op.b = static_cast<std::uint32_t>(from);
    combine(&op, v.data(), c);
  };
  std::size_t n = v.size();
  for (; n > 1 && n % 2 == 0; n /= 2) {
    for (std::size_t l = 0; l < n / 2; ++l) into(l, n / 2 + l);
  }
  for (std::size_t l = 1; l < n; ++l) into(0, l);
  r[p->dst] = v[0];
  return p + 1;
}

}  // namespace

Fn cast_fn(DataType to, DataType from) {
  return with_kind(to, [&]<class To>() -> Fn {
    return with_kind(from, [&]<class From>() -> Fn { return cast_lanes<To, From>; });
  });
}

Fn intrinsic_fn(Intrinsic op, DataType t) {
  return with_kind(t, [&]<class K>() -> Fn {
    if constexpr (K::is_float)
      return float_function<K>(op);
    else
      return integer_fn<K>(op);
  });
}

Fn vector_reduce_fn(Intrinsic op, DataType) {
  return op >= Intrinsic::VectorSum && op <= Intrinsic::VectorMax ? reduce_lanes : nullptr;
}

Fn reinterpret_fn(DataType to, DataType from) {
  return with_kind(to, [&]<class To>() -> Fn {
    return with_kind(from, [&]<class From>() -> Fn {
      if constexpr (sizeof(typename To::Stored) == sizeof(typename From::Stored))
        return reinterpret_lanes<To, From>;
      else
        return nullptr;
    });
  });
}

}  // namespace lathe::interp
