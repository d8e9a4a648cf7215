// Random expressions of random types through all of lowering and LLVM, against the interpreter: equal bits, NaN for NaN. With
// the machine of this computer, and with the oldest of its family, which lacks most instructions.

#include <algorithm>
#include <cstring>

#include "lathe/interp.h"
#include "lathe/lathe.h"
#include "lower/lower.h"
#include "support/schedule_fuzzer/random.h"
#include "tests/behaviour/codegen/build.h"

namespace lathe {
namespace {

using fuzz::Random;

const std::vector<DataType>& types() {
  static const std::vector<DataType> all = {f64, f32, f16, bf16, i8,  i16,    i32,
                                            i64, u8,  u16, u32,  u64, boolean};
  return all;
}

class Generator {
 public:
  Generator(std::uint64_t seed, std::int64_t n, int depth) : random_(seed), n_(n), depth_(depth) {
    for (DataType t : types()) inputs_.push_back(placeholder("x_" + t.str(), {n}, t));
  }

  Program make() {
    std::vector<DataType> results;
    for (int k = 0; k < 3; ++k) results.push_back(random_.pick(types()));
    std::vector<Tensor> y = compute("y", {n_}, [&](Var i) {
      i_ = i;
      std::vector<Expr> out;
      for (DataType t : results) out.push_back(value(t, depth_));
      return out;
    });
    std::vector<ProgramInput> inputs(inputs_.begin(), inputs_.end());
    return program("fuzz", inputs, y);
  }

 private:
  bool chance(int percent) { return random_.chance(percent); }
  DataType any() { return random_.pick(types()); }

  Expr position(int depth) {
    switch (random_.below(depth > 0 ? 7 : 5)) {
      case 0: return n_ - 1 - i_;
      case 1: return floormod(i_ * 3 + 1, n_);
      case 2: return random_.between(0, n_ - 1);
      case 5:
        return floormod(
            cast(index_type, value(random_.pick(std::vector<DataType>{i8, u8, i16, i32}), depth - 1)), n_);
      default: return i_;
    }
  }
  Expr load(DataType t, int depth) {
    const auto at = std::find(types().begin(), types().end(), t);
    const Tensor& x = inputs_[static_cast<std::size_t>(at - types().begin())];
    if (depth > 0 && chance(10)) return select(condition(depth - 1), x(position(depth - 1)), literal(t));
    return x(position(depth));
  }
  Expr literal(DataType t) {
    if (t.is_bool()) return make_int(boolean, random_.between(0, 1));
    if (t.is_float()) {
      static const std::vector<double> reals = {0, -0.0, 1, -1, 0.5, 3, -7.25, 100, 1e-3, 65504, 1e30};
      return make_float(t, random_.pick(reals));
    }
    static const std::vector<std::int64_t> integers = {0,   1,   2,  3,  7,  8,         13,
                                                       100, 127, -1, -2, -8, INT64_MIN, INT64_MAX};
    return make_int(t, random_.pick(integers));
  }
  Expr condition(int depth) { return value(boolean, depth); }

  Expr value(DataType t, int depth) {
    if (depth <= 0 || chance(12)) return chance(75) ? load(t, depth) : literal(t);
    --depth;
    if (chance(18)) return select(condition(depth), value(t, depth), value(t, depth));
    if (chance(22)) return conversion(t, depth);
    if (t.is_bool()) return truth(depth);
    return t.is_float() ? real(t, depth) : integer(t, depth);
  }

  Expr conversion(DataType t, int depth) {
    if (chance(8)) {  // a position as a value
      if (t.is_bool()) return position(depth) % 2 == 0;
      return cast(t, position(depth) * random_.between(-3, 3) - 5);
    }
    // Bits of integers as floats; the other way round would show which NaN it is.
    if (chance(10) && t == f32) return reinterpret(f32, value(u32, depth));
    if (chance(10) && t == f64) return reinterpret(f64, value(i64, depth));
    return cast(t, value(any(), depth));
  }

