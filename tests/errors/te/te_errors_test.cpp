#include "lathe/lathe.h"
#include "support/error_text.h"

using namespace lathe;
using lathe::test::error_text;

namespace {

Tensor square(const char* name = "x") { return placeholder(name, {4, 4}, f32); }
Tensor copy_of(const Tensor& x, const char* name = "y") {
  return compute(name, x.shape(), [&](const std::vector<Var>& i) { return x(i); });
}

}  // namespace

TEST_CASE("an error names the caller's line") {
  Tensor x = square();
  Var i("i");
  std::string text;
  const int line = __LINE__ + 2;
  try {
    x(i);
  } catch (const UserError& e) {
    text = e.what();
  }
  CHECK(text.find("te_errors_test.cpp:" + std::to_string(line)) != std::string::npos);
}

TEST_CASE("an operator's error names the caller's line") {
  Expr a = Var("a", f32), b = Var("b", f64);
  std::string text;
  const int line = __LINE__ + 2;
  try {
    a* b;
  } catch (const UserError& e) {
    text = e.what();
  }
  CHECK(text.find("te_errors_test.cpp:" + std::to_string(line)) != std::string::npos);
}

TEST_CASE("a tensor with the wrong number of indices") {
  Tensor x = square();
  CHECK(error_text([&] { x(1); }) == "x has 2 dimensions, not 1\n  at te_errors_test.cpp:LINE  [LTH-D004]");
  CHECK(error_text([&] {
          x({1, 2, 3});
        }) == "x has 2 dimensions, not 3\n  at te_errors_test.cpp:LINE  [LTH-D004]");
}

TEST_CASE("a subscript that is no integer") {
  CHECK(error_text([&] { square()(1.5f, 0); }) ==
        "a subscript of x has type f32; cast it to index_type\n  at te_errors_test.cpp:LINE  [LTH-D002]");
}

TEST_CASE("an empty tensor is indexed") {
  CHECK(error_text([&] { Tensor()(1); }) ==
        "an empty Tensor is indexed\n  at te_errors_test.cpp:LINE  [LTH-D012]");
}

TEST_CASE("extents that are none") {
  CHECK(error_text([&] { placeholder("x", {-1}, f32); }) ==
        "placeholder \"x\": the extent -1 is negative\n  at te_errors_test.cpp:LINE  [LTH-D005]");
  CHECK(error_text([&] { placeholder("x", {1.5f}, f32); }) ==
        "placeholder \"x\": an extent has type f32, not index\n  at te_errors_test.cpp:LINE  [LTH-D005]");
  CHECK(error_text([&] { placeholder("x", {Expr()}, f32); }) ==
        "placeholder \"x\": an extent is an empty Expr\n  at te_errors_test.cpp:LINE  [LTH-D005]");
  CHECK(error_text([&] { placeholder("x", {Var("n") + 1}, f32); }) ==
        "placeholder \"x\": the extent n + 1 depends on n; extents are made of integers and size(\"…\") "
        "variables\n"
        "  at te_errors_test.cpp:LINE  [LTH-D005]");
  CHECK(error_text([&] {
          placeholder("x", {std::int64_t(1) << 31, std::int64_t(1) << 30}, f32);
        }) ==
        "placeholder \"x\": the tensor has 2^63 bytes or more\n  at te_errors_test.cpp:LINE  [LTH-D005]");
  CHECK(error_text([&] { reduce_axis(3 - Expr(4), "r"); }) ==
        "reduce axis \"r\": the extent -1 is negative\n  at te_errors_test.cpp:LINE  [LTH-D005]");
}

