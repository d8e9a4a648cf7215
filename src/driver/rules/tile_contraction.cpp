// Contractions (matrix products, convolutions): a tile of sums in registers, its vector operand packed.
//
//     for block of rows:                          in parallel
//       for column tile:
//         pack:  W[.., column tile] -> panel      contiguous, zeros beyond the last column
//         for rows of the block: for row tile:
//           sums = 0                              in registers
//           for reduction:                        sums[row, lane] += x[row] * panel[.., lane]
//           out[row tile, column tile] = f(sums)  the elementwise consumer, or a copy
//
// A block is all rows, or as many as stay in a near cache while one panel after another meets them. With several blocks
// the panels are made before them; those of constant weights once, ahead of the calls (`prepare`). A block of the other
// operand may be packed too, the rows of a tile side by side.
//
// Where columns are windows of the vector operand (images whose innermost dimension is the width), or several operands depend on
// them, there are no panels; then the column tiles run inside the rows, along memory.
//
// The *columns* are the innermost dimension of the result. The *vector operand* (weights, B) depends on them and not on
// the *rows* (pixels, rows of A), which therefore share each vector that is loaded.

#include <algorithm>
#include <cmath>
#include <map>

#include "driver/rules/contraction.h"
#include "driver/rules/register_tile.h"
#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kUnrolledSteps = 5;         ///< of the reduction, where its inner loops are that short
constexpr std::int64_t kUnrolledOperations = 160;  ///< in all; compile time grows faster than the body
constexpr std::int64_t kStrip = 8;        ///< rows of an image, as it is read, that are worked on together
constexpr std::int64_t kWayBytes = 4096;  ///< of the first cache: what lies so far apart shares a set
constexpr double kWorthBlocking = 0.8;    ///< of the traffic without
constexpr double kUneven = 1.3;           ///< what guards of a shorter last block cost, in traffic
constexpr std::int64_t kManyLines = 256;  ///< half of the first cache
constexpr std::int64_t kRowsThatPay = 9;  ///< that share a packed panel, so that it is worth its making
constexpr std::int64_t kRowsThatPayNearby = 24;  ///< where the second cache holds the operand as it is

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  return contraction(block).has_value() && loop_count(s, b) == block.iters.size();
}

/// One application of the rule, step by step.
class Tiling {
 public:
  Tiling(Schedule& s, BlockRef b, const Context& context)
      : s_(s), b_(b), context_(context), c_(with_own_buffers(s, b)), lanes_(context.lanes(s.get(b))) {
    for (std::size_t i : c_.spatial) position_.emplace(i, position_.size());
    row_ = c_.rows.back();
    if (c_.rows.size() > 1) outer_row_ = c_.rows[c_.rows.size() - 2];
  }

  void run() {
    find_consumer();
    choose_tile();
    choose_blocks();
    if (pack_) make_panels();
    if (widen_) widen_columns();
    take_up_rearrangement();
    tile_consumer();
    sum_in_registers();
    if (pack_) place_panels();
    if (pack_rows_) pack_block_of_rows();
  }

 private:
  const Block& block() const { return s_.get(b_); }
  std::string named(const char* what) const { return block().label->name + "." + what; }

  /// The block that is tiled: an elementwise consumer that makes an output, or a copy.
  void find_consumer() {
    const std::vector<BlockRef> consumers = consumers_of(s_, b_);
    std::optional<std::vector<std::int64_t>> parts;
    if (consumers.size() == 1) parts = epilogue_parts(s_, b_, consumers[0]);
    out_ = parts ? consumers[0] : s_.cache_write(b_, Scope::Local);
    if (parts) parts_ = *parts;
  }

