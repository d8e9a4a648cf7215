// Contractions (matrix products, convolutions): a tile of sums in registers, its vector operand packed.
//
//     for column tile:                          in parallel
//       pack:  W[.., column tile] -> panel      contiguous, zeros beyond the last column
//       for rows: for row tile:
//         sums = 0                              in registers
//         for reduction:                        sums[row, lane] += x[row] * panel[.., lane]
//         out[row tile, column tile] = f(sums)  the elementwise consumer, or a copy
//
// Where both operands depend on the columns (depthwise convolution), a panel would be of no use to other rows; then the
// column tiles run inside the rows, along memory.
//
// The *columns* are the innermost dimension of the result. The *vector operand* (weights, B) depends on them and not on
// the *rows* (pixels, rows of A), which therefore share each vector that is loaded.

#include <algorithm>
#include <map>

#include "driver/rules/contraction.h"
#include "driver/rules/register_tile.h"
#include "driver/rules/rule.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kUnrolledSteps = 5;         ///< of the reduction, where its inner loops are that short
constexpr std::int64_t kUnrolledOperations = 160;  ///< in all; compile time grows faster than the body
constexpr std::int64_t kStrip = 8;         ///< rows of an image, as it is read, that are worked on together
constexpr std::int64_t kRowsThatPay = 24;  ///< that share a packed panel, so that it is worth its making

bool applies(Schedule& s, BlockRef b, const Context&) {
  const Block& block = s.get(b);
  return contraction(block).has_value() && loop_count(s, b) == block.iters.size();
}

/// One application of the rule, step by step.
class Tiling {
 public:
  Tiling(Schedule& s, BlockRef b, const Context& context)
      : s_(s), b_(b), context_(context), c_(*contraction(s.get(b))) {
    for (std::size_t i : c_.spatial) position_.emplace(i, position_.size());
    row_ = c_.rows.back();
    if (c_.rows.size() > 1) outer_row_ = c_.rows[c_.rows.size() - 2];
  }

  void run() {
    find_consumer();
    choose_tile();
    if (pack_) make_panels();
    take_up_rearrangement();
    tile_consumer();
    sum_in_registers();
    if (pack_) place_panels();
  }