TEST_CASE("elements of a type that tensors do not have") {
  CHECK(
      error_text([&] { placeholder("x", {4}, index_type); }) ==
      "placeholder \"x\": the elements would have type index, which is for subscripts; cast to a data type, "
      "for example cast(i64, …)\n  at te_errors_test.cpp:LINE  [LTH-D010]");
  CHECK(error_text([&] { compute("y", {4}, [](Var i) { return i; }); }) ==
        "compute \"y\": the elements would have type index, which is for subscripts; cast to a data type, "
        "for example cast(i64, …)\n  at te_errors_test.cpp:LINE  [LTH-D010]");
  CHECK(error_text([&] { placeholder("x", {4}, f32.with_lanes(4)); }) ==
        "placeholder \"x\": the elements would be vectors (f32x4); vectors are made by schedules\n"
        "  at te_errors_test.cpp:LINE  [LTH-D010]");
}

TEST_CASE("a lambda with the wrong number of variables") {
  CHECK(error_text([&] {
          compute("y", {4, 4}, [](Var) { return 0.f; });
        }) ==
        "compute \"y\" has 2 dimensions, but its lambda takes 1 variables\n"
        "  at te_errors_test.cpp:LINE  [LTH-D004]");
  CHECK(
      error_text([&] { compute("y", std::vector<Expr>(9, 2), [](Var, Var) { return 0.f; }); }) ==
      "compute \"y\" has 9 dimensions, but its lambda takes 2 variables; beyond 8 dimensions take one const "
      "std::vector<Var>&\n  at te_errors_test.cpp:LINE  [LTH-D004]");
  CHECK(error_text([&] {
          compute("y", {4}, [](Var) { return 0.f; }, {"i", "j"});
        }) == "compute \"y\" has 1 dimension, but 2 loop names\n  at te_errors_test.cpp:LINE  [LTH-D004]");
}

TEST_CASE("an axis outside a reduction") {
  Tensor x = square();
  Axis r = reduce_axis(4, "r"), s = reduce_axis(4, "s");
  CHECK(error_text([&] { compute("y", {4}, [&](Var i) { return x(i, r); }); }) ==
        "compute \"y\": axis \"r\" is used outside a reduction; use one of the lambda's variables, or reduce "
        "over "
        "it\n  at te_errors_test.cpp:LINE  [LTH-D006]");
  CHECK(error_text([&] { compute("y", {4}, [&](Var) { return sum(x(s, r), {r}); }); }) ==
        "compute \"y\": axis \"s\" is not among the axes of the reduction (r); list it there\n"
        "  at te_errors_test.cpp:LINE  [LTH-D006]");
  CHECK(error_text([&] { compute("y", {4}, [&](Var i) { return sum(x(i, r), {r}, initial(x(i, r))); }); }) ==
        "compute \"y\": axis \"r\" is used outside a reduction; use one of the lambda's variables, or reduce "
        "over "
        "it\n  at te_errors_test.cpp:LINE  [LTH-D006]");
}

TEST_CASE("a variable of another compute, or of nobody") {
  Tensor x = square();
  Var stolen;
  compute("a", {4}, [&](Var i) {
    stolen = i;
    return x(i, 0);
  });
  CHECK(error_text([&] { compute("y", {4}, [&](Var i) { return x(i, stolen); }); }) ==
        "compute \"y\": the variable \"i\" belongs to another compute; use this lambda's variables\n"
        "  at te_errors_test.cpp:LINE  [LTH-D006]");
  CHECK(error_text([&] { compute("y", {4}, [&](Var i) { return x(i, Var("q")); }); }) ==
        "compute \"y\": the variable \"q\" is not one of the lambda's; a run-time extent is made by "
        "size(\"q\")\n"
        "  at te_errors_test.cpp:LINE  [LTH-D006]");
}

