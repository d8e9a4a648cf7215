// Integer arithmetic against the definitions in ir/numbers.h, for every pair of edge values, scalar and vector code.

#include "ir/numbers.h"
#include "tests/behaviour/codegen/build.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

std::vector<std::int64_t> edge_values(DataType type) {
  std::vector<std::int64_t> values;
  const std::int64_t top = type.bits == 64 ? INT64_MAX : (std::int64_t{1} << (type.bits - 1)) - 1;
  for (const std::int64_t v :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{7}, std::int64_t{8},
        std::int64_t{31}, std::int64_t{63}, std::int64_t{64}, std::int64_t{100}, top - 1, top})
    for (const std::int64_t sign : {1, -1}) {
      values.push_back(wrap_integer(type, sign * v));
      values.push_back(
          wrap_integer(type, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(sign * v) - 1)));
    }
  return values;
}

/// Results of every operator for arrays of pairs, as kernels give them.
template <class T>
class Pairs {
 public:
  explicit Pairs(DataType type) : type_(type) {
    const auto edges = edge_values(type);
    std::vector<std::pair<T, T>> pairs;
    for (const std::int64_t x : edges)
      for (const std::int64_t y : edges) pairs.emplace_back(static_cast<T>(x), static_cast<T>(y));
    while (pairs.size() % 16) pairs.emplace_back(T{1}, T{1});
    x_ = Array<T>(pairs.size());
    y_ = Array<T>(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) x_[i] = pairs[i].first, y_[i] = pairs[i].second;
  }

  std::int64_t count() const { return static_cast<std::int64_t>(x_.size()); }
  T x(std::size_t i) const { return x_[i]; }
  T y(std::size_t i) const { return y_[i]; }

  /// One array for each expression over x and y.
  std::vector<Array<T>> results(const std::vector<std::function<Expr(Expr, Expr)>>& expressions, int lanes,
                                const Machine& machine) {
    Buffer a("a", type_, {count()}), b("b", type_, {count()});
    std::vector<Param> params{input(a), input(b)};
    std::vector<Stmt> stores;
    Var i("i");
    const Expr at = lanes == 1 ? Expr(i) : ramp(i * lanes, make_index(1), lanes);
    std::vector<Array<T>> out(expressions.size(), Array<T>(x_.size()));
    std::vector<void*> buffers{x_.data(), y_.data()};
    for (std::size_t e = 0; e < expressions.size(); ++e) {
      Buffer result("r" + std::to_string(e), type_, {count()});
      params.push_back(output(result));
      stores.push_back(store(result, expressions[e](load(a, {at}), load(b, {at})), at));
      buffers.push_back(out[e].data());
    }
    const Program program("integers", params, {}, loop(i, make_index(count() / lanes), make_seq(stores)));
    REQUIRE(compile(program, machine).function()(buffers.data(), nullptr) == 0);
    return out;
  }

 private:
  DataType type_;
  Array<T> x_{T{}}, y_{T{}};
};

constexpr BinaryOp kOps[] = {BinaryOp::Add, BinaryOp::Sub,      BinaryOp::Mul,      BinaryOp::Div,
                             BinaryOp::Mod, BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::Min,
                             BinaryOp::Max, BinaryOp::Lt,       BinaryOp::Ge,       BinaryOp::Ne};

template <class T>
void check_arithmetic(DataType type) {
  Pairs<T> pairs(type);
  std::vector<std::function<Expr(Expr, Expr)>> expressions;
  for (const BinaryOp op : kOps)
    expressions.push_back([op, type](Expr x, Expr y) {
      const Expr value = binary(op, x, y);
      return is_comparison(op) ? cast(type.with_lanes(x.dtype().lanes), value) : value;
    });
  for (const Machine& machine : machines())
    for (const int lanes : {1, 8}) {
      const auto out = pairs.results(expressions, lanes, machine);
      for (std::size_t e = 0; e < out.size(); ++e)
        for (std::size_t i = 0; i < out[e].size(); ++i) {
          const auto want = static_cast<T>(integer_op(type, kOps[e], pairs.x(i), pairs.y(i)));
          if (out[e][i] != want) {
            CAPTURE(machine.cpu, type.str(), spelling(kOps[e]), lanes, +pairs.x(i), +pairs.y(i));
            CHECK(+out[e][i] == +want);
          }
        }
    }
}

