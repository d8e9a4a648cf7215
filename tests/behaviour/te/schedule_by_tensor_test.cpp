// Schedules find blocks and buffers by the tensors of the language, also where names clashed.

#include "lathe/schedule.h"

using namespace lathe;

TEST_CASE("a schedule finds the block of a tensor whose name clashed") {
  Tensor x = placeholder("x", {4}, f32);
  Tensor first = compute("t", {4}, [&](Var i) { return x(i) + 1; });
  Tensor second = compute("t", {4}, [&](Var i) { return first(i) * 2; });
  Tensor third = compute("x", {4}, [&](Var i) { return second(i) * 3; });
  Schedule s(program("p", {x}, {third}));
  s.compute_inline(s.block(second));
  s.split(s.loops<1>(s.block(third))[0], {_, 2});
  s.cache_read(s.block(third), first, Scope::Local);
  CHECK(to_string(s.program()).find("x_1[") != std::string::npos);
  CHECK_THROWS_AS(s.block(Tensor()), ScheduleError);
  CHECK_THROWS_AS(s.cache_read(s.block(third), Tensor(), Scope::Local), ScheduleError);
}