 private:
  const Block& block() const { return s_.get(b_); }

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
    p.lanes = context_.lanes();
    p.registers = context_.registers();
    p.both_are_vectors = !c_.packable;
    std::int64_t all_rows = 1;
    for (std::size_t i : c_.rows) all_rows *= domain(block(), i);
    pack_ = c_.packable && p.depth > 1 &&
            (!c_.contiguous || (p.columns > 2 * p.lanes || p.columns % p.lanes != 0));
    p.padded_columns = pack_;
    Tile tile = best_tile(p);
    if (pack_ && c_.contiguous && p.columns % p.lanes == 0 && all_rows < kRowsThatPay) {
      pack_ = p.padded_columns = false;
      tile = best_tile(p);
    }
    const std::int64_t l = context_.lanes();
    columns_ = context_.choose(s_, tile.vectors * l, {l, 2 * l, 3 * l, 4 * l});
    rows_ = context_.choose(s_, tile.rows, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14});
    outer_rows_ = outer_row_ ? context_.choose(s_, tile.outer_rows, {1, 2, 3, 4}) : Expr(1);
  }

  /// The vector operand as panels of the tile's width, zeros beyond the last column.
  void make_panels() {
    std::vector<Expr> multiples(block().iters.size(), Expr(1));
    multiples[c_.column] = columns_;
    const Var column = block().iters[c_.column].var;
    std::vector<Var> from;
    std::vector<Expr> to{Expr()};
    for (const Range& r : block().reads[c_.vector_read].ranges) {
      from.push_back(Var("i" + std::to_string(from.size())));
      if (r.min.get() == column.get())
        to[0] = floordiv(from.back(), columns_);
      else
        to.push_back(from.back());
      if (r.min.get() == column.get()) column_dimension_ = from.size() - 1;
    }
    to.push_back(floormod(from[column_dimension_], columns_));
    panels_ = s_.pad_einsum(b_, multiples).at(0);
    s_.transform_layout(panels_, -1, IndexMap{from, to});
  }

  /// A block that only puts the vector operand into another form goes into the panels, or, without them, into the sums.
  void take_up_rearrangement() {
    const BlockRef reader = pack_ ? panels_ : b_;
    for (BlockRef p : s_.producers(reader)) {
      const Block& made = s_.get(p);
      const Buffer& operand = block_reads(reader, pack_ ? 0 : c_.vector_read);
      if (!made.is_reduction() && made.reads.size() == 1 && made.writes[0].buffer.same_as(operand) &&
          loop_count(s_, p) == made.iters.size())
        attempt(s_, [&](Schedule& s) { s.compute_inline(p); });
    }
  }
  const Buffer& block_reads(BlockRef b, std::size_t read) const { return s_.get(b).reads[read].buffer; }

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
    auto [ro, ri] = s_.split(at(row_), {_, rows_});
    std::vector<LoopRef> order;
    for (std::size_t i : c_.batch) order.push_back(at(i));
    if (c_.packable) order.push_back(co);
    LoopRef outer_tile, outer_inner;
    for (std::size_t i : c_.rows) {
      if (i == row_) continue;
      if (i == outer_row_) {
        if (c_.packable) {
          auto [o, inner] = s_.split(at(i), {_, outer_rows_});
          order.push_back(o);
          outer_inner = inner;
        } else {
          // A strip of the image: what its producers pad for it stays in the second cache.
          const std::int64_t rows = kStrip / (value_of(s_, outer_rows_) * rows_read(i));
          auto [strip, o, inner] = s_.split(at(i), {_, std::max<std::int64_t>(1, rows), outer_rows_});
          order.insert(order.end(), {strip, o});
          outer_inner = inner;
        }
      } else {
        order.push_back(at(i));
      }
    }
    order.push_back(ro);
    if (!c_.packable) order.push_back(co);
    if (outer_inner.defined()) order.push_back(outer_inner);
    order.insert(order.end(), {ri, ci});
    s_.reorder(order);
    if (outer_inner.defined()) s_.unroll(outer_inner);
    s_.unroll(ri);
    s_.vectorize(ci);
    column_tile_ = co;
    tile_ = c_.packable ? ro : co;
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
    const std::int64_t operations = value_of(s_, rows_) * value_of(s_, outer_rows_) *
                                    ((value_of(s_, columns_) + context_.lanes() - 1) / context_.lanes());
    std::int64_t steps = 1;
    for (std::size_t i = reduce.size(); i-- > 0;) {
      steps *= extent(s_, reduce[i]);
      if (steps > kUnrolledSteps || steps * operations > kUnrolledOperations) break;
      s_.unroll(reduce[i]);
    }
  }

  /// Each panel is made where its column tile begins.
  void place_panels() {
    s_.compute_at(panels_, column_tile_);
    const std::vector<LoopRef> loops = s_.loops(panels_);
    const std::size_t dimensions = s_.get(panels_).iters.size();
    const LoopRef lane = loops[loops.size() - dimensions + column_dimension_];
    std::vector<LoopRef> order(loops.end() - static_cast<std::ptrdiff_t>(dimensions), loops.end());
    std::erase(order, lane);
    order.push_back(lane);
    if (order.size() > 1) s_.reorder(order);
    s_.vectorize(lane);
  }

  Schedule& s_;
  const BlockRef b_;
  const Context& context_;
  const Contraction c_;
  std::map<std::size_t, std::size_t> position_;  ///< of a spatial variable among them
  std::size_t row_;
  std::optional<std::size_t> outer_row_;
  BlockRef out_, panels_;
  std::vector<std::int64_t> parts_;  ///< of the consumer's loops; empty: each is one of the sums'
  bool pack_ = false;
  Expr columns_, rows_, outer_rows_;
  std::size_t column_dimension_ = 0;  ///< of the vector operand
  LoopRef column_tile_, tile_;
};

void apply(Schedule& s, BlockRef b, const Context& context) { Tiling(s, b, context).run(); }

}  // namespace

const Rule tile_contraction = {"tile_contraction", "keep a tile of a contraction's sums in registers",
                               applies, apply};

}  // namespace lathe::rules
