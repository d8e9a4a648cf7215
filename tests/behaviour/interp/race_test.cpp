// What the race check remembers of an element is enough.

#include "interp/race.h"

#include <random>

namespace lathe::interp {
namespace {

TEST_CASE("two remembered reads find every writer that some read is not ordered before", "[interp]") {
  std::mt19937 random(11);
  auto pick = [&](int n) { return static_cast<std::uint32_t>(random() % n); };
  int raced = 0, ordered_ones = 0;
  for (int round = 0; round < 20000; ++round) {
    // Reads of one kernel in an order that an execution could have: epochs of a block never go back, and a
    // thread runs on after its own accesses.
    std::vector<Toucher> reads;
    Touched t;
    std::array<std::uint32_t, 3> epoch{};
    std::array<std::uint32_t, 3> warp_epoch{};
    auto next = [&] {
      Toucher now;
      now.kernel = 1;
      now.block = pick(3);
      if (pick(4) == 0) ++epoch[now.block], warp_epoch[now.block] = 0;
      if (pick(4) == 0) ++warp_epoch[now.block];
      now.thread = pick(3) * 16;  // 0 and 16 are of one warp
      now.epoch = epoch[now.block];
      now.warp_epoch = warp_epoch[now.block];
      return now;
    };
    const int count = 1 + static_cast<int>(pick(6));
    for (int k = 0; k < count; ++k) {
      reads.push_back(next());
      note_read(t, reads.back());
    }
    const Toucher writer = next();
    bool races = false;
    for (const Toucher& read : reads) races = races || !ordered(read, writer);
    CAPTURE(round);
    REQUIRE((!ordered(t.read, writer) || !ordered(t.other_read, writer)) == races);
    races ? ++raced : ++ordered_ones;
  }
  REQUIRE(raced > 1000);
  REQUIRE(ordered_ones > 500);
}

TEST_CASE("reads of an earlier kernel are forgotten", "[interp]") {
  Touched t;
  Toucher first, second;
  first.kernel = 1, first.thread = 5;
  second.kernel = 2, second.thread = 6;
  note_read(t, first);
  note_read(t, second);
  Toucher writer = second;
  REQUIRE(ordered(t.read, writer));
  REQUIRE(ordered(t.other_read, writer));
}

}  // namespace
}  // namespace lathe::interp