template <class T>
void check_bits(DataType type) {
  Pairs<T> pairs(type);
  const auto two = [](Intrinsic op) { return [op](Expr x, Expr y) { return call(op, {x, y}); }; };
  const auto one = [](Intrinsic op) { return [op](Expr x, Expr) { return call(op, {x}); }; };
  using U = std::make_unsigned_t<T>;
  const int bits = type.bits;
  const auto wide = [bits](T amount) {
    return static_cast<std::uint64_t>(static_cast<U>(amount)) >= static_cast<std::uint64_t>(bits);
  };
  struct Case {
    const char* name;
    std::function<Expr(Expr, Expr)> expression;
    std::function<T(T, T)> want;
  };
  const std::vector<Case> cases = {
      {"bitand", two(Intrinsic::BitAnd), [](T x, T y) { return static_cast<T>(x & y); }},
      {"bitor", two(Intrinsic::BitOr), [](T x, T y) { return static_cast<T>(x | y); }},
      {"bitxor", two(Intrinsic::BitXor), [](T x, T y) { return static_cast<T>(x ^ y); }},
      {"bitnot", one(Intrinsic::BitNot), [](T x, T) { return static_cast<T>(~x); }},
      {"shl", two(Intrinsic::ShiftLeft),
       [&](T x, T y) {
         return wide(y) ? T{0} : static_cast<T>(static_cast<std::uint64_t>(x) << static_cast<int>(y));
       }},
      {"shr", two(Intrinsic::ShiftRight),
       [&](T x, T y) {
         return wide(y) ? static_cast<T>(x < 0 ? -1 : 0) : static_cast<T>(x >> static_cast<int>(y));
       }},
      {"popcount", one(Intrinsic::Popcount),
       [](T x, T) { return static_cast<T>(std::popcount(static_cast<U>(x))); }},
      {"clz", one(Intrinsic::CountLeadingZeros),
       [](T x, T) { return static_cast<T>(std::countl_zero(static_cast<U>(x))); }},
      {"abs", one(Intrinsic::Abs),
       [](T x, T) {
         return static_cast<T>(x < 0 ? static_cast<U>(0 - static_cast<U>(x)) : static_cast<U>(x));
       }},
  };
  std::vector<std::function<Expr(Expr, Expr)>> expressions;
  for (const Case& c : cases) expressions.push_back(c.expression);
  for (const Machine& machine : machines())
    for (const int lanes : {1, 8}) {
      const auto out = pairs.results(expressions, lanes, machine);
      for (std::size_t e = 0; e < out.size(); ++e)
        for (std::size_t i = 0; i < out[e].size(); ++i) {
          const T want = cases[e].want(pairs.x(i), pairs.y(i));
          if (out[e][i] != want) {
            CAPTURE(machine.cpu, type.str(), cases[e].name, lanes, +pairs.x(i), +pairs.y(i));
            CHECK(+out[e][i] == +want);
          }
        }
    }
}

}  // namespace

TEST_CASE("integer operators are total and wrap, in scalar and vector code") {
  check_arithmetic<std::int8_t>(i8);
  check_arithmetic<std::uint8_t>(u8);
  check_arithmetic<std::int16_t>(i16);
  check_arithmetic<std::uint16_t>(u16);
  check_arithmetic<std::int32_t>(i32);
  check_arithmetic<std::uint32_t>(u32);
  check_arithmetic<std::int64_t>(i64);
  check_arithmetic<std::uint64_t>(u64);
}

TEST_CASE("bit operations and shifts by the width or more") {
  check_bits<std::int8_t>(i8);
  check_bits<std::uint16_t>(u16);
  check_bits<std::int32_t>(i32);
  check_bits<std::uint32_t>(u32);
  check_bits<std::int64_t>(i64);
}

TEST_CASE("division by every small constant, floor and truncating") {
  for (const DataType type : {i32, index_type}) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = -9; d <= 9; ++d) divisors.push_back(d);
    for (const std::int64_t d : {16, -16, 64, 1000}) divisors.push_back(d);
    Var i("i");
    Buffer in("in", i32, {64});
    std::vector<Param> params{input(in)};
    std::vector<Stmt> stores;
    std::vector<Array<std::int32_t>> out(divisors.size() * 2, Array<std::int32_t>(64));
    Array<std::int32_t> values(64);
    for (int k = 0; k < 64; ++k) values[static_cast<std::size_t>(k)] = (k - 32) * (k % 5 ? 1 : 37);
    std::vector<void*> buffers{values.data()};
    for (std::size_t d = 0; d < divisors.size(); ++d)
      for (const bool remainder : {false, true}) {
        Buffer result("r", i32, {64});
        params.push_back(output(result));
        const Expr x = cast(type, load(in, {i}));
        const Expr y = make_int(type, divisors[d]);
        stores.push_back(store(result, cast(i32, remainder ? floormod(x, y) : floordiv(x, y)), i));
        buffers.push_back(out[2 * d + remainder].data());
      }
    const Program program("division", params, {}, loop(i, make_index(64), make_seq(stores)));
    REQUIRE(compile(program, machines()[0]).function()(buffers.data(), nullptr) == 0);
    for (std::size_t d = 0; d < divisors.size(); ++d)
      for (std::size_t k = 0; k < 64; ++k) {
        CAPTURE(values[k], divisors[d], type.str());
        CHECK(out[2 * d][k] == floor_div(values[k], divisors[d]));
        CHECK(out[2 * d + 1][k] == floor_mod(values[k], divisors[d]));
      }
  }
}