TEST_CASE("a subscript that leaves the tensor") {
  Tensor x = square();
  Axis r = reduce_axis(5, "r"), none = reduce_axis(0, "none");
  CHECK(
      error_text([&] { compute("y", {4}, [&](Var i) { return x(i + 1, 0); }); }) ==
      "compute \"y\": subscript i + 1 of \"x\" goes from 1 to 4, and dimension 0 has 4 elements; correct the "
      "extents, or guard the read with if_inside or select\n"
      "  at te_errors_test.cpp:LINE  [LTH-D015]");
  CHECK(error_text([&] { compute("y", {4}, [&](Var i) { return sum(x(i, r), {r}); }); }) ==
        "compute \"y\": subscript r of \"x\" goes from 0 to 4, and dimension 1 has 4 elements; correct the "
        "extents, or guard the read with if_inside or select\n"
        "  at te_errors_test.cpp:LINE  [LTH-D015]");
  CHECK(error_text([&] { compute("y", {4}, [&](Var i) { return x(i, 4); }); }) ==
        "compute \"y\": subscript 4 of \"x\" is 4, and dimension 1 has 4 elements; correct the extents, or "
        "guard "
        "the read with if_inside or select\n"
        "  at te_errors_test.cpp:LINE  [LTH-D015]");
  CHECK_NOTHROW(compute("y", {4}, [&](Var i) { return x(3 - i, i); }));
  CHECK_NOTHROW(compute("y", {4}, [&](Var i) { return select(i < 3, x(i + 1, i), 0.f); }));
  CHECK_NOTHROW(compute("y", {5}, [&](Var i) { return sum(x(i, none), {none}); }));
}

TEST_CASE("axes listed twice, or none") {
  Tensor x = square();
  Axis r = reduce_axis(4, "r");
  CHECK(error_text([&] {
          sum(x(r, r), {r, r});
        }) == "sum: axis \"r\" is listed twice\n  at te_errors_test.cpp:LINE  [LTH-D007]");
  CHECK(error_text([&] { sum(x(0, 0), std::vector<Axis>()); }) ==
        "sum has no axes; list those it goes over: sum(…, {r})\n  at te_errors_test.cpp:LINE  [LTH-D007]");
  CHECK(error_text([&] { argmax(x(0, 0), {Axis()}); }) ==
        "argmax: an axis is empty\n  at te_errors_test.cpp:LINE  [LTH-D012]");
}

TEST_CASE("reductions of a type that has none") {
  Axis r = reduce_axis(4, "r");
  CHECK(error_text([&] { sum(r, {r}); }) ==
        "sum: the elements would have type index, which is for subscripts; cast to a data type, for example "
        "cast(i64, …)\n  at te_errors_test.cpp:LINE  [LTH-D010]");
  CHECK(error_text([&] { sum(r < 2, {r}); }) ==
        "sum is not defined for bool; cast to the type that it counts in, for example cast(i32, …)\n  at "
        "te_errors_test.cpp:LINE  [LTH-D002]");
  CHECK(error_text([&] { argmin(r < 2, {r}); }) ==
        "argmin is not defined for bool; cast to u8\n  at te_errors_test.cpp:LINE  [LTH-D002]");
  CHECK(error_text([&] { max(r < 2, {r}); }) ==
        "max is not defined for bool; cast to u8, or reduce with a reducer that combines by || or &&\n"
        "  at te_errors_test.cpp:LINE  [LTH-D002]");
}

TEST_CASE("literals beyond the largest value of a narrow float") {
  Tensor h = placeholder("h", {4}, f16), x = placeholder("x", {4}, f32);
  Axis r = reduce_axis(4, "r");
  CHECK(error_text([&] { h(r) + 1e6; }) ==
        "the literal 1000000 does not fit f16\n  at te_errors_test.cpp:LINE  [LTH-D003]");
  CHECK(error_text([&] { h(r) * 65520; }) ==
        "the literal 65520 does not fit f16\n  at te_errors_test.cpp:LINE  [LTH-D003]");
  CHECK(error_text([&] { x(r) * 1e39; }) ==
        "the literal 1e+39 does not fit f32\n  at te_errors_test.cpp:LINE  [LTH-D003]");
  CHECK_NOTHROW(h(r) * 65519);  // rounds to the largest, 65504
  CHECK_NOTHROW(h(r) + INFINITY);
}