  Expr truth(int depth) {
    switch (random_.below(5)) {
      case 0: return value(boolean, depth) && value(boolean, depth);
      case 1: return value(boolean, depth) || value(boolean, depth);
      case 2: return !value(boolean, depth);
      case 3: {
        const DataType t = random_.pick(std::vector<DataType>{f64, f32, f16, bf16});
        return call(
            random_.pick(std::vector<Intrinsic>{Intrinsic::IsNan, Intrinsic::IsInf, Intrinsic::IsFinite}),
            {value(t, depth)});
      }
      default: {
        DataType t = any();
        static const std::vector<BinaryOp> all = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                                  BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
        const BinaryOp op = t.is_bool() ? all[random_.below(2)] : random_.pick(all);
        return binary(op, value(t, depth), value(t, depth));
      }
    }
  }

  Expr real(DataType t, int depth) {
    static const std::vector<BinaryOp> ops = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,
                                              BinaryOp::Div, BinaryOp::Min, BinaryOp::Max};
    static const std::vector<Intrinsic> unary = {Intrinsic::Floor, Intrinsic::Ceil, Intrinsic::Round,
                                                 Intrinsic::Trunc, Intrinsic::Sqrt, Intrinsic::Abs};
    switch (random_.below(8)) {
      case 0: return call(random_.pick(unary), {value(t, depth)});
      case 1: return call(Intrinsic::CopySign, {value(t, depth), load(t, 0)});  // a computed NaN has any sign
      case 2: return -value(t, depth);
      case 3: return fma(value(t, depth), value(t, depth), value(t, depth));
      default: return binary(random_.pick(ops), value(t, depth), value(t, depth));
    }
  }

  Expr integer(DataType t, int depth) {
    static const std::vector<BinaryOp> ops = {BinaryOp::Add, BinaryOp::Sub,      BinaryOp::Mul,
                                              BinaryOp::Div, BinaryOp::Mod,      BinaryOp::FloorDiv,
                                              BinaryOp::Min, BinaryOp::FloorMod, BinaryOp::Max};
    static const std::vector<Intrinsic> bits = {Intrinsic::BitAnd, Intrinsic::BitOr, Intrinsic::BitXor,
                                                Intrinsic::ShiftLeft, Intrinsic::ShiftRight};
    static const std::vector<Intrinsic> unary = {Intrinsic::BitNot, Intrinsic::Popcount,
                                                 Intrinsic::CountLeadingZeros, Intrinsic::Abs};
    switch (random_.below(8)) {
      case 0: return call(random_.pick(unary), {value(t, depth)});
      case 1:
      case 2: return call(random_.pick(bits), {value(t, depth), value(t, depth)});
      case 3: return -value(t, depth);
      default: return binary(random_.pick(ops), value(t, depth), value(t, depth));
    }
  }

  Random random_;
  std::int64_t n_;
  int depth_;
  Var i_;
  std::vector<Tensor> inputs_;
};

std::string differing(const std::vector<interp::Array>& have, const std::vector<interp::Array>& want) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    for (std::int64_t i = 0; i < want[k].size(); ++i) {
      const int bytes = want[k].dtype().bytes();
      if (want[k].dtype().is_float() && std::isnan(want[k].get(i)) && std::isnan(have[k].get(i))) continue;
      const auto* a = static_cast<const char*>(have[k].data()) + i * bytes;
      const auto* b = static_cast<const char*>(want[k].data()) + i * bytes;
      if (std::memcmp(a, b, static_cast<std::size_t>(bytes)) == 0) continue;
      return "output " + std::to_string(k) + " (" + want[k].dtype().str() + ") at " + std::to_string(i) +
             ": " +
             (want[k].dtype().is_float()
                  ? std::to_string(have[k].get(i)) + " instead of " + std::to_string(want[k].get(i))
                  : std::to_string(have[k].get_int(i)) + " instead of " + std::to_string(want[k].get_int(i)));
    }
  }
  return "";
}

