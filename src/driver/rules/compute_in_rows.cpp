// A producer is computed in the rows of its consumers, as deep as costs little recomputation: what it stores is still in a
// near cache when it is read.

#include "driver/rules/rule.h"

namespace lathe::rules {
namespace {

constexpr double kSomeRecomputation = 1.3;  ///< dearer than a near cache saves

bool applies(Schedule& s, BlockRef b, const Context&) {
  return !writes_output(s, b) && !s.get(b).partner.defined() &&
         !has_loop_of_kind(s, b, ForKind::Vectorized) && !has_loop_of_kind(s, b, ForKind::Unrolled) &&
         !consumers_of(s, b).empty();
}

void apply(Schedule& s, BlockRef b, const Context&) {
  const double before = iterations(s, b);
  const std::vector<LoopRef> places = s.loops(s.consumers(b).back());
  for (std::size_t d = places.size(); d-- > 0;) {
    // The innermost loop stays a vector; a row of its own would be one element.
    if (d + 1 == places.size() && places.size() > 1) continue;
    if (s.get(places[d]).for_kind != ForKind::Serial || extent(s, places[d]) <= 1) continue;
    Schedule trial = s.fork();
    if (!attempt(trial, [&](Schedule& t) { t.compute_at(b, places[d]); })) continue;
    if (iterations(trial, b) > before * kSomeRecomputation) continue;
    s = std::move(trial);
    return;
  }
}

}  // namespace

const Rule compute_in_rows = {"compute_in_rows", "compute producers in the rows of their consumers", applies,
                              apply};

}  // namespace lathe::rules
