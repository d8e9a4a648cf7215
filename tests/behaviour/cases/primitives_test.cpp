// Primitives where something runs out: extents of 0 and 1, the last elements of an array, values at the ends of their type.
#include "behaviour/cases/case.h"

using namespace lathe;
using namespace lathe::cases;

namespace {

/// What is wrong with the schedule on small integers; "" when nothing is.
std::string fault(const Schedule& s) {
  try {
    outputs(s, interp::integer_inputs(s.original(), 11));
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// Applies the change where it is legal.
void where_legal(Schedule& s, const std::function<void(Schedule&)>& change) {
  if (s.can(change)) change(s);
}

/// All of the types' arithmetic on pairs of `values`, in lanes.
template <class F>
Tensor pairs(const std::string& name, const Tensor& a, const Tensor& b, F f) {
  return compute(name, {81}, [&](Var i) { return f(a(floordiv(i, 9)), b(floormod(i, 9))); });
}

}  // namespace

TEST_CASE("integers at the ends of their types, in lanes") {
  for (DataType t : {i8, u8, i16, u16, i32, u32, i64, u64}) {
    INFO(t.str());
    Tensor a = placeholder("a", {9}, t), b = placeholder("b", {9}, t);
    auto number = [&](std::int64_t v) { return make_int(t, v); };
    const std::vector<Tensor> all = {
        pairs("div", a, b, [](Expr x, Expr y) { return x / y; }),
        pairs("mod", a, b, [](Expr x, Expr y) { return x % y; }),
        pairs("floor_div", a, b, [](Expr x, Expr y) { return floordiv(x, y); }),
        pairs("floor_mod", a, b, [](Expr x, Expr y) { return floormod(x, y); }),
        pairs("left", a, b,
              [](Expr x, Expr y) {
                return call(Intrinsic::ShiftLeft, {x, y});
              }),
        pairs("right", a, b,
              [](Expr x, Expr y) {
                return call(Intrinsic::ShiftRight, {x, y});
              }),
        pairs("min_max", a, b, [](Expr x, Expr y) { return min(x, y) + max(x, y) * 3; }),
        pairs("by_constants", a, b, [&](Expr x, Expr y) {
          return x / number(7) + x % number(5) + floordiv(y, number(6)) + floormod(x, number(10)) +
                 x / number(-1) + floormod(y, number(-1)) + x / number(0) + floormod(y, number(0));
        })};
    Schedule s(program("p", {a, b}, all));
    for (const Tensor& u : all) s.vectorize(s.loops<1>(s.block(u))[0]);
    const std::int64_t low = t.is_unsigned() ? 0 : std::int64_t{-1} << (t.bits - 1);
    std::vector<interp::Array> in = {interp::Array(t, {9}), interp::Array(t, {9})};
    const std::int64_t values[] = {0, 1, 2, low, ~low, -1, 7, t.bits - 1, t.bits};
    for (int i = 0; i < 9; ++i) {
      in[0].set_int(i, values[i]);
      in[1].set_int(i, values[8 - i]);
    }
    CHECK_NOTHROW(outputs(s, in));
  }
}

TEST_CASE("floats that are NaN, infinite, zeros of both signs, in lanes and cast to every type") {
  for (DataType t : {f16, bf16, f32, f64}) {
    INFO(t.str());
    Tensor a = placeholder("a", {9}, t), b = placeholder("b", {9}, t);
    std::vector<Tensor> all = {pairs("low", a, b, [](Expr x, Expr y) { return min(x, y); }),
                               pairs("high", a, b, [](Expr x, Expr y) { return max(x, y); }),
                               pairs("less", a, b, [](Expr x, Expr y) { return select(x < y, x, y); }),
                               pairs("not_ge", a, b, [](Expr x, Expr y) { return select(!(x >= y), x, y); })};
    for (DataType u : {i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64})
      all.push_back(pairs("to_" + u.str(), a, b, [u](Expr x, Expr) { return cast(u, x); }));
    Schedule s(program("p", {a, b}, all));
    for (const Tensor& u : all) s.vectorize(s.loops<1>(s.block(u))[0]);
    const double values[] = {0.0, -0.0, 1.5, -2.5, INFINITY, -INFINITY, NAN, 1e-7, 60000};
    std::vector<interp::Array> in = {interp::Array(t, {9}), interp::Array(t, {9})};
    for (int i = 0; i < 9; ++i) {
      in[0].set(i, values[i]);
      in[1].set(i, values[8 - i]);
    }
    CHECK_NOTHROW(outputs(s, in));
  }
}

TEST_CASE("gathers and strided lanes read no further than the last element, whatever its type") {
  for (DataType t : {i8, u16, f16, bf16, i32, f32, u64, f64, boolean}) {
    INFO(t.str());
    Tensor x = placeholder("x", {37}, t), at = placeholder("at", {41}, u8);
    const std::vector<Tensor> all = {
        compute("gathered", {41}, [&](Var i) { return x(cast(index_type, at(i))); }),
        compute("wrapped", {41}, [&](Var i) { return x(floormod(i * 7, 37)); }),
        compute("every_second", {18}, [&](Var i) { return x(i * 2 + 1); }),
        compute("backwards", {13}, [&](Var i) { return x(36 - i * 3); })};
    Schedule s(program("p", {x, at}, all));
    for (const Tensor& u : all) s.vectorize(s.loops<1>(s.block(u))[0]);
    std::vector<interp::Array> in = {interp::Array(t, {37}), interp::Array(u8, {41})};
    for (int i = 0; i < 37; ++i) in[0].set(i, i % 2);
    for (int i = 0; i < 41; ++i) in[1].set(i, 36 - i % 5);
    CHECK_NOTHROW(outputs(s, in));
  }
}

TEST_CASE("every primitive takes a product of which some extent is 0, or refuses") {
  using Extents = std::array<std::int64_t, 3>;
  for (const auto& [m, n, k] :
       {Extents{0, 4, 3}, Extents{4, 0, 3}, Extents{4, 5, 0}, Extents{0, 0, 0}, Extents{1, 1, 1}}) {
    for (int way = 0; way < 12; ++way) {
      INFO(m << " x " << n << " x " << k << ", way " << way);
      Tensor a = placeholder("a", {m, k}, f32), b = placeholder("b", {k, n}, f32, Constant);
      Axis r = reduce_axis(k, "r");
      Tensor p = compute("p", {m, k}, [&](Var i, Var j) { return a(i, j) + 1.f; });
      Tensor c = compute("c", {m, n}, [&](Var i, Var j) { return sum(p(i, r) * b(r, j), {r}); });
      Tensor d = compute("d", {m, n}, [&](Var i, Var j) { return c(i, j) * 2.f; });
      Schedule s(program("p", {a, b}, {d}));
      const BlockRef P = s.block(p), C = s.block(c), D = s.block(d);
      const auto l = s.loops<3>(C);
      switch (way) {
        case 0: where_legal(s, [&](Schedule& t) { t.pad_einsum(C, {4, 8, 2}); }); break;
        case 1: where_legal(s, [&](Schedule& t) { t.vectorize(t.loops(t.rfactor(C, l[2], 1))[1]); }); break;
        case 2: where_legal(s, [&](Schedule& t) { t.rfactor(C, t.split(l[2], {_, 4})[1], 0); }); break;
        case 3: where_legal(s, [&](Schedule& t) { t.decompose_reduction(C, l[0]); }); break;
        case 4: where_legal(s, [&](Schedule& t) { t.cache_write(C, Scope::Local, l[0]); }); break;
        case 5: where_legal(s, [&](Schedule& t) { t.blockize(l[2]); }); break;
        case 6: where_legal(s, [&](Schedule& t) { t.prefetch(C, b, l[0], 2); }); break;
        case 7: where_legal(s, [&](Schedule& t) { t.reverse_compute_inline(D); }); break;
        case 8:
          where_legal(s, [&](Schedule& t) { t.compute_at(t.cache_read(C, b, Scope::Local), l[1]); });
          break;
        case 9: where_legal(s, [&](Schedule& t) { t.parallel(t.fuse(l[0], l[1])); }); break;
        case 10: where_legal(s, [&](Schedule& t) { t.split(t.loops(P)[0], {_, 8}, Tail::Pad); }); break;
        default:
          where_legal(s, [&](Schedule& t) {
            t.transform_layout(C, b, [](const std::vector<Var>& v) {
              return std::vector<Expr>{floordiv(v[1], 4), v[0], floormod(v[1], 4)};
            });
          });
      }
      where_legal(s, [&](Schedule& t) { t.compute_at(P, t.loops(C)[0]); });
      where_legal(s, [&](Schedule& t) { t.vectorize(t.split(t.loops(D)[1], {_, 8}, Tail::Peel)[1]); });
      CHECK(fault(s) == "");
    }
  }
}

TEST_CASE("a tuple's block and a reduction over tuples are staged, split in parts and vectorised") {
  for (std::int64_t n : {0, 1, 13}) {
    for (int way = 0; way < 4; ++way) {
      INFO(n << ", way " << way);
      Tensor x = placeholder("x", {n, 7}, i32);
      auto [a, b] = compute("ab", {n, 7}, [&](Var i, Var j) {
        return std::pair{x(i, j) + 1, x(i, 6 - j) * 2};
      });
      Axis r = reduce_axis(7, "r");
      Reducer two = reducer("two", {i32, i32},
                            [](const Values& p, const Values& q) {
                              return Values{p[0] + q[0], max(p[1], q[1])};
                            },
                            {0, INT32_MIN}, {true, true});
      auto [c, d] = compute("cd", {n}, [&, a = a, b = b](Var i) {
        return reduce(two, {a(i, r), b(i, r)}, {r});
      });
      Schedule s(program("p", {x}, {c, d}));
      const BlockRef A = s.block(a), C = s.block(c);
      const auto l = s.loops<2>(C);
      if (way == 0) s.compute_at(A, l[0]);
      if (way == 1) s.compute_at(A, s.loops(s.rfactor(C, s.split(l[1], {_, 3})[1], 0))[0]);
      if (way == 2) {
        auto [o, i] = s.split(l[0], {_, 4});
        s.reorder({o, l[1], i});
        s.vectorize(i);
      }
      if (way == 3) {
        s.cache_read(C, a, Scope::Local);
        s.cache_read(C, b, Scope::Local);
        s.decompose_reduction(C, l[0]);
      }
      CHECK(fault(s) == "");
    }
  }
}

TEST_CASE("a running sum, written as a sum of what is not after, at its consumer's tile and in lanes") {
  for (std::int64_t n : {0, 1, 9, 16}) {
    INFO(n);
    Tensor x = placeholder("x", {n}, i64);
    Axis r = reduce_axis(n, "r");
    Tensor y = compute("y", {n}, [&](Var i) { return sum(x(r), {r}, where(r <= i)); });
    Tensor z = compute("z", {n}, [&](Var i) { return y(i) - select(i > 0, y(max(i - 1, 0)), 0); });
    Schedule s(program("p", {x}, {z}));
    const BlockRef Y = s.block(y);
    s.compute_at(Y, s.split(s.loops<1>(s.block(z))[0], {_, 4})[0]);
    const auto l = s.loops(Y);
    s.reorder({l[2], l[1]});
    s.vectorize(l[1]);
    CHECK(fault(s) == "");
  }
}
