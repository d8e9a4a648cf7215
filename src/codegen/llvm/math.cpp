#include "codegen/llvm/math.h"

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu {
namespace math {

Value polynomial(const Ops& o, Value x, std::initializer_list<double> coefficients) {
  std::vector<Value> terms;
  for (const double c : coefficients) terms.push_back(o.real(x, c));
  for (Value power = x; terms.size() > 1; power = terms.size() > 1 ? o.b.CreateFMul(power, power) : power) {
    std::vector<Value> pairs;
    for (std::size_t i = 0; i < terms.size(); i += 2)
      pairs.push_back(i + 1 < terms.size() ? o.mad(terms[i + 1], power, terms[i]) : terms[i]);
    terms = std::move(pairs);
  }
  return terms[0];
}

Value horner(const Ops& o, Value x, std::initializer_list<double> coefficients) {
  Value sum = nullptr;
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c)
    sum = sum ? o.mad(sum, x, o.real(x, *c)) : o.real(x, *c);
  return sum;
}

Rounded round_biased(const Ops& o, Value x, double factor, int bias) {
  // Adding 1.5 * 2^mantissa pushes the fraction out, rounded to nearest, and leaves the integer in the lowest bits.
  const double magic = (is_f64(x) ? 0x1.8p52 : 0x1.8p23) + bias;
  Value shifted =
      factor == 1 ? o.b.CreateFAdd(x, o.real(x, magic)) : o.mad(x, o.real(x, factor), o.real(x, magic));
  return {o.bits(shifted), o.b.CreateFSub(shifted, o.real(x, magic))};
}

Value power_of_two(const Ops& o, Value biased, Type type) {
  const int shift = type->getScalarType()->isDoubleTy() ? 52 : 23;
  return o.from_bits(o.b.CreateShl(biased, o.integer(biased, shift)), type);
}

}  // namespace math

namespace {

using Function = ::llvm::Value* (*)(const Ops&, ::llvm::Value*);

struct Entry {
  Intrinsic op;
  Function f32, f64;  ///< null: libm
};

constexpr Entry kFunctions[] = {
    {Intrinsic::Exp, math::exp, math::exp},
    {Intrinsic::Exp2, math::exp2, math::exp2},
    {Intrinsic::Expm1, math::expm1, math::expm1},
    {Intrinsic::Log, math::log, math::log},
    {Intrinsic::Log2, math::log2, math::log2},
    {Intrinsic::Log10, math::log10, math::log10},
    {Intrinsic::Log1p, math::log1p, math::log1p},
    {Intrinsic::Tanh, math::tanh, math::tanh},
    {Intrinsic::Sigmoid, math::sigmoid, math::sigmoid},
    {Intrinsic::Erf, math::erf, math::erf},
    {Intrinsic::Sinh, math::sinh, math::sinh},
    {Intrinsic::Cosh, math::cosh, math::cosh},
    {Intrinsic::Sin, math::sin_f32, nullptr},
    {Intrinsic::Cos, math::cos_f32, nullptr},
    {Intrinsic::Tan, math::tan_f32, nullptr},
    {Intrinsic::Asin, math::asin_f32, nullptr},
    {Intrinsic::Acos, math::acos_f32, nullptr},
    {Intrinsic::Atan, math::atan_f32, nullptr},
};

Function function_of(Intrinsic op, bool is_f64) {
  for (const Entry& entry : kFunctions)
    if (entry.op == op) return is_f64 ? entry.f64 : entry.f32;
  return nullptr;
}

}  // namespace

bool is_scalar_only(Intrinsic op, DataType type) {
  const bool is_f64 = type.bits == 64;
  if (op == Intrinsic::Pow || op == Intrinsic::Atan2) return is_f64;
  return op == Intrinsic::FloatMod || function_of(op, is_f64) == nullptr;
}

::llvm::Value* emit_math(const Ops& ops, Intrinsic op, const std::vector<::llvm::Value*>& args) {
  if (op == Intrinsic::Pow) return math::pow_f32(ops, args[0], args[1]);
  if (op == Intrinsic::Atan2) return math::atan2_f32(ops, args[0], args[1]);
  const Function function = function_of(op, math::is_f64(args[0]));
  internal_check(function != nullptr, "a function without a polynomial");
  return function(ops, args[0]);
}

}  // namespace lathe::codegen::cpu
