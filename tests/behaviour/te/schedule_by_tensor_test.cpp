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

TEST_CASE("a schedule finds the block of a tensor that is stored otherwise by now") {
  Tensor x = placeholder("x", {6, 8}, f32);
  Tensor y = compute("y", {6, 8}, [&](Var i, Var j) { return x(i, j) + 1.f; });
  Tensor z = compute("z", {6, 8}, [&](Var i, Var j) { return y(i, j) * 2.f; });
  Schedule s(program("p", {x}, {z}));
  const BlockRef block = s.block(y), last = s.block(z);
  s.transform_layout(block, y, [](const std::vector<Var>& i) { return std::vector<Expr>{i[1], i[0]}; });
  CHECK(s.block(y) == block);
  s.set_scope(block, Scope::Local);
  CHECK(s.block(y) == block);
  s.split(s.loops<2>(block)[0], {_, 4}, Tail::Pad);
  CHECK(s.block(y) == block);
  s.assume_aligned("z", 64);
  CHECK(s.block(z) == last);
  Schedule fork = s.fork();
  CHECK(fork.block(y) == block);
  CHECK(fork.get(fork.cache_read(last, y, Scope::Local))
            .reads[0]
            .buffer.same_as(fork.get(block).writes[0].buffer));
  Schedule again(s.original());
  again.replay(s.trace());
  CHECK(again.name(again.block(y)) == "y");
}

TEST_CASE("asking for the name of a stale handle names the line that asked") {
  Tensor x = placeholder("x", {8}, f32);
  Tensor y = compute("y", {8}, [&](Var i) { return x(i) + 1.f; });
  Schedule s(program("p", {x}, {y}));
  const LoopRef i = s.loops<1>(s.block(y))[0];
  s.split(i, {_, 4});
  for (const std::function<void()>& ask : std::vector<std::function<void()>>{
           [&] { s.name(i); }, [&] { s.name(BlockRef()); }, [&] { s.value(Factor()); }}) {
    try {
      ask();
      FAIL("no error");
    } catch (const ScheduleError& error) {
      CHECK(std::string(error.what()).find("schedule_by_tensor_test.cpp") != std::string::npos);
    }
  }
}
