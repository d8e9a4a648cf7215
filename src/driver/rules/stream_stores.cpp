// A result that does not fit the last cache goes past the caches: nobody finds it there, and an ordinary store would read
// each line first.

#include "driver/rules/rule.h"

namespace lathe::rules {
namespace {

bool applies(Schedule& s, BlockRef b, const Context& c) {
  const Block& block = s.get(b);
  if (block.is_reduction() || block.writes.size() != 1 || !writes_output(s, b)) return false;
  double bytes = block.writes[0].buffer->dtype.bytes();
  for (const Expr& e : block.writes[0].buffer->shape) bytes *= static_cast<double>(as_int(e).value_or(1));
  return bytes > static_cast<double>(c.last_level_bytes()) && has_loop_of_kind(s, b, ForKind::Vectorized);
}

void apply(Schedule& s, BlockRef b, const Context&) { s.store_hint(b, true); }

}  // namespace

const Rule stream_stores = {"stream_stores", "let results larger than the last cache bypass it", applies,
                            apply};

}  // namespace lathe::rules
