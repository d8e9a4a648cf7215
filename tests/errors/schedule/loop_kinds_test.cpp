// Texts of the refusals of loops that run inside one another in ways that have no meaning.
#include "behaviour/schedule/programs.h"
#include "support/error_text.h"

using namespace lathe;
using test::error_text;

TEST_CASE("threads do not run inside lanes") {
  test::MatMul t = test::matmul(4, 8, 2);
  Schedule s(t.program);
  const std::vector<LoopRef> loops = s.loops(s.block(t.c));
  s.vectorize(loops[0]);
  CHECK(error_text([&] { s.parallel(loops[1]); }) ==
        R"(parallel(loop "j"): it lies in loop "i", which is vectorized
  at loop_kinds_test.cpp:LINE
  for i    <-- outer
    for j    <-- here
      for k
        block "C" reads A, B writes C
  run a loop outside the vectors in parallel  [LTH-S018])");
}
