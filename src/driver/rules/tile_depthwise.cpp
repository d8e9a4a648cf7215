// Contractions without an operand that a panel could serve: depthwise convolutions. A few pixels times a vector of channels
// stay in registers; the padding is a test at each load, which lowering cuts off from all but the borders.
//
//     for strip of rows:                         in parallel, where there are many rows
//       for tile of columns of pixels:
//         for row of the strip: for vector of channels:
//           sums = 0                             in registers
//           for taps:                            sums[pixel, lane] += x[pixel + tap, lane] * k[tap, lane]
//           out[tile, vector] = f(sums)
//
// In a small image the strips would be single rows; there the threads share out the channels, and all rows of the image are
// below, so that its first and last rows are cut off as well.
//
// Below a tile of pixels the rows follow one another, so that the rows which windows share are still in the first cache.
// Padding as a copy of its own would move every byte twice more.

#include <algorithm>

#include "driver/rules/contraction.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kStrip = 8;         ///< rows
constexpr std::int64_t kChunk = 16;        ///< vectors of channels, where they are shared out
constexpr std::int64_t kTasksPerCore = 4;  ///< so that threads which start late do not hold up the others
constexpr std::int64_t kUnrolledOperations = 160;  ///< compile time grows faster than the body

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  const std::optional<Contraction> c = contraction(block);
  return c && !c->shared && loop_count(s, b) == block.iters.size();
}

/// Does the block move elements of one buffer, or put a constant in their place?
bool moves_data(const Block& block) {
  const Store* store = block.is_reduction() ? nullptr : block.body.as<Store>();
  if (!store || block.reads.size() != 1) return false;
  if (const Select* inside = store->value.as<Select>())
    return inside->if_true.as<Load>() && (inside->if_false.as<FloatImm>() || inside->if_false.as<IntImm>());
  return store->value.as<Load>();
}

/// The block that is tiled: an elementwise consumer that makes an output, or a copy.
BlockRef tiled_block(Schedule& s, BlockRef b) {
  const std::vector<BlockRef> consumers = consumers_of(s, b);
  if (consumers.size() == 1) {
    const auto parts = epilogue_parts(s, b, consumers[0]);
    if (parts && std::ranges::all_of(*parts, [](std::int64_t p) { return p == 1; })) return consumers[0];
  }
  return s.cache_write(b, Scope::Local);
}

void apply(Schedule& s, BlockRef b, const Context& context) {
  const Contraction c = *contraction(s.get(b));
  const BlockRef out = tiled_block(s, b);
  for (BlockRef p : s.producers(b)) {
    if (moves_data(s.get(p))) attempt(s, [&](Schedule& t) { t.compute_inline(p); });
  }
  const std::vector<IterVar> variables = s.get(b).iters;  // the block itself is made anew by each step
  const std::size_t x = c.rows.back();
  const std::optional<std::size_t> y =
      c.rows.size() > 1 ? std::optional(c.rows[c.rows.size() - 2]) : std::nullopt;
  const std::int64_t l = context.lanes(), width = domain(s.get(b), x), all = domain(s.get(b), c.column);
  const std::int64_t tasks = kTasksPerCore * context.cores(), height = y ? domain(s.get(b), *y) : 1;
  // An image of fewer rows than strips that are wanted.
  const bool small = height < 2 * tasks && all > kChunk * l;
  // Neighbouring sums share what they load, which waits in registers, too. Pixels of many channels are so far apart that
  // they crowd each other out of the first cache: both halves of a line are used while it is there.
  const std::int64_t vectors = small ? 2 : 1;
  const std::int64_t room = small ? (context.registers() - 4) / vectors : context.registers() / 2;
  const std::int64_t tiles = (width + room - 1) / room;
  const Expr pixels = context.choose(s, (width + tiles - 1) / tiles, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}),
             channels = context.choose(s, vectors * l, {l, 2 * l});

  const std::vector<LoopRef> loops = s.loops(out);
  auto at = [&](std::size_t variable) {
    return loops[static_cast<std::size_t>(std::ranges::find(c.spatial, variable) - c.spatial.begin())];
  };
  auto [x_tile, pixel] = s.split(at(x), {_, pixels});
  LoopRef chunk, vector, lane;
  if (small) {
    auto [co, cv, cl] = s.split(at(c.column), {_, kChunk / vectors, channels});
    chunk = co, vector = cv, lane = cl;
  } else {
    auto [cv, cl] = s.split(at(c.column), {_, channels});
    vector = cv, lane = cl;
  }
  std::vector<LoopRef> order;
  for (std::size_t i : c.spatial) {
    if (i != x && i != y && i != c.column) order.push_back(at(i));
  }
  if (small) {
    order.insert(order.end(), {chunk, x_tile});
    if (y) order.push_back(at(*y));
  } else if (y) {
    auto [strip, row] = s.split(
        at(*y),
        {_, context.choose(s, std::clamp<std::int64_t>(height / tasks, 1, kStrip), {1, 2, 4, 8, 16})});
    order.insert(order.end(), {strip, x_tile, row});
  } else {
    order.push_back(x_tile);
  }
  order.insert(order.end(), {vector, pixel, lane});
  s.reorder(order);
  s.unroll(pixel);
  s.vectorize(lane);

  s.compute_at(b, vector);
  s.set_scope(b, Scope::Local);
  const std::vector<LoopRef> inner = s.loops(b);
  const std::size_t first = inner.size() - variables.size();
  std::vector<LoopRef> taps, sums;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (i == c.column) continue;
    (variables[i].kind == IterKind::Reduce ? taps : sums).push_back(inner[first + i]);
  }
  // What a pixel shares with the next is loaded once: only the last taps run inside the pixels, so that few such values wait
  // in registers.
  std::vector<LoopRef> nest(taps.begin(), taps.end() - 1);
  nest.insert(nest.end(), sums.begin(), sums.end());
  nest.push_back(taps.back());
  nest.push_back(inner[first + c.column]);
  s.reorder(nest);
  for (LoopRef l : sums) s.unroll(l);
  s.vectorize(inner[first + c.column]);
  std::int64_t operations = value_of(s, pixels) * value_of(s, channels) / l;
  for (std::size_t i = taps.size(); i-- > 0;) {
    operations *= extent(s, taps[i]);
    if (operations > kUnrolledOperations) break;
    s.unroll(taps[i]);
  }
}

}  // namespace

const Rule tile_depthwise = {"tile_depthwise", "keep pixels of a depthwise convolution's sums in registers",
                             applies, apply};

}  // namespace lathe::rules
