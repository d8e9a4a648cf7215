// Expressions too deep or too large to walk, and chains of nodes too long to delete by recursion.

#include "lathe/lathe.h"
#include "support/error_text.h"

using namespace lathe;

namespace {

Expr chain(const Expr& x, int operations) {
  Expr e = x;
  for (int k = 0; k < operations; ++k) e = e + x;
  return e;
}

}  // namespace

TEST_CASE("a sum written out a hundred thousand times is refused where it is written") {
  Tensor x = placeholder("x", {4}, f32);
  const std::string why =
      test::error_text([&] { compute("y", {4}, [&](Var i) { return chain(x(i), 100'000); }); });
  CHECK(why.find("LTH-D013") != std::string::npos);
  CHECK(why.find("depth_test.cpp") != std::string::npos);
}

TEST_CASE("the depth of an expression is its longest chain of operations") {
  Tensor x = placeholder("x", {4}, f32);
  Var i("i");
  const Expr leaf = x(i);
  CHECK(leaf.get()->depth == 1);  // a load, of a variable
  CHECK(chain(leaf, 7).get()->depth == 8);
  CHECK((leaf * chain(leaf, 3)).get()->depth == 5);
  CHECK(select(leaf < 1.f, leaf, exp(-leaf)).get()->depth == 4);
  Expr wide = leaf;
  for (int k = 0; k < 7; ++k) wide = wide + wide;
  CHECK(wide.get()->depth == 8);
}

TEST_CASE("the deepest expression that a compute takes is scheduled, lowered and compiled") {
  for (DataType t : {f32, f16, i32}) {
    INFO(t.str());
    Tensor x = placeholder("x", {5}, t);
    Tensor y = compute("y", {5}, [&](Var i) { return chain(x(i), kMaxExprDepth - 1); });
    Tensor z = compute("z", {5}, [&](Var i) { return y(i) + x(i); });
    Schedule s(program("p", {x}, {y, z}));
    s.vectorize(s.loops<1>(s.block(y))[0]);
    CHECK(to_string(s.program()).size() > 4000);
    const Program again = program_from_json(to_json(s.original()));
    CHECK(structural_hash(again) == structural_hash(s.original()));
    compile(s, Target::host());
    const interp::Outcome run = interp::run(s.program(), {interp::Array::full(t, {5}, 1)});
    CHECK(run["y"].get(4) == kMaxExprDepth);
  }
  Tensor x = placeholder("x", {5}, f32);
  CHECK(test::error_text([&] {
          compute("y", {5}, [&](Var i) { return chain(x(i), kMaxExprDepth); });
        }).find("LTH-D013") != std::string::npos);
}

TEST_CASE("inlining does not make an expression deeper than a compute takes") {
  Tensor x = placeholder("x", {5}, f32);
  Tensor y = compute("y", {5}, [&](Var i) { return chain(x(i), 400); });
  Tensor z = compute("z", {5}, [&](Var i) { return chain(y(i), 400); });
  Schedule s(program("p", {x}, {z}));
  const std::optional<ScheduleError> error = s.why_not([&](Schedule& t) { t.compute_inline(t.block(y)); });
  REQUIRE(error);
  CHECK(std::string(error->what()).find("compute_at") != std::string::npos);
  const std::optional<ScheduleError> back =
      s.why_not([&](Schedule& t) { t.reverse_compute_inline(t.block(z)); });
  REQUIRE(back);
}

TEST_CASE("a chain of a hundred thousand computes is made and dropped") {
  Tensor x = placeholder("x", {1}, i32);
  Tensor t = x;
  for (int k = 0; k < 100'000; ++k) t = compute("t", {1}, [&](Var i) { return t(i) + 1; });
  t = x;
  SUCCEED();
}

TEST_CASE("an expression refused at the limit of operators is dropped without recursion") {
  Var i("i");
  Expr e = i;
  const std::string why = test::error_text([&] {
    for (int k = 0; k < 100'000; ++k) e = e * 2 + i;
  });
  CHECK(why.find("LTH-D013") != std::string::npos);
  e = Expr();
  // Nodes made without the operators' checks can be deeper still.
  Expr raw = i;
  for (int k = 0; k < 1'000'000; ++k) raw = Expr(new Binary(BinaryOp::Add, raw, i));
  CHECK(raw.get()->depth == UINT16_MAX);
}

// Nodes are shared: a value that is used twice, forty times over, is few nodes and a tree of 2^40.
namespace {

Expr squared(Expr e, int times) {
  for (int k = 0; k < times; ++k) e = e * e;
  return e;
}

}  // namespace

TEST_CASE("a value multiplied by itself forty times over is refused where it is written") {
  Tensor x = placeholder("x", {4}, f32);
  for (int times : {15, 16, 21, 40, 100}) {
    INFO(times);
    const std::string why =
        test::error_text([&] { compute("y", {4}, [&](Var i) { return squared(x(i), times); }); });
    CHECK(why.find("LTH-D014") != std::string::npos);
    CHECK(why.find("depth_test.cpp") != std::string::npos);
    CHECK(why.find("computes of their own") != std::string::npos);
  }
  CHECK(test::error_text([&] {
          reducer("r", {f32},
                  [](const Values& a, const Values& b) { return Values{squared(a[0] + b[0], 20)}; }, {0.f});
        }).find("LTH-D014") != std::string::npos);
}

TEST_CASE("the largest expression that a compute takes is scheduled, lowered, compiled and stored") {
  Tensor x = placeholder("x", {5}, i32);
  Tensor y = compute("y", {5}, [&](Var i) { return squared(x(i), 14); });
  Schedule s(program("p", {x}, {y}));
  s.vectorize(s.split(s.loops<1>(s.block(y))[0], {_, 2})[1]);
  const Program again = program_from_json(to_json(s.original()));
  CHECK(structural_hash(again) == structural_hash(s.original()));
  CHECK(structural_equal(again, s.original()));
  compile(s, Target::host());
  CHECK(interp::run(s.program(), {interp::Array::full(i32, {5}, -1)})["y"].get(4) == 1);
}

TEST_CASE("inlining does not make an expression larger than a compute takes") {
  Tensor x = placeholder("x", {5}, f32);
  std::vector<Tensor> stages{x};
  for (int k = 0; k < 40; ++k) {
    stages.push_back(
        compute("y" + std::to_string(k), {5}, [&](Var i) { return stages.back()(i) * stages.back()(i); }));
  }
  Schedule s(program("p", {x}, {stages.back()}));
  int inlined = 0;
  std::string why;
  for (int k = 1; k < 40; ++k) {
    auto change = [&](Schedule& t) { t.compute_inline(t.block(stages[k])); };
    if (const std::optional<ScheduleError> error = s.why_not(change)) {
      why = error->what();
    } else {
      change(s);
      ++inlined;
    }
  }
  CHECK(inlined > 30);  // one stage in sixteen stays
  CHECK(why.find("LTH-S076") != std::string::npos);
  CHECK(why.find("compute_at") != std::string::npos);
  CHECK(interp::run(s.program(), {interp::Array::full(f32, {5}, -1)})["y39"].get(4) == 1);
  compile(s, Target::host());
}
