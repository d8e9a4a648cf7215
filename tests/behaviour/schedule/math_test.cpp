// math: what each mode lets compiled code do.
#include "behaviour/schedule/programs.h"
#include "lathe/compile.h"
#include "support/check_schedule.h"

using namespace lathe;
using test::disagreement;

namespace {

bool has(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

/// y = x / 3 + exp(x) over n elements.
struct Quotient {
  Tensor x, y;
  Program program;
};
Quotient quotient(std::int64_t n) {
  Quotient t;
  t.x = placeholder("x", {n}, f32);
  t.y = compute("y", {n}, [&](Var i) { return t.x(i) / 3.f + exp(t.x(i)); });
  t.program = program("quotient", {t.x}, {t.y});
  return t;
}

std::string ir_under(MathMode mode) {
  Quotient t = quotient(64);
  Schedule s(t.program);
  const BlockRef y = s.block(t.y);
  s.vectorize(s.loops(y)[0]);
  s.math(y, mode);
  return llvm_ir(s.program(), test::avx2());
}

}  // namespace

TEST_CASE("only Fast lets the compiler reassociate") {
  CHECK(!has(ir_under(MathMode::Exact), "reassoc"));
  CHECK(!has(ir_under(MathMode::Contract), "reassoc"));
  CHECK(has(ir_under(MathMode::Fast), "reassoc"));
}

TEST_CASE("Fast leaves NaN and infinity their meaning") {
  const std::string ir = ir_under(MathMode::Fast);
  CHECK(!has(ir, "nnan"));
  CHECK(!has(ir, "ninf"));
  CHECK(!has(ir, " fast "));
}

TEST_CASE("the mode of one block is not that of its neighbour") {
  test::Chain t = test::chain(64);
  Schedule s(t.program);
  s.math(s.block(t.c), MathMode::Fast);
  const std::string ir = llvm_ir(s.program(), test::avx2());
  CHECK(has(ir, "fadd reassoc"));
  CHECK(!has(ir, "fmul reassoc"));
}

TEST_CASE("a fast block computes the same up to rounding") {
  for (std::int64_t n : {0, 1, 7, 8, 37}) {
    Quotient t = quotient(n);
    Schedule s(t.program);
    const BlockRef y = s.block(t.y);
    auto [o, i] = s.split(s.loops(y)[0], {_, 8});
    s.vectorize(i);
    s.math(y, MathMode::Fast);
    CHECK(disagreement(s, {}, 1e-6) == "");
  }
}

TEST_CASE("the reference build ignores Fast") {
  Quotient t = quotient(8);
  Schedule s(t.program);
  s.math(s.block(t.y), MathMode::Fast);
  CHECK(!has(llvm_ir(s.program(), test::avx2(), {.optimize = false, .on_pass = {}}), "reassoc"));
}
