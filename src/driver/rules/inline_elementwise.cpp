// Elementwise blocks go into their consumers: what is cheap is computed again rather than stored and loaded.

#include <algorithm>

#include "arith/block_access.h"
#include "driver/rules/contraction.h"
#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

/// Loads of one element at several positions: with more, storing what is between costs less than computing it at each.
constexpr std::size_t kLoads = 16;
constexpr std::size_t kNodes =
    2000;  ///< a body that reads a value twice doubles with each block that it takes up

bool calls_functions(const Block& block) {
  bool found = false;
  walk(block.body, {}, [&](const Expr& e) {
    const Call* c = e.as<Call>();
    found |= c && c->op <= Intrinsic::Rsqrt;
    return !found;
  });
  return found;
}

/// Does the block do more than move elements?
bool computes(const Block& block) {
  const Store* store = block.body.as<Store>();
  return !store || !store->value.as<Load>();
}

bool guards_loads(const Block& block) {
  bool found = false;
  walk(block.body, {}, [&](const Expr& e) {
    found |= e.as<Select>() != nullptr;
    return !found;
  });
  return found;
}

/// What a body would have if it computed in each place what it reads of the producer.
struct Grown {
  std::size_t loads = 0;      ///< different ones
  std::size_t own_loads = 0;  ///< of the producer
  std::size_t nodes = 0;      ///< of all expressions
};
Grown grown(const Block& consumer, const Block& producer) {
  const auto nodes = [](const Block& block, std::size_t most) {
    std::size_t count = 0;
    walk(block.body, {}, [&](const Expr&) { return ++count <= most; });
    return count;
  };
  const Buffer& between = producer.writes[0].buffer;
  const auto loads = [](const Block& block, const Buffer* without) {
    std::size_t count = 0;
    for (const BufferRegion& r : block.reads) {
      if (!without || !r.buffer.same_as(*without)) count += arith::ways_to_read(block, r.buffer).size();
    }
    return count;
  };
  std::size_t uses = 0;
  walk(consumer.body, {}, [&](const Expr& e) {
    const Load* load = e.as<Load>();
    uses += load && load->buffer.same_as(between);
    return true;
  });
  Grown out;
  out.own_loads = loads(producer, nullptr);
  out.loads = loads(consumer, &between) + arith::ways_to_read(consumer, between).size() * out.own_loads;
  out.nodes = nodes(consumer, kNodes) + (uses > 1 ? uses * nodes(producer, kNodes) : 0);
  return out;
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
    const std::size_t ways = arith::ways_to_read(s.get(c), block.writes[0].buffer).size();
    const Grown body = grown(s.get(c), block);
    if ((ways > 1 && body.loads > kLoads) || body.nodes > kNodes) return false;
    // In a reduction it would be computed for each term.
    const double times = static_cast<double>(ways) * iterations(s, c) / std::max(1.0, iterations(s, b));
    if (s.get(c).is_reduction() && computes(block) &&
        times * static_cast<double>(body.own_loads) > static_cast<double>(kLoads))
      return false;
    into_reduction |= s.get(c).is_reduction();
    repeated |= ways > 1 || iterations(s, c) > iterations(s, b);
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
