// The table of rules and its interpreter.

#include "driver/rules/rule.h"

namespace lathe {

namespace rules {

const std::vector<Rule>& table() {
  static const std::vector<Rule> all = {inline_elementwise, tile_depthwise,   tile_narrow_contraction,
                                        stream_contraction, tile_contraction, tile_transposition,
                                        compute_in_rows,    reduce_in_lanes,  vectorize_rows,
                                        run_in_parallel,    stream_stores};
  return all;
}

}  // namespace rules

void apply_rules(Schedule& schedule, const Target& target, const RuleOptions& options) {
  const rules::Context context(target, options);
  for (const rules::Rule& rule : rules::table()) {
    // Consumers before producers: where a consumer goes decides where its producers may follow.
    std::vector<BlockRef> blocks = schedule.blocks();
    for (std::size_t i = blocks.size(); i-- > 0;) {
      const BlockRef b = blocks[i];
      if (!rules::alive(schedule, b)) continue;
      if (Schedule look = schedule.fork(); !rule.applies(look, b, context)) continue;
      rules::attempt(schedule, [&](Schedule& s) { rule.apply(s, b, context); });
    }
  }
}

}  // namespace lathe