std::string compiled(const Program& lowered, const codegen::cpu::Machine& machine,
                     std::vector<interp::Array> inputs, const std::vector<interp::Array>& want) {
  std::vector<interp::Array> outputs;
  for (const interp::Array& w : want) outputs.push_back(interp::Array::poison(w.dtype(), w.shape()));
  // Kernels expect tensors to begin at multiples of 64 bytes.
  std::vector<codegen_test::Array<char>> memory;
  std::vector<void*> addresses;
  for (std::vector<interp::Array>* list : {&inputs, &outputs}) {
    for (interp::Array& a : *list) {
      memory.emplace_back(std::max<std::size_t>(a.bytes(), 1));
      std::memcpy(memory.back().data(), a.data(), a.bytes());
    }
  }
  for (auto& m : memory) addresses.push_back(m.data());
  const codegen::cpu::LoadedCode code = codegen_test::compile(lowered, machine);
  if (code.function()(addresses.data(), nullptr) != 0) return "the kernel reports an error";
  for (std::size_t k = 0; k < outputs.size(); ++k)
    std::memcpy(outputs[k].data(), memory[inputs.size() + k].data(), outputs[k].bytes());
  return differing(outputs, want);
}

/// "" when every form of the seed's program computes the same.
std::string violated(std::uint64_t seed, int depth) {
  Random random(Random::mix(seed));
  const std::int64_t n = random.pick(std::vector<std::int64_t>{1, 3, 8, 17, 32, 37});
  const Program plain = Generator(seed, n, depth).make();
  Schedule s(plain);
  const BlockRef block = s.blocks()[0];
  const LoopRef loop = s.loops(block)[0];
  const bool exact = random.chance(50);  // as written; else with the multiply-adds that lowering makes
  if (exact) s.math(block, MathMode::Exact);
  if (random.chance(80)) s.vectorize(random.chance(50) ? loop : s.split(loop, {_, 8})[1]);
  std::vector<interp::Array> inputs;
  for (const Param& p : plain->params) {
    if (p.role == ParamRole::Input)
      inputs.push_back(interp::Array::edges(p.buffer->dtype, {n}, random.next()));
  }
  const Program lowered = lower::lower(s.program(), Target::host());
  const std::vector<interp::Array> want = interp::run(exact ? plain : lowered, inputs).outputs;
  std::string why = exact ? differing(interp::run(lowered, inputs).outputs, want) : "";
  if (!why.empty()) return "lowered: " + why + "\n" + to_string(plain) + to_string(lowered);
  const std::vector<codegen::cpu::Machine>& machines = codegen_test::machines();
  const std::size_t tried = random.chance(25) ? machines.size() : 1;
  for (std::size_t m = 0; m < tried; ++m) {
    const codegen::cpu::Machine& machine = machines[m];
    why = compiled(lowered, machine, inputs, want);
    if (!why.empty()) return machine.cpu + ": " + why + "\n" + to_string(plain) + to_string(lowered);
  }
  return "";
}

}  // namespace

TEST_CASE("random expressions of random types compute the same as compiled code") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    int depth = 3;
    std::string why = violated(seed, depth);
    if (!why.empty()) {  // the shallowest form that fails says most
      for (depth = 1; depth < 3 && violated(seed, depth).empty();) ++depth;
      why = violated(seed, depth);
    }
    INFO("seed " << seed << ", depth " << depth);
    CHECK(why == "");
  }
}

TEST_CASE("many more random expressions", "[.long]") {
  int failures = 0;
  for (std::uint64_t seed = 1000; seed < 4000 && failures < 10; ++seed) {
    const std::string why = violated(seed, 3 + static_cast<int>(seed % 3));
    INFO("seed " << seed << ": " << why);
    CHECK(why == "");
    failures += !why.empty();
  }
}

}  // namespace lathe
