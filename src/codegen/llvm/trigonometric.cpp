// Trigonometric functions of f32, computed in f64.
//
// sin, cos and tan reduce x to r = x - n pi/2, |r| <= pi/4. Below 2^20 pi/2 in two pieces is enough. Above, x is an
// integer m < 2^24 times 2^e, and x 2/pi mod 4 = m (2^e 2/pi mod 4): a table, for each e, of the second factor in three
// pieces, of which m times the first two is exact (Payne and Hanek, 1983, in floating point). That path is a function
// of its own, called when any lane needs it.

#include <array>
#include <cmath>

#include "codegen/llvm/math_functions.h"

namespace lathe::codegen::cpu::math {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1, kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kLarge = 0x1p20;
constexpr int kLeastExponent = 20 - 23, kMostExponent = 127 - 23;  // of 2^e, for x from 2^20 on

/// 2/pi after the binary point.
constexpr std::array<std::uint32_t, 8> kTwoOverPi = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                                     0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};

/// Bits of 2/pi with weights 2^-from … 2^-(from + count - 1), as an integer; those before the point are 0.
std::uint64_t bits_of_two_over_pi(int from, int count) {
  std::uint64_t bits = 0;
  for (int at = from; at < from + count; ++at) {
    const std::uint64_t bit =
        at < 1 ? 0 : (kTwoOverPi[static_cast<std::size_t>(at - 1) / 32] >> (31 - (at - 1) % 32)) & 1;
    bits = bits << 1 | bit;
  }
  return bits;
}

/// 2^e 2/pi mod 4 for every e, in pieces of 29, 29 and 53 bits.
::llvm::GlobalVariable* reduction_table(::llvm::Module& module) {
  const char* const name = "lathe.two_over_pi";
  if (auto* made = module.getNamedGlobal(name)) return made;
  std::vector<double> values;
  for (int e = kLeastExponent; e <= kMostExponent; ++e) {
    int from = e - 1;  // weight 2^1 after the shift by e
    for (const int count : {29, 29, 53}) {
      values.push_back(
          std::ldexp(static_cast<double>(bits_of_two_over_pi(from, count)), e - (from + count - 1)));
      from += count;
    }
  }
  ::llvm::Constant* data = ::llvm::ConstantDataArray::get(module.getContext(), values);
  return new ::llvm::GlobalVariable(module, data->getType(), true, ::llvm::GlobalValue::InternalLinkage, data,
                                    name);
}

/// The reduction for |x| >= 2^20 as a function: x -> {r, n}.
::llvm::Function* large_reduction(const Ops& outer, Type narrow, Type wide) {
  ::llvm::Module& module = *outer.b.GetInsertBlock()->getModule();
  const std::string name = "lathe.reduce.f32x" + std::to_string(lanes_of(narrow));
  if (auto* made = module.getFunction(name)) return made;
  auto* result = ::llvm::StructType::get(module.getContext(), {wide, outer.int_like(wide)});
  auto* function = ::llvm::Function::Create(::llvm::FunctionType::get(result, {narrow}, false),
                                            ::llvm::Function::InternalLinkage, name, module);
  function->addFnAttr(::llvm::Attribute::NoInline);
  function->addFnAttr(::llvm::Attribute::Cold);
  function->setDoesNotThrow();
  for (const char* attribute : {"prefer-vector-width", "min-legal-vector-width"})
    if (outer.features.wide) function->addFnAttr(attribute, "512");

  Builder b(::llvm::BasicBlock::Create(module.getContext(), "entry", function));
  const Ops o{b, outer.features};
  Value x = function->getArg(0);
  Value w = o.bits(x);
  Value exponent = b.CreateAnd(b.CreateLShr(w, o.integer(w, 23)), o.integer(w, 0xff));
  Value row = b.CreateSub(exponent, o.integer(w, 127 + 23 + kLeastExponent));
  row = b.CreateBinaryIntrinsic(::llvm::Intrinsic::smax, row, o.integer(w, 0));
  row = b.CreateBinaryIntrinsic(::llvm::Intrinsic::smin, row, o.integer(w, kMostExponent - kLeastExponent));
  Value mantissa = b.CreateOr(b.CreateAnd(w, o.integer(w, 0x7fffff)), o.integer(w, 0x800000));
  Value m = b.CreateSIToFP(mantissa, wide);
  const int lanes = lanes_of(narrow);
  auto piece = [&](int k) -> Value {
    Value at = b.CreateAdd(b.CreateMul(row, o.integer(row, 3)), o.integer(row, k));
    Value place = b.CreateGEP(b.getDoubleTy(), reduction_table(module),
                              {b.CreateSExt(at, o.with_element(at->getType(), b.getInt64Ty()))});
    Value factor = lanes == 1 ? static_cast<Value>(b.CreateLoad(b.getDoubleTy(), place))
                              : b.CreateMaskedGather(
                                    wide, place, ::llvm::Align(8),
                                    ::llvm::Constant::getAllOnesValue(with_lanes(b.getInt1Ty(), lanes)));
    return b.CreateFMul(m, factor);
  };
  Value first = piece(0);
  Value quarter = o.round_even(b.CreateFMul(first, o.real(first, 0.25)));
  first = b.CreateFSub(first, b.CreateFMul(quarter, o.real(first, 4)));
  Value second = piece(1);
  const Rounded n = round_biased(o, b.CreateFAdd(first, second), 1, 0);
  Value fraction = b.CreateFAdd(b.CreateFAdd(b.CreateFSub(first, n.value), second), piece(2));
  Value r = b.CreateFMul(fraction, o.real(fraction, kHalfPi));
  // |x| was reduced: an odd function's sign comes last.
  Value negative = b.CreateICmpSLT(w, o.integer(w, 0));
  Value finite = b.CreateFCmpOLT(o.abs(x), o.real(x, HUGE_VAL));
  r = b.CreateSelect(finite, b.CreateSelect(negative, b.CreateFNeg(r), r), o.real(r, std::nan("")));
  Value count = b.CreateSelect(negative, b.CreateNeg(n.bits), n.bits);
  b.CreateRet(b.CreateInsertValue(b.CreateInsertValue(::llvm::PoisonValue::get(result), r, 0), count, 1));
  return function;
}

