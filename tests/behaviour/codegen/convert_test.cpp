// Conversions between all element types, and 16-bit floats, against ir/numbers.h.

#include <cmath>

#include "ir/numbers.h"
#include "tests/behaviour/codegen/build.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

/// Bits of a value as memory holds it.
std::uint64_t bits_of(DataType type, double real, std::int64_t integer) {
  if (!type.is_float())
    return static_cast<std::uint64_t>(type.is_bool() ? integer != 0 : integer) &
           (~std::uint64_t{0} >> (64 - type.bits));
  if (type.bits == 64) return std::bit_cast<std::uint64_t>(real);
  const auto single = static_cast<float>(real);
  if (type.bits == 32) return std::bit_cast<std::uint32_t>(single);
  if (type.code == TypeCode::BFloat) return std::bit_cast<std::uint32_t>(single) >> 16;
  if (std::isnan(single)) return 0x7e00;
  const std::uint64_t sign = std::signbit(single) ? 0x8000 : 0;
  const double magnitude = std::abs(real);
  if (magnitude >= 65536) return sign | 0x7c00;
  if (magnitude < 0x1p-14) return sign | static_cast<std::uint64_t>(magnitude * 0x1p24);
  const int exponent = std::ilogb(magnitude);
  return sign | static_cast<std::uint64_t>(exponent + 15) << 10 |
         (static_cast<std::uint64_t>(std::ldexp(magnitude, 10 - exponent)) & 0x3ff);
}

struct Value {
  double real;
  std::int64_t integer;
};

std::vector<Value> values_of(DataType type) {
  std::vector<Value> values;
  if (!type.is_float()) {
    const std::int64_t top = type.is_bool()    ? 1
                             : type.bits == 64 ? INT64_MAX
                                               : (std::int64_t{1} << (type.bits - 1)) - 1;
    for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{100},
                                 std::int64_t{2049}, std::int64_t{16777217}, std::int64_t{33554431},
                                 std::int64_t{0x100800001}, std::int64_t{0x80800000000001}, top, top - 1})
      for (const std::int64_t sign : {1, -1}) values.push_back({0, wrap_integer(type, sign * v)});
  } else {
    for (const double v : {0.0,
                           0.25,
                           0.5,
                           0.999,
                           1.0,
                           1.5,
                           127.4,
                           127.6,
                           128.0,
                           255.9,
                           256.0,
                           32767.5,
                           32768.0,
                           65504.0,
                           65519.9,
                           65520.0,
                           65535.9,
                           1e6,
                           2147483520.0,
                           2147483647.5,
                           2147483648.0,
                           4294967295.5,
                           4294967296.0,
                           9.2e18,
                           9223372036854775808.0,
                           1.8e19,
                           1e20,
                           1e38,
                           3.4e38,
                           1e300,
                           6e-8,
                           2.9e-8,
                           1e-40,
                           1.00390625,
                           1.01171875,
                           1.0039062500001,
                           1.00048828125,
                           1.00146484375,
                           HUGE_VAL})
      for (const double sign : {1.0, -1.0}) values.push_back({round_to(type, sign * v), 0});
    values.push_back({std::nan(""), 0});
  }
  while (values.size() % 8) values.push_back(values[0]);
  return values;
}

/// What a conversion must give, as bits; nothing for a NaN, whose payload is free.
std::optional<std::uint64_t> expected(DataType to, DataType from, const Value& v) {
  if (from.is_float()) {
    if (to.is_bool()) return v.real != 0;
    if (!to.is_float()) return bits_of(to, 0, float_to_integer(to, v.real));
    if (std::isnan(v.real)) return std::nullopt;
    return bits_of(to, round_to(to, v.real), 0);
  }
  if (!to.is_float()) return bits_of(to, 0, v.integer);
  // Exactly, then rounded once: long double holds 64 bits.
  const long double exact = from.is_unsigned()
                                ? static_cast<long double>(static_cast<std::uint64_t>(v.integer))
                                : static_cast<long double>(v.integer);
  if (to.bits >= 32)
    return bits_of(to, to.bits == 64 ? static_cast<double>(exact) : static_cast<float>(exact), 0);
  double odd = static_cast<double>(exact);  // the nearest double, moved off a tie by what it lost
  if (odd != exact) odd = std::nextafter(odd, odd < exact ? HUGE_VAL : -HUGE_VAL);
  return bits_of(to, round_to(to, odd), 0);
}

std::uint64_t read(const Array<char>& memory, std::size_t i, int bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, memory.begin() + i * static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes));
  return value;
}