TEST_CASE("options of a reduction that do not fit") {
  Tensor x = square();
  Axis r = reduce_axis(4, "r");
  CHECK(error_text([&] { sum(x(r, 0), {r}, where(x(r, 0))); }) ==
        "sum: the condition has type f32, not bool\n  at te_errors_test.cpp:LINE  [LTH-D002]");
  CHECK(error_text([&] { argmax(x(r, 0), {r}, initial(0.f)); }) ==
        "argmax needs 2 initial values, not 1\n  at te_errors_test.cpp:LINE  [LTH-D004]");
  CHECK(error_text([&] { sum(x(r, 0), {r}, initial(cast(f64, x(0, 0)))); }) ==
        "sum: the initial value has type f64, not f32; convert it with cast(f32, …)\n"
        "  at te_errors_test.cpp:LINE  [LTH-D001]");
  CHECK(error_text([&] { sum(cast(i8, x(r, 0)), {r}, initial(300)); }) ==
        "the literal 300 does not fit i8\n  at te_errors_test.cpp:LINE  [LTH-D003]");
}

TEST_CASE("malformed reducers") {
  auto first = [](const Values& a, const Values&) { return Values{a[0]}; };
  CHECK(
      error_text([&] {
        reducer("r", {f32, f32}, first, {0.f, 0.f});
      }) ==
      "reducer \"r\": there are 2 types, but 1 results of combine\n  at te_errors_test.cpp:LINE  [LTH-D011]");
  CHECK(error_text([&] {
          reducer("r", {f32, f32}, first, {0.f});
        }) ==
        "reducer \"r\": there are 2 types, but 1 identity values\n  at te_errors_test.cpp:LINE  [LTH-D011]");
  CHECK(error_text([&] {
          reducer(
              "r", f32, [](Expr a, Expr b) { return cast(f64, a + b); }, 0.f);
        }) ==
        "reducer \"r\": result 0 has type f64, not f32; convert it with cast(f32, …)\n"
        "  at te_errors_test.cpp:LINE  [LTH-D001]");
  Tensor x = square();
  CHECK(error_text([&] {
          reducer(
              "r", f32, [&](Expr a, Expr b) { return a + b * x(0, 0); }, 0.f);
        }) ==
        "reducer \"r\": combine may use nothing but its arguments, the identity nothing but constants\n"
        "  at te_errors_test.cpp:LINE  [LTH-D011]");
  Axis r = reduce_axis(4, "r");
  CHECK(error_text([&] { reduce(Reducer(), {x(r, 0)}, {r}); }) ==
        "reduce: the reducer is empty\n  at te_errors_test.cpp:LINE  [LTH-D012]");
  Reducer good = reducer(
      "mix", f32, [](Expr a, Expr b) { return a + b; }, 0.f);
  CHECK(error_text([&] {
          reduce(good, {x(r, 0), x(r, 1)}, {r});
        }) == "mix reduces 1 values, not 2\n  at te_errors_test.cpp:LINE  [LTH-D004]");
}

TEST_CASE("if_inside and pad with operands that do not fit") {
  Tensor x = square();
  CHECK(error_text([&] {
          if_inside(x, {0, 0}, cast(f64, x(0, 0)));
        }) ==
        "if_inside: the value outside has type f64, not f32; convert it with cast(f32, …)\n"
        "  at te_errors_test.cpp:LINE  [LTH-D001]");
  CHECK(error_text([&] { pad(x, {1}, {1}, 0.f); }) ==
        "pad: \"x\" has 2 dimensions, but there are 1 amounts before and 1 after\n"
        "  at te_errors_test.cpp:LINE  [LTH-D004]");
  CHECK(error_text([&] {
          pad(x, {-1, 0}, {0, 0}, 0.f);
        }) == "pad: the amount before: the extent -1 is negative\n  at te_errors_test.cpp:LINE  [LTH-D005]");
}