/// r and n with x = n pi/2 + r; of n only the lowest bits are right.
struct Quadrant {
  Value r, n;
};

Quadrant reduce(const Ops& o, Value x) {
  Builder& b = o.b;
  Type wide = o.with_element(x->getType(), b.getDoubleTy());
  Value xd = b.CreateFPExt(x, wide);
  const Rounded n = round_biased(o, xd, 0x1.45f306dc9c883p-1, 0);
  Value minus_n = b.CreateFNeg(n.value);
  Value r = o.mad(minus_n, o.real(xd, 0x1.921fb544p+0), xd);
  r = o.mad(minus_n, o.real(xd, 0x1.0b4611a626331p-34), r);

  Value large = b.CreateFCmpOGE(o.abs(x), o.real(x, kLarge));
  Value any = large->getType()->isVectorTy() ? b.CreateOrReduce(large) : large;
  ::llvm::BasicBlock* before = b.GetInsertBlock();
  ::llvm::Function* parent = before->getParent();
  auto* slow = ::llvm::BasicBlock::Create(parent->getContext(), "huge", parent);
  auto* join = ::llvm::BasicBlock::Create(parent->getContext(), "reduced", parent);
  b.CreateCondBr(any, slow, join, ::llvm::MDBuilder(parent->getContext()).createBranchWeights(1, 1 << 16));
  b.SetInsertPoint(slow);
  Value both = b.CreateCall(large_reduction(o, x->getType(), wide), {x});
  Value slow_r = b.CreateSelect(large, b.CreateExtractValue(both, 0), r);
  Value slow_n = b.CreateSelect(large, b.CreateExtractValue(both, 1), n.bits);
  b.CreateBr(join);
  b.SetInsertPoint(join);
  auto merge = [&](Value fast, Value other) {
    ::llvm::PHINode* phi = b.CreatePHI(fast->getType(), 2);
    phi->addIncoming(fast, before);
    phi->addIncoming(other, slow);
    return phi;
  };
  return {merge(r, slow_r), merge(n.bits, slow_n)};
}

/// Of |r| <= pi/4.
Value sin_reduced(const Ops& o, Value r) {
  Value z = o.b.CreateFMul(r, r);
  Value tail = polynomial(o, z,
                          {-0x1.555555555243cp-3, 0x1.1111110ca378ap-7, -0x1.a019f958fbdb9p-13,
                           0x1.71d77b1bb522bp-19, -0x1.a965efb9a4bf7p-26});
  return o.mad(o.b.CreateFMul(r, z), tail, r);
}
Value cos_reduced(const Ops& o, Value r) {
  Value z = o.b.CreateFMul(r, r);
  return polynomial(o, z,
                    {1, -0.5, 0x1.555555555332bp-5, -0x1.6c16c167958b3p-10, 0x1.a019facf4fa1bp-16,
                     -0x1.27e038521bae3p-22, 0x1.1bcb79b95bbe8p-29});
}

Value has_bit(const Ops& o, Value n, std::int64_t bit) {
  return o.b.CreateICmpNE(o.b.CreateAnd(n, o.integer(n, bit)), o.integer(n, 0));
}

Value sin_of_quadrant(const Ops& o, Value r, Value n) {
  Value value = o.b.CreateSelect(has_bit(o, n, 1), cos_reduced(o, r), sin_reduced(o, r));
  return o.b.CreateSelect(has_bit(o, n, 2), o.b.CreateFNeg(value), value);
}

Value widened(const Ops& o, Value x) {
  return o.b.CreateFPExt(x, o.with_element(x->getType(), o.b.getDoubleTy()));
}

