#include "lathe/runtime/fill.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace lathe;
using namespace lathe::runtime;

namespace {

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.value(i));
  return all;
}

bool contains(const std::vector<double>& all, double value) {
  return std::find(all.begin(), all.end(), value) != all.end();
}

}  // namespace

TEST_CASE("random floats are signed, in range, and hold the edge values of their type") {
  for (DataType type : {f64, f32, f16, bf16}) {
    Tensor tensor(type, {20000});
    fill_random(tensor, {.seed = 3});
    const std::vector<double> all = values(tensor);
    CHECK(std::all_of(all.begin(), all.end(), [](double x) { return -1 <= x && x <= 1; }));
    CHECK(std::count_if(all.begin(), all.end(), [](double x) { return x < 0; }) > 9000);
    CHECK(std::count_if(all.begin(), all.end(), [](double x) { return x > 0; }) > 9000);
    CHECK(std::count_if(all.begin(), all.end(), [](double x) { return x == 0 && std::signbit(x); }) > 0);
    CHECK(contains(all, 1));
    // The smallest subnormal was not flushed.
    const double tiny = type == f64   ? 0x0.0000000000001p-1022
                        : type == f32 ? 0x1p-149
                        : type == f16 ? 0x1p-24
                                      : 0x1p-133;
    CHECK(contains(all, tiny));
    CHECK(contains(all, -tiny));
  }
}

TEST_CASE("infinities and NaN come only when asked for") {
  Tensor tensor(f32, {20000});
  fill_random(tensor, {.seed = 3, .non_finite = true});
  const std::vector<double> all = values(tensor);
  CHECK(std::any_of(all.begin(), all.end(), [](double x) { return std::isnan(x); }));
  CHECK(std::any_of(all.begin(), all.end(), [](double x) { return std::isinf(x) && x < 0; }));
}

TEST_CASE("random integers hold the smallest and largest of their type") {
  struct Case {
    DataType type;
    double smallest, largest;
  };
  for (const Case& c :
       {Case{i8, -128, 127}, Case{u8, 0, 255}, Case{i32, -2147483648.0, 2147483647.0},
        Case{u32, 0, 4294967295.0}, Case{i64, -9223372036854775808.0, 9223372036854775807.0}}) {
    Tensor tensor(c.type, {20000});
    fill_random(tensor, {.seed = 9});
    const std::vector<double> all = values(tensor);
    CHECK(contains(all, c.smallest));
    CHECK(contains(all, c.largest));
  }
  Tensor flags(boolean, {1000});
  fill_random(flags, {.seed = 9});
  for (std::uint8_t flag : flags.as<std::uint8_t>()) REQUIRE(flag <= 1);
  CHECK(contains(values(flags), 0));
  CHECK(contains(values(flags), 1));
}

TEST_CASE("a fill depends on seed and position alone") {
  Tensor a(f32, {100}), b(f32, {100}), longer(f32, {1000});
  fill_random(a, {.seed = 5});
  fill_random(b, {.seed = 6});
  fill_random(longer, {.seed = 5});
  CHECK(values(a) != values(b));
  for (std::int64_t i = 0; i < 100; ++i) CHECK(longer.value(i) == a.value(i));
  // The same on every machine and in every release: failures are reported by their seed.
  CHECK(a.value(0) == Approx(-0.534488678).margin(1e-8));
}

TEST_CASE("small integers fill their range and no more") {
  for (DataType type : {f32, f16, bf16, i8, i64}) {
    Tensor tensor(type, {1000});
    fill_integers(tensor, 1, -2, 3);
    const std::vector<double> all = values(tensor);
    CHECK(std::set<double>(all.begin(), all.end()) == std::set<double>{-2, -1, 0, 1, 2, 3});
  }
  Tensor unsigned_tensor(u8, {1000});
  fill_integers(unsigned_tensor, 1, -2, 1);
  const std::vector<double> all = values(unsigned_tensor);
  CHECK(std::set<double>(all.begin(), all.end()) == std::set<double>{0, 1});
}

TEST_CASE("poison is NaN in floats and odd bytes elsewhere") {
  for (DataType type : {f64, f32, f16, bf16}) {
    Tensor tensor(type, {3});
    fill_poison(tensor);
    CHECK(std::isnan(tensor.value(2)));
  }
  Tensor ints(i16, {3});
  fill_poison(ints);
  CHECK(ints.as<std::int16_t>()[1] == static_cast<std::int16_t>(0xA5A5));
  Tensor empty(f32, {0});
  fill_poison(empty);
}

TEST_CASE("iota counts, and wraps in narrow integers") {
  Tensor tensor(i8, {300});
  fill_iota(tensor);
  for (std::int64_t i = 0; i < 300; ++i) CHECK(tensor.value(i) == static_cast<std::int8_t>(i));
  Tensor bytes(u8, {300});
  fill_iota(bytes);
  CHECK(bytes.value(299) == 43);
}
