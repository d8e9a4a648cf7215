// Elementwise blocks go into their consumers: what is cheap is computed again rather than stored and loaded.

#include <algorithm>

#include "driver/rules/contraction.h"
#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

bool calls_functions(const Block& block) {
  bool found = false;
  walk(block.body, {}, [&](const Expr& e) {
    const Call* c = e.as<Call>();
    found |= c && c->op <= Intrinsic::Rsqrt;
    return !found;
  });
  return found;
}

bool guards_loads(const Block& block) {
  bool found = false;
  walk(block.body, {}, [&](const Expr& e) {
    found |= e.as<Select>() != nullptr;
    return !found;
  });
  return found;
}

/// Does the block put a constant (weights) into another form, and do nothing else?
bool rearranges_constant(const Schedule& s, const Block& block) {
  return block.reads.size() == 1 && std::ranges::any_of(s.program()->params, [&](const Param& p) {
           return p.role == ParamRole::Constant && p.buffer.same_as(block.reads[0].buffer);
         });
}

/// Would a contraction that reads the block not be tiled any more? Subscripts that are sums do not pack into panels.
bool hinders_tiling(const Schedule& s, BlockRef b, const std::vector<BlockRef>& consumers) {
  const auto tiles = [](const Schedule& of, BlockRef consumer) {
    const std::optional<Contraction> c = contraction(of.get(consumer));
    return c && c->packable;
  };
  Schedule inlined = s.fork();
  if (!attempt(inlined, [&](Schedule& t) { t.compute_inline(b); })) return false;
  return std::ranges::any_of(consumers, [&](BlockRef c) { return tiles(s, c) && !tiles(inlined, c); });
}

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  if (block.is_reduction() || writes_output(s, b)) return false;
  const std::vector<BlockRef> consumers = consumers_of(s, b);
  bool into_reduction = false, repeated = consumers.size() > 1;
  for (BlockRef c : consumers) {
    into_reduction |= s.get(c).is_reduction();
    repeated |= iterations(s, c) > iterations(s, b);
  }
  // The subscripts of rearranged weights are simpler than those of the weights; what packs them takes the block up.
  if (into_reduction && (rearranges_constant(s, block) || hinders_tiling(s, b, consumers))) return false;
  // A value that is dear, or guarded (padding), is computed once.
  if (calls_functions(block) && (repeated || into_reduction)) return false;
  return !(guards_loads(block) && into_reduction);
}

void apply(Schedule& s, BlockRef b, const Context&) { s.compute_inline(b); }

}  // namespace

const Rule inline_elementwise = {"inline_elementwise", "put cheap elementwise blocks into their consumers",
                                 applies, apply};

}  // namespace lathe::rules
