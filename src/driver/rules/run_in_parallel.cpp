// The outer loops of each nest run on all threads, fused until there is enough for each.

#include <algorithm>

#include "driver/rules/rule.h"

namespace lathe::rules {
namespace {

constexpr double kWorthLaunching = 32768;      ///< iterations; a launch costs about a microsecond
constexpr std::int64_t kTasksPerCore = 4;      ///< so that threads which start late do not hold up the others
constexpr std::int64_t kEvenTasksPerCore = 3;  ///< where all threads get the same number
constexpr std::size_t kLoopsLookedAt = 3;

/// More tasks, by another loop fused, would only hide from lowering which iterations of that loop need their guards.
bool are_enough(std::int64_t tasks, std::int64_t cores) {
  return tasks >= kTasksPerCore * cores || (tasks >= kEvenTasksPerCore * cores && tasks % cores == 0);
}

bool applies(Schedule& s, BlockRef b, const Context& c) {
  if (!c.parallel() || iterations(s, b) < kWorthLaunching) return false;
  return !has_loop_of_kind(s, b, ForKind::Parallel);
}

void apply(Schedule& s, BlockRef b, const Context& c) {
  const std::vector<LoopRef> loops = s.loops(b);
  for (std::size_t first = 0; first < loops.size() && first < kLoopsLookedAt; ++first) {
    if (s.get(loops[first]).for_kind != ForKind::Serial) return;
    for (std::size_t count = std::min(kLoopsLookedAt, loops.size() - first); count >= 1; --count) {
      const std::vector<LoopRef> fused(loops.begin() + static_cast<std::ptrdiff_t>(first),
                                       loops.begin() + static_cast<std::ptrdiff_t>(first + count));
      std::int64_t tasks = 1;
      for (std::size_t i = 0; i + 1 < count; ++i) tasks *= extent(s, fused[i]);
      if (count > 1 && are_enough(tasks, c.cores())) continue;  // fewer loops will do
      if (attempt(s, [&](Schedule& t) { t.parallel(count == 1 ? fused[0] : t.fuse(fused)); })) return;
    }
    if (extent(s, loops[first]) > 1) return;
  }
}

}  // namespace

const Rule run_in_parallel = {"run_in_parallel", "run the outer loops of each nest on all threads", applies,
                              apply};

}  // namespace lathe::rules