void check_conversions(DataType from, const std::vector<DataType>& targets, int lanes,
                       const Machine& machine) {
  const std::vector<Value> values = values_of(from);
  const auto n = static_cast<std::int64_t>(values.size());
  Buffer in("in", from, {n});
  std::vector<Param> params{input(in)};
  std::vector<Stmt> stores;
  Var i("i");
  const Expr at = lanes == 1 ? Expr(i) : ramp(i * lanes, make_index(1), lanes);
  Array<char> memory(values.size() * 8);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::uint64_t bits = bits_of(from, values[k].real, values[k].integer);
    std::memcpy(memory.data() + k * static_cast<std::size_t>(from.bytes()), &bits,
                static_cast<std::size_t>(from.bytes()));
  }
  std::vector<Array<char>> out(targets.size(), Array<char>(values.size() * 8));
  std::vector<void*> buffers{memory.data()};
  for (std::size_t t = 0; t < targets.size(); ++t) {
    Buffer result("r", targets[t], {n});
    params.push_back(output(result));
    stores.push_back(store(result, cast(targets[t].with_lanes(lanes), load(in, {at})), at));
    buffers.push_back(out[t].data());
  }
  const Program program("convert", params, {}, loop(i, make_index(n / lanes), make_seq(stores)));
  REQUIRE(compile(program, machine).function()(buffers.data(), nullptr) == 0);
  for (std::size_t t = 0; t < targets.size(); ++t)
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::uint64_t got = read(out[t], k, targets[t].bytes());
      const auto want = expected(targets[t], from, values[k]);
      if (want ? got == *want : true) continue;
      CAPTURE(machine.cpu, lanes, from.str(), targets[t].str(), values[k].real, values[k].integer);
      CHECK(got == *want);
    }
}

}  // namespace

TEST_CASE("every element type converts to every other, in scalar and vector code") {
  const std::vector<DataType> types = {boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64};
  for (const DataType from : types)
    for (const Machine& machine : machines())
      for (const int lanes : {1, 8}) check_conversions(from, types, lanes, machine);
}

TEST_CASE("all 16-bit floats widen exactly, and narrow back to themselves") {
  for (const DataType type : {f16, bf16})
    for (const Machine& machine : machines()) {
      Buffer in("in", type, {65536}), wide("wide", f32, {65536}), back("back", type, {65536});
      Var i("i");
      const Expr at = ramp(i * 8, make_index(1), 8);
      const Program program("halves", {input(in), output(wide), output(back)}, {},
                            loop(i, make_index(65536 / 8),
                                 make_seq({store(wide, cast(f32.with_lanes(8), load(in, {at})), at),
                                           store(back, cast(type.with_lanes(8), load(wide, {at})), at)})));
      Array<std::uint16_t> bits(65536), again(65536);
      Array<float> widened(65536);
      for (std::size_t k = 0; k < 65536; ++k) bits[k] = static_cast<std::uint16_t>(k);
      REQUIRE(run(compile(program, machine), {}, bits, widened, again) == 0);
      for (std::size_t k = 0; k < 65536; ++k) {
        CAPTURE(type.str(), machine.cpu, k);
        if (std::isnan(widened[k])) {
          CHECK((k & 0x7fff) > (type.code == TypeCode::BFloat ? 0x7f80u : 0x7c00u));
          continue;
        }
        if (again[k] != bits[k]) CHECK(again[k] == bits[k]);
        if (round_to(type, widened[k]) != static_cast<double>(widened[k]))
          CHECK(round_to(type, widened[k]) == widened[k]);
        if (bits_of(type, widened[k], 0) != k) CHECK(bits_of(type, widened[k], 0) == k);
      }
    }
}

TEST_CASE("narrowing to 16 bits rounds once, to nearest even") {
  for (const DataType type : {f16, bf16})
    for (const DataType from : {f32, f64})
      for (const Machine& machine : machines()) {
        constexpr std::int64_t kCount = 40000;
        Buffer in("in", from, {kCount}), out("out", type, {kCount});
        Var i("i");
        const Expr at = ramp(i * 8, make_index(1), 8);
        const Program program(
            "narrow", {input(in), output(out)}, {},
            loop(i, make_index(kCount / 8), store(out, cast(type.with_lanes(8), load(in, {at})), at)));
        // Values round a representable one and round a tie, a little and very little to either side.
        Array<double> values(kCount);
        std::uint64_t state = 5;
        for (auto k = 0; k < kCount; ++k) {
          state = state * 6364136223846793005u + 1442695040888963407u;
          const int digits = type.code == TypeCode::BFloat ? 8 : 11;
          const double base = static_cast<double>((std::uint64_t{1} << digits) +
                                                  (state >> 40) % (std::uint64_t{1} << digits));
          const double nudges[] = {0, 0x1p-11, -0x1p-11, 0x1p-40, -0x1p-40};
          const double value =
              std::ldexp(base + nudges[state >> 33 & 3], static_cast<int>(state >> 20 & 31) - 30);
          values[static_cast<std::size_t>(k)] = from.bits == 32 ? static_cast<float>(value) : value;
        }
        Array<std::uint16_t> got(kCount);
        const LoadedCode code = compile(program, machine);
        if (from.bits == 64) {
          REQUIRE(run(code, {}, values, got) == 0);
        } else {
          Array<float> single(kCount);
          for (std::size_t k = 0; k < kCount; ++k) single[k] = static_cast<float>(values[k]);
          REQUIRE(run(code, {}, single, got) == 0);
        }
        for (std::size_t k = 0; k < kCount; ++k) {
          const std::uint64_t want = bits_of(type, round_to(type, values[k]), 0);
          if (got[k] == want) continue;
          CAPTURE(type.str(), from.str(), machine.cpu, values[k]);
          CHECK(got[k] == want);
        }
      }
}
