#pragma once
// Who touched an element, and what orders two touches.
//
// A kernel is an outermost parallel or thread-bound loop, a block one of its iterations (or a block of threads).
// Touches of different kernels are ordered, those of different blocks of one kernel never. Within a block, threads
// are ordered by barriers: those of all threads begin a new epoch, those of a warp a new warp epoch. The lanes of
// a vectorised loop are ordered by nothing.
//
// Per element the last write and two reads are kept. Two reads are enough (FastTrack, Flanagan and Freund 2009,
// keeps a vector clock for this): a later writer that is not ordered after some read is not ordered after one of the
// two, see `note_read`.

#include <cstdint>

namespace lathe::interp {

struct Toucher {
  std::uint32_t kernel = 0, block = 0, thread = 0, epoch = 0, warp_epoch = 0;
  std::uint32_t vector = 0, lane = 0;  ///< execution of a vectorised loop (0: none), iteration of it
};

struct Touched {
  Toucher write, read, other_read;
};

/// Is what `by` did ordered before what `now` does?
inline bool ordered(const Toucher& by, const Toucher& now) {
  if (by.vector != 0 && by.vector == now.vector) return by.lane == now.lane;
  if (by.kernel != now.kernel) return true;
  if (by.block != now.block) return false;
  if (by.thread == now.thread || by.epoch != now.epoch) return true;
  constexpr std::uint32_t kWarp = 32;
  return by.thread / kWarp == now.thread / kWarp && by.warp_epoch != now.warp_epoch;
}

/// Remembers a read. What is forgotten is a read that is ordered before this one in its own block (whoever is
/// ordered after this one is ordered after it too), or a third one: when the two that stay are of different threads
/// of an epoch or of different blocks, no writer is ordered after both.
inline void note_read(Touched& t, const Toucher& self) {
  auto apart = [](const Toucher& a, const Toucher& b) { return a.block != b.block || a.thread != b.thread; };
  if (t.read.kernel != self.kernel) {
    t.read = t.other_read = self;
    return;
  }
  const bool other_blocks = t.other_read.kernel == self.kernel && t.other_read.block != t.read.block;
  const bool stays = other_blocks ? t.other_read.block != self.block
                                  : !ordered(t.other_read, self) && apart(t.other_read, self);
  if (!stays) t.other_read = ordered(t.read, self) ? self : t.read;
  t.read = self;
}

}  // namespace lathe::interp