  void choose_tile() {
    TileProblem p;
    p.rows = domain(block(), row_);
    if (outer_row_) p.outer_rows = domain(block(), *outer_row_);
    p.columns = domain(block(), c_.column);
    p.depth = depth(block());
    p.lanes = lanes_;
    p.registers = context_.registers();
    p.both_are_vectors = !c_.shared;
    if (c_.shared) p.vector_operands = static_cast<std::int64_t>(c_.column_operands);
    p.clashing_rows = row_stride() % kWayBytes == 0;
    std::int64_t all_rows = 1;
    for (std::size_t i : c_.rows) all_rows *= domain(block(), i);
    prepared_ = c_.packable && p.depth > 1 && reads_constant();
    pack_ = prepared_ || (c_.packable && p.depth > 1 &&
                          (!c_.contiguous || (p.columns > 2 * p.lanes || p.columns % p.lanes != 0)));
    // Windows of columns are padded where the last vector would need a mask, which keeps sums out of registers.
    widen_ = !c_.packable && c_.shared && p.columns % p.lanes != 0;
    p.padded_columns = pack_ || widen_;
    Tile tile = best_tile(p);
    const bool near =
        bytes_of(block().reads[c_.vector_read].buffer) <= static_cast<double>(context_.second_level_bytes());
    if (pack_ && !prepared_ && c_.contiguous && all_rows < (near ? kRowsThatPayNearby : kRowsThatPay)) {
      pack_ = p.padded_columns = false;
      tile = best_tile(p);
    }
    const std::int64_t l = lanes_;
    columns_ = context_.choose(s_, tile.vectors * l, {l, 2 * l, 3 * l, 4 * l}, named("columns"));
    rows_ = context_.choose(s_, tile.rows, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}, named("rows"));
    outer_rows_ =
        outer_row_ ? context_.choose(s_, tile.outer_rows, {1, 2, 3, 4}, named("outer_rows")) : Expr(1);
  }

  /// Bytes from a row to the next in the operand that has them.
  std::int64_t row_stride() const {
    for (std::size_t r = 0; r < block().reads.size(); ++r) {
      if (r == c_.vector_read) continue;
      const BufferRegion& read = block().reads[r];
      for (std::size_t d = 0; d < read.ranges.size(); ++d) {
        if (!lathe::mentions(read.ranges[d].min, block().iters[row_].var)) continue;
        std::int64_t bytes = read.buffer->dtype.bytes();
        for (std::size_t inner = d + 1; inner < read.ranges.size(); ++inner)
          bytes *= as_int(read.buffer->shape[inner]).value_or(1);
        return bytes;
      }
    }
    return 1;
  }

  /// Can the vector operand be laid out ahead of the calls? It is a constant, or put into another form from one.
  bool reads_constant() const {
    Schedule look = s_.fork();
    const Buffer& operand = block().reads[c_.vector_read].buffer;
    if (is_constant(s_, operand)) return true;
    return std::ranges::any_of(look.producers(b_), [&](BlockRef p) {
      const Block& made = look.get(p);
      return made.writes[0].buffer.same_as(operand) && made.reads.size() == 1 &&
             is_constant(s_, made.reads[0].buffer);
    });
  }
  /// In how many blocks the rows are worked on.
  void choose_blocks() {
    if (!c_.packable) return;
    blocked_ = outer_row_.value_or(row_);
    std::vector<std::int64_t> counts;
    for (std::int64_t n : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      if (n == 1 || 2 * n <= domain(block(), blocked_)) counts.push_back(n);
    }
    if (counts.size() > 1) {
      std::int64_t best = least_traffic(counts);
      // Blocks that are packed stay in the near cache.
      if (scattered_rows()) {
        const double room = static_cast<double>(context_.second_level_bytes()) / 2;
        const double rows = bytes_of(block().reads[*c_.row_read].buffer);
        const auto fitting = std::ranges::find_if(
            counts, [&](std::int64_t n) { return n > 1 && rows <= room * static_cast<double>(n); });
        best = std::max(best, fitting == counts.end() ? counts.back() : *fitting);
      }
      // Panels that are made where their columns begin leave only the columns for threads to share out.
      if (best == 1 && !prepared_ && context_.parallel() && column_tiles() < context_.cores()) {
        const auto enough = std::ranges::find_if(
            counts, [&](std::int64_t n) { return n * column_tiles() >= context_.cores(); });
        best = enough == counts.end() ? counts.back() : *enough;
      }
      // Where a block pads its rows itself, blocks are what threads share out: as many for each.
      if (best > 1 && context_.parallel()) {
        const auto even = std::ranges::find_if(
            counts, [&](std::int64_t n) { return n >= best && n % context_.cores() == 0; });
        if (even != counts.end()) best = *even;
      }
      blocks_ = context_.choose(s_, best, counts, named("blocks"));
    }
    in_blocks_ = value_of(s_, blocks_) > 1;
    if (in_blocks_ && c_.row_read)
      pack_rows_ =
          value_of(s_, context_.choose(s_, scattered_rows() ? 1 : 0, {0, 1}, named("pack_rows"))) != 0;
  }

  /// Does a tile of rows touch a line of its own at each step of the reduction (rows lie side by side: a transposed operand), in so
  /// many steps that the lines do not wait in the first cache for the next tile, which has the rest of them?
  bool scattered_rows() const {
    if (!c_.row_read) return false;
    const BufferRegion& read = block().reads[*c_.row_read];
    return step_along(read, block().iters[row_].var) == 1 && depth(block()) >= kManyLines &&
           column_tiles() > 2;
  }

  /// The number of blocks with the least traffic from beyond the second cache: every column tile reads a block of rows again
  /// that does not fit it, every block of rows reads the panels again.
  std::int64_t least_traffic(const std::vector<std::int64_t>& counts) const {
    const double room = static_cast<double>(context_.second_level_bytes()) / 2;
    double rows = 0, panels = 0;
    for (std::size_t r = 0; r < block().reads.size(); ++r)
      (r == c_.vector_read ? panels : rows) += bytes_of(block().reads[r].buffer);
    const std::int64_t tile = value_of(s_, outer_row_ ? outer_rows_ : rows_);
    const std::int64_t tiles = (domain(block(), blocked_) + tile - 1) / tile;
    double other_rows = 1;  // they go outside the blocks, each with blocks of its own
    for (std::size_t i : c_.rows) {
      if (i != row_ && i != outer_row_) other_rows *= static_cast<double>(domain(block(), i));
    }
    std::int64_t best = 1;
    double least = 0;
    for (std::int64_t n : counts) {
      const double blocks = n == 1 ? 1 : static_cast<double>(n) * other_rows;
      double traffic =
          rows * (rows > room * blocks ? static_cast<double>(column_tiles()) : 1) + panels * blocks;
      if (tiles % n != 0) traffic *= kUneven;
      if (n == 1 || traffic < least * kWorthBlocking) {
        least = traffic;
        best = n;
      }
    }
    return best;
  }
  std::int64_t column_tiles() const {
    const std::int64_t width = value_of(s_, columns_);
    return (domain(block(), c_.column) + width - 1) / width;
  }

  /// The vector operand as panels of the tile's width, zeros beyond the last column; those of one matrix of a batch together.
  void make_panels() {
    std::vector<Expr> multiples(block().iters.size(), Expr(1));
    multiples[c_.column] = columns_;
    const Var column = block().iters[c_.column].var;
    const auto is_batch = [&](const Expr& subscript) {
      return std::ranges::any_of(
          c_.batch, [&](std::size_t i) { return subscript.get() == block().iters[i].var.get(); });
    };
    std::vector<Var> from;
    std::vector<Expr> to, within;
    for (const Range& r : block().reads[c_.vector_read].ranges) {
      from.push_back(Var("i" + std::to_string(from.size())));
      if (r.min.get() == column.get())
        column_dimension_ = from.size() - 1;
      else
        (is_batch(r.min) ? to : within).push_back(from.back());
    }
    to.push_back(floordiv(from[column_dimension_], columns_));
    to.insert(to.end(), within.begin(), within.end());
    to.push_back(floormod(from[column_dimension_], columns_));
    panels_ = s_.pad_einsum(b_, multiples).at(0);
    s_.transform_layout(panels_, -1, IndexMap{from, to});
  }

  /// Whole tiles of columns, and zeros where they reach beyond the operands' ends.
  void widen_columns() {
    std::vector<Expr> multiples(block().iters.size(), Expr(1));
    multiples[c_.column] = columns_;
    for (BlockRef copy : s_.pad_einsum(b_, multiples)) take_up(copy, 0);
  }

  /// A block that only puts the vector operand into another form goes into the panels, or, without them, into the sums.
  void take_up_rearrangement() {
    if (!widen_) take_up(pack_ ? panels_ : b_, pack_ ? 0 : c_.vector_read);
  }
  void take_up(BlockRef reader, std::size_t read) {
    for (BlockRef p : s_.producers(reader)) {
      const Block& made = s_.get(p);
      const Buffer& operand = s_.get(reader).reads[read].buffer;
      if (!made.is_reduction() && made.reads.size() == 1 && made.writes[0].buffer.same_as(operand) &&
          loop_count(s_, p) == made.iters.size())
        attempt(s_, [&](Schedule& s) { s.compute_inline(p); });
    }
  }

  /// Rows of the image that one more row of the result reads: the stride.
  std::int64_t rows_read(std::size_t row) const {
    for (const BufferRegion& read : block().reads) {
      for (std::size_t d = 0; d < read.ranges.size(); ++d) {
        if (!lathe::mentions(read.ranges[d].min, block().iters[row].var)) continue;
        const std::int64_t size = as_int(read.buffer->shape[d]).value_or(1);
        return std::max<std::int64_t>(1, size / std::max<std::int64_t>(1, domain(block(), row)));
      }
    }
    return 1;
  }

  void tile_consumer() {
    std::vector<LoopRef> loops = s_.loops(out_);
    for (std::size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i] == 1) continue;
      auto [outer, inner] = s_.split(loops[i], {_, parts_[i]});
      loops[i] = outer;
      loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, inner);
    }
    auto at = [&](std::size_t variable) { return loops[position_.at(variable)]; };
    auto [co, ci] = s_.split(at(c_.column), {_, columns_});
    std::vector<LoopRef> batch, outside, inside, tile;
    for (std::size_t i : c_.batch) batch.push_back(at(i));
    for (std::size_t i : c_.rows) {
      if (i != row_ && i != outer_row_) {
        (in_blocks_ ? outside : inside).push_back(at(i));
        continue;
      }
      const Expr rows = i == row_ ? rows_ : outer_rows_;
      std::vector<LoopRef> parts;
      if (in_blocks_ && i == blocked_) {
        parts = s_.split(at(i), std::vector<SplitFactor>{blocks_, _, rows});
        outside.push_back(parts[0]);
        row_block_ = parts[0];
      } else if (!c_.packable && i == outer_row_) {
        // A strip of the image: what its producers pad for it stays in the second cache.
        const std::int64_t strip = kStrip / (value_of(s_, outer_rows_) * rows_read(i));
        parts = s_.split(at(i), std::vector<SplitFactor>{_, std::max<std::int64_t>(1, strip), rows});
        inside.push_back(parts[0]);
      } else {
        parts = s_.split(at(i), std::vector<SplitFactor>{_, rows});
      }
      inside.push_back(parts[parts.size() - 2]);
      tile.push_back(parts.back());
    }
    tile_ = inside.back();
    if (c_.packable) {
      inside.insert(inside.begin(), co);
    } else {
      inside.push_back(co);
      tile_ = co;
    }
    std::vector<LoopRef> order = batch;
    for (const std::vector<LoopRef>& part : {outside, inside, tile, {ci}})
      order.insert(order.end(), part.begin(), part.end());
    s_.reorder(order);
    for (LoopRef l : tile) s_.unroll(l);
    s_.vectorize(ci);
    // Those of a single matrix stay outside of all loops, where threads share their making; so do the blocks of rows then.
    if (!in_blocks_)
      panels_at_ = co;
    else if (std::ranges::any_of(batch, [&](LoopRef each) { return extent(s_, each) > 1; }))
      panels_at_ = batch.back();
  }

  void sum_in_registers() {
    s_.compute_at(b_, tile_);
    s_.set_scope(b_, Scope::Local);
    // Below the tile: one loop a variable, in the order of the variables.
    const std::vector<LoopRef> loops = s_.loops(b_);
    const std::size_t first = loops.size() - block().iters.size();
    std::vector<LoopRef> order;
    for (std::size_t i = 0; i < block().iters.size(); ++i) {
      if (block().iters[i].kind == IterKind::Reduce) order.push_back(loops[first + i]);
    }
    const std::vector<LoopRef> reduce = order;
    for (std::size_t i : c_.spatial) {
      if (i != c_.column) order.push_back(loops[first + i]);
    }
    order.push_back(loops[first + c_.column]);
    s_.reorder(order);
    for (std::size_t i : c_.spatial) {
      if (c_.is_row(i)) s_.unroll(loops[first + i]);
    }
    s_.vectorize(loops[first + c_.column]);
    const std::int64_t operations =
        value_of(s_, rows_) * value_of(s_, outer_rows_) * ((value_of(s_, columns_) + lanes_ - 1) / lanes_);
    std::int64_t steps = 1;
    for (std::size_t i = reduce.size(); i-- > 0;) {
      steps *= extent(s_, reduce[i]);
      if (steps > kUnrolledSteps || steps * operations > kUnrolledOperations) break;
      s_.unroll(reduce[i]);
    }
  }

  /// A panel is made where its column tile begins, or all of them before the blocks of rows, or ahead of the calls.
  void place_panels() {
    if (!prepared_ && panels_at_.defined()) s_.compute_at(panels_, panels_at_);
    std::vector<LoopRef> order = own_loops(s_, panels_);
    LoopRef lane = order[column_dimension_];
    std::erase(order, lane);
    if (prepared_ || in_blocks_) {
      auto [panel, inside] = s_.split(lane, {_, columns_});
      order.insert(order.begin(), panel);
      lane = inside;
    }
    if (const LoopRef along = crosswise(order, lane); along.defined() && !prepared_) {
      transpose(order, along, lane);
    } else {
      order.push_back(lane);
      if (order.size() > 1) s_.reorder(order);
      s_.vectorize(lane);
    }
    // Refused where the constant reaches the panels through a block that could not be taken up: then in every call.
    if (prepared_) attempt(s_, [&](Schedule& s) { s.prepare(panels_); });
  }

  /// Of a panel's loops, the one along which its operand lies, when that is the reduction: then columns are far apart.
  LoopRef crosswise(const std::vector<LoopRef>& loops, LoopRef lane) const {
    const Block& copy = s_.get(panels_);
    const Store* store = copy.body.as<Store>();
    const std::int64_t l = lanes_;
    if (!store || !store->value.as<Load>() || copy.writes[0].buffer->dtype.bytes() != 4 ||
        extent(s_, lane) % l != 0)
      return {};
    for (std::size_t i = 0; i < copy.iters.size(); ++i) {
      if (copy.reads[0].ranges.back().min.get() != copy.iters[i].var.get()) continue;
      for (LoopRef each : loops) {
        if (copy.bindings[i].get() == s_.get(each).var.get() && extent(s_, each) % l == 0) return each;
      }
    }
    return {};
  }

  /// A square of lanes at a time, through registers.
  void transpose(std::vector<LoopRef> order, LoopRef along, LoopRef lane) {
    std::erase(order, along);
    auto [square_row, row] = s_.split(along, {_, lanes_});
    auto [square, column] = s_.split(lane, {_, lanes_});
    order.insert(order.end(), {square_row, square, row, column});
    s_.reorder(order);
    const BlockRef tile = s_.cache_read(panels_, 0, Scope::Local);
    s_.compute_at(tile, square);
    const std::vector<LoopRef> inner = own_loops(s_, tile);
    for (std::size_t i = 0; i + 1 < inner.size(); ++i) s_.unroll(inner[i]);
    s_.vectorize(inner.back());
    s_.unroll(row);
    s_.vectorize(column);
  }

  /// The rows of a tile side by side: with rows a power of two apart they would share a few sets of the caches.
  void pack_block_of_rows() {
    const BufferRegion read = block().reads[*c_.row_read];
    const Var row = block().iters[row_].var;
    const BlockRef packed = s_.cache_read(b_, static_cast<int>(*c_.row_read), Scope::Global);
    std::vector<Var> from;
    std::vector<Expr> to{Expr()};
    std::size_t dimension = 0;
    for (const Range& r : read.ranges) {
      from.push_back(Var("i" + std::to_string(from.size())));
      if (r.min.get() == row.get())
        dimension = from.size() - 1;
      else
        to.push_back(from.back());
    }
    to[0] = floordiv(from[dimension], rows_);
    to.push_back(floormod(from[dimension], rows_));
    s_.transform_layout(packed, -1, IndexMap{from, to});
    s_.compute_at(packed, row_block_);
    std::vector<LoopRef> order = own_loops(s_, packed);
    const LoopRef rows = order[dimension];
    std::erase(order, rows);
    auto [tile, side_by_side] = s_.split(rows, {_, rows_});
    order.insert(order.begin(), tile);
    order.push_back(side_by_side);
    s_.reorder(order);
    s_.unroll(side_by_side);
  }

  Schedule& s_;
  const BlockRef b_;
  const Context& context_;
  const Contraction c_;
  const std::int64_t lanes_;                     ///< of the sums
  std::map<std::size_t, std::size_t> position_;  ///< of a spatial variable among them
  std::size_t row_;
  std::optional<std::size_t> outer_row_;
  BlockRef out_, panels_;
  std::vector<std::int64_t> parts_;  ///< of the consumer's loops; empty: each is one of the sums'
  bool pack_ = false, prepared_ = false, widen_ = false, pack_rows_ = false, in_blocks_ = false;
  Expr columns_, rows_, outer_rows_, blocks_ = 1;
  std::size_t blocked_ = 0;           ///< the variable whose tiles make up blocks of rows
  std::size_t column_dimension_ = 0;  ///< of the vector operand
  LoopRef panels_at_, row_block_, tile_;
};

void apply(Schedule& s, BlockRef b, const Context& context) { Tiling(s, b, context).run(); }

}  // namespace

const Rule tile_contraction = {"tile_contraction", "keep a tile of a contraction's sums in registers",
                               applies, apply};

}  // namespace lathe::rules