/// The angle in [0, pi/2] of the point (x, y) of the first quadrant.
Value angle(const Ops& o, Value y, Value x) {
  Builder& b = o.b;
  Value steep = b.CreateFCmpOGT(y, x);
  Value small = b.CreateSelect(steep, x, y), large = b.CreateSelect(steep, y, x);
  Value ratio = b.CreateFDiv(small, large);
  ratio = b.CreateSelect(b.CreateFCmpOEQ(small, large), o.real(x, 1), ratio);         // inf / inf
  ratio = b.CreateSelect(b.CreateFCmpOEQ(small, o.real(x, 0)), o.real(x, 0), ratio);  // 0 / 0
  Value z = b.CreateFMul(ratio, ratio);
  Value tail =
      polynomial(o, z,
                 {-0x1.5555553450f8ap-2, 0x1.99998694aedf7p-3, -0x1.24906291b445ap-3, 0x1.c6eb81e827986p-4,
                  -0x1.72e83249e7b12p-4, 0x1.33e27a34af54ep-4, -0x1.f164abc012c5dp-5, 0x1.6bd3d830d7e74p-5,
                  -0x1.b6f572a525d66p-6, 0x1.874488c54db5ap-7, -0x1.bc17c4ecab32fp-9, 0x1.d8e09abb1b9b6p-12});
  Value value = o.mad(b.CreateFMul(ratio, z), tail, ratio);
  return b.CreateSelect(steep, b.CreateFSub(o.real(x, kHalfPi), value), value);
}

/// sqrt(1 - x^2) for |x| <= 1, NaN outside.
Value complement(const Ops& o, Value magnitude) {
  Value one = o.real(magnitude, 1);
  return o.sqrt(o.b.CreateFMul(o.b.CreateFSub(one, magnitude), o.b.CreateFAdd(one, magnitude)));
}

}  // namespace

Value sin_f32(const Ops& o, Value x) {
  const Quadrant q = reduce(o, x);
  Value value = o.b.CreateFPTrunc(sin_of_quadrant(o, q.r, q.n), x->getType());
  return o.b.CreateSelect(o.b.CreateFCmpOEQ(x, o.real(x, 0)), x, value);  // -0
}

Value cos_f32(const Ops& o, Value x) {
  const Quadrant q = reduce(o, x);
  Value next = o.b.CreateAdd(q.n, o.integer(q.n, 1));
  return o.b.CreateFPTrunc(sin_of_quadrant(o, q.r, next), x->getType());
}

Value tan_f32(const Ops& o, Value x) {
  const Quadrant q = reduce(o, x);
  Value sine = sin_reduced(o, q.r), cosine = cos_reduced(o, q.r);
  Value odd = has_bit(o, q.n, 1);
  Value numerator = o.b.CreateSelect(odd, o.b.CreateFNeg(cosine), sine);
  Value value = o.b.CreateFDiv(numerator, o.b.CreateSelect(odd, sine, cosine));
  return o.b.CreateSelect(o.b.CreateFCmpOEQ(x, o.real(x, 0)), x, o.b.CreateFPTrunc(value, x->getType()));
}

Value atan_f32(const Ops& o, Value x) {
  Value magnitude = widened(o, o.abs(x));
  Value value = o.b.CreateFPTrunc(angle(o, magnitude, o.real(magnitude, 1)), x->getType());
  return o.copysign(o.b.CreateSelect(o.is_nan(x), x, value), x);
}

Value asin_f32(const Ops& o, Value x) {
  Value magnitude = widened(o, o.abs(x));
  Value rest = complement(o, magnitude);
  Value value = o.b.CreateFPTrunc(angle(o, magnitude, rest), x->getType());
  value = o.b.CreateSelect(o.is_nan(rest), o.real(x, std::nan("")), value);
  return o.copysign(value, x);
}

Value acos_f32(const Ops& o, Value x) {
  Value magnitude = widened(o, o.abs(x));
  Value rest = complement(o, magnitude);
  Value value = angle(o, rest, magnitude);
  Value obtuse = o.b.CreateFCmpOLT(x, o.real(x, 0));
  value = o.b.CreateSelect(obtuse, o.b.CreateFSub(o.real(value, kPi), value), value);
  value = o.b.CreateSelect(o.is_nan(rest), o.real(value, std::nan("")), value);
  return o.b.CreateFPTrunc(value, x->getType());
}

Value atan2_f32(const Ops& o, Value y, Value x) {
  Value value = angle(o, widened(o, o.abs(y)), widened(o, o.abs(x)));
  Value left = o.b.CreateICmpSLT(o.bits(x), o.integer(o.bits(x), 0));
  value = o.b.CreateSelect(left, o.b.CreateFSub(o.real(value, kPi), value), value);
  value = o.copysign(o.b.CreateFPTrunc(value, x->getType()), y);
  return o.b.CreateSelect(o.b.CreateFCmpUNO(x, y), o.b.CreateFAdd(x, y), value);
}

}  // namespace lathe::codegen::cpu::math