TEST_CASE("a placeholder or size that the program does not list") {
  Tensor x = square();
  CHECK(error_text([&] { program("p", {}, {copy_of(x)}); }) ==
        "program \"p\": the placeholder \"x\" is used by \"y\" but is not a parameter; add it to the inputs\n"
        "  at te_errors_test.cpp:LINE  [LTH-D008]");
  Var n = size("n");
  Tensor z = placeholder("z", {n}, f32);
  CHECK(error_text([&] { program("p", {z}, {copy_of(z)}); }) ==
        "program \"p\": the size \"n\" is used by \"z\" but is not a parameter; add it to the inputs\n"
        "  at te_errors_test.cpp:LINE  [LTH-D008]");
  Axis r = reduce_axis(n, "r");
  Tensor total = compute("total", {}, [&] { return sum(x(0, 0), {r}); });
  CHECK(error_text([&] { program("p", {x}, {total}); }) ==
        "program \"p\": the size \"n\" is used by \"total\" but is not a parameter; add it to the inputs\n"
        "  at te_errors_test.cpp:LINE  [LTH-D008]");
  Buffer bare("bare", f32, {4});
  Tensor reads_bare = compute("c", {4}, [&](Var i) { return load(bare, {i}); });
  CHECK(error_text([&] { program("p", {}, {reads_bare}); }) ==
        "program \"p\": \"c\" reads \"bare\", which is a bare buffer, not a tensor\n"
        "  at te_errors_test.cpp:LINE  [LTH-D008]");
}

TEST_CASE("parameters that are none, or listed twice") {
  Tensor x = square(), y = copy_of(x);
  Var n = size("n"), other = size("n");
  auto fails = [&](std::vector<ProgramInput> in, std::vector<Tensor> out) {
    return error_text([&] { program("p", in, out); });
  };
  const std::string at = "\n  at te_errors_test.cpp:LINE  [LTH-D009]";
  CHECK(fails({x, x}, {y}) == "program \"p\": the input \"x\" is listed twice" + at);
  CHECK(fails({x, n, n}, {y}) == "program \"p\": the size \"n\" is listed twice" + at);
  CHECK(fails({x, n, other}, {y}) ==
        "program \"p\": two sizes are called \"n\"; give them different names" + at);
  CHECK(fails({x, Var("q")}, {y}) ==
        "program \"p\": the input \"q\" is a variable, but not made by size(…)" + at);
  CHECK(fails({x, y}, {y}) ==
        "program \"p\": the input \"y\" is computed; inputs are placeholders and sizes" + at);
  CHECK(fails({x}, {y, y}) == "program \"p\": the output \"y\" is listed twice" + at);
  CHECK(fails({x}, {x}) == "program \"p\": the output \"x\" is also an input; copy it with a compute" + at);
  CHECK(fails({}, {x}) == "program \"p\": the output \"x\" is a placeholder; copy it with a compute" + at);
  CHECK(fails({x}, {}) == "program \"p\" has no outputs" + at);
  CHECK(fails({Tensor(Buffer("b", f32, {}))}, {y}) ==
        "program \"p\": an input, \"b\", is a bare buffer; tensors are made by placeholder and compute" + at);
  CHECK(error_text([&] { program("p", {x}, {Tensor()}); }) ==
        "program \"p\": an output is an empty Tensor\n  at te_errors_test.cpp:LINE  [LTH-D012]");
  CHECK(error_text([&] { placeholder("x", {4}, f32, ParamRole::Output); }) ==
        "placeholder \"x\": its role is output; a placeholder is Input or Constant" + at);
}

template <class T>
concept Divisible = requires(T t) {
  t / 2.f;
};
template <class T>
concept Comparable = requires(T t) {
  t < 1.f;
};
template <class T>
concept Negatable = requires(T t) {
  -t;
};

TEST_CASE("a reduction inside an expression does not compile") {
  CHECK(Divisible<Expr>);
  CHECK(!Divisible<Reduction>);
  CHECK(!Comparable<Reduction>);
  CHECK(!Negatable<Reduction>);
  CHECK(!std::is_convertible_v<Reduction, Expr>);
}
