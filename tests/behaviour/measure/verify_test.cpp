#include "tuner/measure/verify.h"

#include <cmath>

#include "lathe/runtime/fill.h"
#include "lathe/te.h"

using namespace lathe;
using tuner::Arguments;
using tuner::Data;

namespace {

constexpr std::int64_t N = 97;

struct Case {
  Program program;
  std::vector<double> memory;
  tuner::Reference reference;
  tuner::Inputs inputs;

  explicit Case(const Program& p)
      : program(p),
        memory(tuner::Reference::bytes(p) / 8 + 8),
        reference(p, memory.data()),
        inputs(p, Data::Random) {
    reference.compute(Target::host());
  }

  /// What the program itself, compiled for speed, gives.
  Arguments right() const {
    Arguments a = inputs.arguments();
    std::vector<runtime::Tensor*> pointers;
    for (runtime::Tensor& t : a.tensors) pointers.push_back(&t);
    compile(program, Target::host())(pointers);
    return a;
  }
  Measurement judge(Arguments& a) const {
    Measurement m;
    reference.accepts(m, a, Data::Random);
    return m;
  }
};

Program sum_of_products() {
  Tensor x = placeholder("x", {N, N}, f32), y = placeholder("y", {N}, f32);
  Axis r = reduce_axis(N, "r");
  return program("mv", {x, y}, {compute("z", {N}, [&](Var i) { return sum(x(i, r) * y(r), {r}); })});
}

using records::Failure;

}  // namespace

TEST_CASE("the program itself is right, within its own tolerance") {
  Case c(sum_of_products());
  Arguments a = c.right();
  const Measurement m = c.judge(a);
  CAPTURE(m.error_text);
  CHECK(m.failure == Failure::None);
  CHECK(m.max_error <= 1);
}

TEST_CASE("one element that is off by a thousandth is wrong") {
  Case c(sum_of_products());
  for (std::int64_t e : {std::int64_t{0}, N / 2, N - 1}) {
    Arguments a = c.right();
    a.tensors[2].set_value(e, a.tensors[2].value(e) + 1e-3);
    CHECK(c.judge(a).failure == Failure::WrongResult);
  }
}

TEST_CASE("one element that was not written is missed, even where the others are right") {
  Case c(sum_of_products());
  Arguments a = c.right();
  runtime::Tensor untouched(f32, {1});
  runtime::fill_poison(untouched);
  a.tensors[2].as<float>()[N - 1] = untouched.as<float>()[0];
  const Measurement m = c.judge(a);
  CHECK(m.failure == Failure::IncompleteOutput);
  CHECK(m.error_text == "\"z\": 1 of 97 elements were not written, the first is element 96");
}

TEST_CASE("an infinity where a number belongs is wrong") {
  Case c(sum_of_products());
  Arguments a = c.right();
  a.tensors[2].set_value(3, INFINITY);
  CHECK(c.judge(a).failure == Failure::WrongResult);
}

TEST_CASE("a byte in a guard zone of any tensor is out of bounds") {
  Case c(sum_of_products());
  for (std::size_t t : {0u, 2u}) {
    for (std::ptrdiff_t at :
         {std::ptrdiff_t{-1}, static_cast<std::ptrdiff_t>(c.right().tensors[t].bytes())}) {
      // An input's guard is shared by all: a copy of the case for each.
      Case own(sum_of_products());
      Arguments a = own.right();
      static_cast<char*>(a.tensors[t].data())[at] = 1;
      CHECK(own.judge(a).failure == Failure::OutOfBounds);
    }
  }
}

TEST_CASE("integers must come out exactly") {
  Tensor x = placeholder("x", {N}, i32);
  Case c(program("p", {x}, {compute("y", {N}, [&](Var i) { return x(i) * 3; })}));
  Arguments a = c.right();
  CHECK(c.judge(a).failure == Failure::None);
  a.tensors[1].set_value(5, a.tensors[1].value(5) + 1);
  CHECK(c.judge(a).failure == Failure::WrongResult);
}

TEST_CASE("an integer output that was not written is told from a wrong one") {
  Tensor x = placeholder("x", {N}, i32);
  Case c(program("p", {x}, {compute("y", {N}, [&](Var i) { return x(i) * 3; })}));
  Arguments a = c.inputs.arguments();
  CHECK(c.judge(a).failure == Failure::IncompleteOutput);
}

TEST_CASE("results that cancel out are judged by what they came from") {
  // x - mean(x): near zero here and there, with the rounding error of the mean.
  Tensor x = placeholder("x", {N}, f32);
  Axis r = reduce_axis(N, "r");
  Tensor mean = compute("mean", {1}, [&](Var) { return sum(x(r), {r}); });
  Case c(program("p", {x}, {compute("y", {N}, [&](Var i) { return x(i) - mean(0) * (1.f / N); })}));
  Arguments a = c.right();
  const Measurement m = c.judge(a);
  CAPTURE(m.error_text);
  CHECK(m.failure == Failure::None);
}

TEST_CASE("differences of products of differences are judged by what they came from") {
  const std::int64_t n = 150;
  Tensor x = placeholder("x", {n + 4, n + 2}, f32);
  Tensor dx = compute("dx", {n + 2, n}, [&](Var i, Var j) { return x(i, j + 2) - x(i, j); });
  Tensor dy = compute("dy", {n + 2, n}, [&](Var i, Var j) { return x(i + 2, j) - x(i, j); });
  const auto window = [&](const char* name, const Tensor& a, const Tensor& b) {
    Axis r = reduce_axis(3, "r");
    return compute(name, {n, n}, [&](Var i, Var j) { return sum(a(i + r, j) * b(i + r, j), {r}); });
  };
  Tensor xx = window("xx", dx, dx), yy = window("yy", dy, dy), xy = window("xy", dx, dy);
  Tensor det =
      compute("det", {n, n}, [&](Var i, Var j) { return xx(i, j) * yy(i, j) - xy(i, j) * xy(i, j) * 1.03f; });
  Case c(program("corners", {x}, {det}));
  Arguments a = c.right();
  const Measurement m = c.judge(a);
  CAPTURE(m.error_text);
  CHECK(m.failure == Failure::None);
  CHECK_FALSE(c.reference.exact());  // 1.03 times an integer is rounded
  // The tolerance is still one of rounding.
  runtime::Tensor& y = a.tensors[1];
  y.set_value(77, y.value(77) + 0.01);
  CHECK(c.judge(a).failure == Failure::WrongResult);
}
