// Rules that schedule any program for a CPU. See `apply_rules` in lathe/workload.h.
//
// Each rule tries a step and keeps it when the schedule allows it; so a program that fits no rule stays as it is, which is
// right and slow. With Choices::Open the same steps ask `sample_*` for their factors, and the trace is a template.

#include <algorithm>
#include <functional>

#include "ir/visitor.h"
#include "lathe/workload.h"

namespace lathe {
namespace {

class Rules {
 public:
  Rules(Schedule& s, const Target& target, const RuleOptions& options)
      : s_(s),
        options_(options),
        lanes_(target.is_cpu() ? std::max<std::int64_t>(1, target.cpu().lanes(32)) : 4),
        registers_(target.is_cpu() ? target.cpu().vector_registers : 16),
        cores_(target.is_cpu() ? target.cpu().cores : 1) {}

  void run() {
    inline_elementwise();
    for (BlockRef b : s_.blocks()) {
      if (is_contraction(b)) tile_contraction(b);
    }
    compute_in_rows();
    for (BlockRef b : s_.blocks()) vectorize_block(b);
    if (options_.parallel) run_parallel();
  }

 private:
  // ---- trying ----

  /// Applies `step` when it is legal as a whole.
  bool attempt(const std::function<void(Schedule&)>& step) {
    Schedule trial = s_.fork();
    try {
      step(trial);
    } catch (const ScheduleError&) {
      return false;
    }
    s_ = std::move(trial);
    return true;
  }
  bool alive(BlockRef b) const {
    try {
      s_.get(b);
      return true;
    } catch (const ScheduleError&) {
      return false;
    }
  }
  static std::int64_t fixed(const std::optional<std::int64_t>& e) { return e.value_or(1 << 20); }
  std::int64_t extent(LoopRef l) { return fixed(s_.extent(l)); }
  /// A factor: `value`, or an open choice whose first option it is.
  Expr choose(Schedule& s, std::int64_t value, std::vector<std::int64_t> others) const {
    if (options_.choices == Choices::Fixed) return Expr(value);
    std::erase(others, value);
    others.insert(others.begin(), value);
    return s.sample_choice(others);
  }

  // ---- looking ----

  bool is_reduction(BlockRef b) const { return s_.get(b).is_reduction(); }
  bool is_contraction(BlockRef b) const {
    const Block& block = s_.get(b);
    if (!block.is_reduction() || block.reducer->name != "sum" || block.reads.size() < 2 ||
        block.partner.defined())
      return false;
    std::int64_t spatial = 0;
    for (const IterVar& i : block.iters) spatial += i.kind == IterKind::Spatial && !is_int(i.extent, 1);
    return spatial >= 1;
  }
  bool writes_output(BlockRef b) const {
    const Block& block = s_.get(b);
    for (const Param& p : s_.program()->params) {
      for (const BufferRegion& w : block.writes) {
        if (p.buffer.same_as(w.buffer)) return true;
      }
    }
    return false;
  }
  /// Iterations of all loops round the block.
  double work(const Schedule& s, BlockRef b) const {
    Schedule look = s.fork();
    double product = 1;
    for (LoopRef l : look.loops(b)) product *= static_cast<double>(fixed(look.extent(l)));
    return product;
  }
  static bool is_expensive(const Block& block) {
    bool found = false;
    walk(block.body, {}, [&](const Expr& e) {
      const Call* c = e.as<Call>();
      found |= c && c->op <= Intrinsic::Rsqrt;
      return !found;
    });
    return found;
  }
  static bool guards_loads(const Block& block) {
    bool found = false;
    walk(block.body, {}, [&](const Expr& e) {
      found |= e.as<Select>() != nullptr;
      return !found;
    });
    return found;
  }

  // ---- rules ----

  /// Cheap elementwise blocks go into their consumers; guarded ones (padding) only where each value is used once.
  void inline_elementwise() {
    for (BlockRef b : s_.blocks()) {
      const Block& block = s_.get(b);
      if (block.is_reduction() || writes_output(b)) continue;
      bool into_reduction = false;
      const std::vector<BlockRef> consumers = s_.consumers(b);
      for (BlockRef c : consumers) into_reduction |= is_reduction(c);
      if ((is_expensive(block) && (consumers.size() > 1 || into_reduction)) ||
          (guards_loads(block) && into_reduction))
        continue;
      attempt([&](Schedule& s) { s.compute_inline(b); });
    }
  }

  /// Registers for a tile: rows x columns of accumulators, a column of the vector operand, one broadcast.
  void tile_contraction(BlockRef b) {
    // A consumer that works element by element is tiled instead, and the contraction computed in its tiles.
    std::vector<BlockRef> consumers = s_.consumers(b);
    const bool fused = consumers.size() == 1 && !is_reduction(consumers[0]) && writes_output(consumers[0]) &&
                       s_.loops(consumers[0]).size() == spatial_loops(b);
    if (fused && attempt([&](Schedule& s) { tile_with_epilogue(s, b, consumers[0]); })) return;
    attempt([&](Schedule& s) { tile_alone(s, b); });
  }

  std::size_t spatial_loops(BlockRef b) const {
    std::size_t n = 0;
    for (const IterVar& i : s_.get(b).iters) n += i.kind == IterKind::Spatial;
    return n;
  }

  /// Columns: two or three vectors; rows: as many as the registers then hold, near a divisor of the extent.
  struct TileShape {
    std::int64_t rows, columns;
  };
  TileShape tile_shape(std::int64_t row_extent, std::int64_t column_extent) const {
    TileShape best{1, lanes_};
    double best_score = -1;
    for (std::int64_t vectors : {2, 3, 1, 4}) {
      for (std::int64_t rows = 1; rows <= 12; ++rows) {
        if (rows * vectors + vectors + 1 > registers_) continue;
        const std::int64_t columns = vectors * lanes_;
        auto use = [](std::int64_t extent, std::int64_t tile) {
          const std::int64_t tiles = (extent + tile - 1) / tile;
          return extent == 0 ? 1.0 : static_cast<double>(extent) / static_cast<double>(tiles * tile);
        };
        // Loads a multiply-add: 1/rows of a vector and 1/vectors of a broadcast.
        const double intensity =
            1.0 / (1.0 + 0.5 / static_cast<double>(rows) + 0.5 / static_cast<double>(vectors));
        const double latency = std::min(1.0, static_cast<double>(rows * vectors) / 10.0);
        const double score =
            use(row_extent, rows) * use(column_extent, columns) * intensity * (0.3 + 0.7 * latency);
        if (score > best_score) {
          best_score = score;
          best = {rows, columns};
        }
      }
    }
    return best;
  }

  /// The loop whose iterations read the same vector operand: the last spatial loop but one with more than one iteration.
  std::size_t row_loop(const Schedule& s, const std::vector<LoopRef>& spatial) const {
    for (std::size_t i = spatial.size() - 1; i-- > 0;) {
      if (fixed(s.extent(spatial[i])) > 1) return i;
    }
    return spatial.size() >= 2 ? spatial.size() - 2 : 0;
  }

  void tile_with_epilogue(Schedule& s, BlockRef b, BlockRef out) {
    std::vector<LoopRef> loops = s.loops(out);
    const std::size_t row = row_loop(s, loops);
    const TileShape shape =
        tile_shape(loops.size() > 1 ? fixed(s.extent(loops[row])) : 1, fixed(s.extent(loops.back())));
    auto [co, ci] = s.split(loops.back(), {_, choose(s, shape.columns, column_choices())});
    std::vector<LoopRef> order;
    if (loops.size() > 1) {
      auto [ro, ri] = s.split(loops[row], {_, choose(s, shape.rows, row_choices())});
      for (std::size_t i = 0; i + 1 < loops.size(); ++i) order.push_back(i == row ? ro : loops[i]);
      order.insert(order.end(), {co, ri, ci});
      s.reorder(order);
      s.unroll(ri);
    }
    s.compute_at(b, co);
    s.vectorize(ci);
    // Below the tile: one loop a variable, spatial ones first. The tile innermost, the reduction round it.
    const std::vector<LoopRef> inner = s.loops(b);
    const std::size_t spatial = spatial_loops(b), first = inner.size() - s.get(b).iters.size();
    std::vector<LoopRef> nest(inner.begin() + static_cast<std::ptrdiff_t>(first + spatial), inner.end());
    for (std::size_t i = 0; i < spatial; ++i) nest.push_back(inner[first + i]);
    s.reorder(nest);
    s.vectorize(inner[first + spatial - 1]);
    if (loops.size() > 1) s.unroll(inner[first + row]);
    s.set_scope(b, Scope::Local);
  }

  void tile_alone(Schedule& s, BlockRef b) {
    const std::vector<LoopRef> loops = s.loops(b);
    const std::size_t spatial = spatial_loops(b);
    if (loops.size() != s.get(b).iters.size()) return;  // scheduled already
    const std::vector<LoopRef> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(spatial));
    const std::size_t row = row_loop(s, outer);
    const TileShape shape =
        tile_shape(spatial > 1 ? fixed(s.extent(outer[row])) : 1, fixed(s.extent(outer.back())));
    const Expr columns = choose(s, shape.columns, column_choices());
    auto [co, ci] = s.split(outer.back(), {_, columns});
    std::vector<LoopRef> order, reduce(loops.begin() + static_cast<std::ptrdiff_t>(spatial), loops.end());
    // A long last reduce loop is blocked, so that the vector operand's panel stays in cache.
    const bool block_reduction = reduce.size() == 1 && fixed(s.extent(reduce[0])) > 384 && spatial == 2;
    LoopRef outer_reduce, tile_loop = co;
    if (block_reduction) {
      auto [ko, ki] = s.split(reduce[0], {_, choose(s, 256, {128, 192, 256, 384, 512})});
      outer_reduce = ko;
      reduce[0] = ki;
    }
    LoopRef ri;
    if (spatial > 1) {
      const Expr rows = choose(s, shape.rows, row_choices());
      if (block_reduction) {
        // Rows in panels, so that a panel of the other operand is reused from the second-level cache.
        auto [panel, ro, r] =
            s.split(outer[row],
                    {_, choose(s, std::max<std::int64_t>(1, 120 / shape.rows), {8, 12, 16, 20, 32}), rows});
        s.reorder({outer_reduce, panel, co, ro, reduce[0], r, ci});
        ri = r;
        tile_loop = ro;
      } else {
        auto [ro, r] = s.split(outer[row], {_, rows});
        for (std::size_t i = 0; i + 1 < outer.size(); ++i) order.push_back(i == row ? ro : outer[i]);
        order.push_back(co);
        order.insert(order.end(), reduce.begin(), reduce.end());
        order.insert(order.end(), {r, ci});
        s.reorder(order);
        ri = r;
      }
    } else {
      order = {co};
      order.insert(order.end(), reduce.begin(), reduce.end());
      order.push_back(ci);
      s.reorder(order);
    }
    std::vector<BlockRef> copies;
    if (block_reduction) {
      const std::string base = s.get(b).writes[0].buffer->name;
      copies.push_back(s.cache_write(b, Scope::Local, tile_loop));
      copies.push_back(s.block(base + "_load"));
    } else {
      BlockRef store = s.cache_write(b, Scope::Local);
      s.reverse_compute_at(store, tile_loop);
      copies.push_back(store);
    }
    for (BlockRef c : copies) {
      const std::vector<LoopRef> l = s.loops(c);
      s.vectorize(l.back());
      if (spatial > 1) s.unroll(l[l.size() - spatial + row]);
    }
    s.vectorize(ci);
    if (ri.defined()) s.unroll(ri);
    if (block_reduction) pack_operand(s, b, outer_reduce, columns);
  }

  /// Packs the operand that the vector loop runs along into panels of the tile's width, one a reduce block.
  void pack_operand(Schedule& s, BlockRef b, LoopRef at, const Expr& columns) const {
    const Block& block = s.get(b);
    const Var last = last_spatial(block);
    for (std::size_t i = 0; i < block.reads.size(); ++i) {
      const BufferRegion& r = block.reads[i];
      if (r.ranges.size() != 2 || r.ranges[1].min.get() != last.get()) continue;
      Schedule trial = s.fork();
      try {
        BlockRef pack = trial.cache_read(b, static_cast<int>(i), Scope::Global);
        const std::int64_t width = as_factor_value(trial, columns);
        Var k("k"), j("j");
        trial.transform_layout(pack, -1, IndexMap{{k, j}, {floordiv(j, width), k, floormod(j, width)}});
        trial.compute_at(pack, at);
        std::vector<LoopRef> l = trial.loops(pack);
        auto [jo, ji] = trial.split(l.back(), {_, width});
        trial.reorder({jo, l[l.size() - 2], ji});
        trial.vectorize(ji);
        s = std::move(trial);
      } catch (const ScheduleError&) {
      }
      return;
    }
  }
  static std::int64_t as_factor_value(const Schedule& s, const Expr& e) {
    if (auto v = as_int(e)) return *v;
    const std::string name = e.as<VarNode>()->name;  // a sampled factor
    return s.value(Factor(static_cast<std::uint32_t>(std::stoul(name.substr(1))), Var(e.as<VarNode>())));
  }
  static Var last_spatial(const Block& block) {
    Var out;
    for (const IterVar& i : block.iters) {
      if (i.kind == IterKind::Spatial) out = i.var;
    }
    return out;
  }
  std::vector<std::int64_t> column_choices() const { return {lanes_, 2 * lanes_, 3 * lanes_, 4 * lanes_}; }
  static std::vector<std::int64_t> row_choices() { return {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}; }

  /// Producers move into the outermost loops of the program's last block, as deep as costs no recomputation.
  void compute_in_rows() {
    std::vector<BlockRef> blocks = s_.blocks();
    for (std::size_t i = blocks.size(); i-- > 0;) {
      BlockRef b = blocks[i];
      if (!alive(b) || writes_output(b) || is_contraction(b)) continue;
      const double before = work(s_, b);
      std::vector<BlockRef> consumers = s_.consumers(b);
      if (consumers.empty()) continue;
      std::vector<LoopRef> places = s_.loops(consumers.back());
      for (std::size_t d = places.size(); d-- > 0;) {
        // The innermost loop stays a vector; a row of its own would be one element.
        if (d + 1 == places.size() && places.size() > 1) continue;
        if (s_.get(places[d]).for_kind != ForKind::Serial || fixed(s_.extent(places[d])) <= 1) continue;
        Schedule trial = s_.fork();
        try {
          trial.compute_at(b, places[d]);
        } catch (const ScheduleError&) {
          continue;
        }
        if (work(trial, b) > before * 1.01) continue;
        s_ = std::move(trial);
        break;
      }
    }
  }

  void vectorize_block(BlockRef b) {
    if (!alive(b)) return;
    std::vector<LoopRef> loops = s_.loops(b);
    if (loops.empty()) return;
    for (LoopRef l : loops) {
      if (s_.get(l).for_kind == ForKind::Vectorized) return;
    }
    // The loop along the innermost dimension of what the block writes, or, for a row reduction, the last reduce loop.
    const Block& block = s_.get(b);
    LoopRef along;
    const Expr& index = block.writes[0].ranges.empty() ? Expr(0) : block.writes[0].ranges.back().min;
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      if (block.iters[i].var.get() != index.get()) continue;
      for (LoopRef l : loops) {
        if (s_.get(l).var.get() == block.bindings[i].get() || mentions(block.bindings[i], s_.get(l).var))
          along = l;
      }
    }
    if (block.is_reduction() && is_last_reduced(block)) {
      const LoopRef last = loops.back();
      if (reduces(block, last) && attempt([&](Schedule& s) { lanes_of_reduction(s, b, last); })) return;
    }
    if (!along.defined()) return;
    if (block.is_reduction()) {
      attempt([&](Schedule& s) {
        auto [o, v] =
            s.split(along, {_, choose(s, 4 * lanes_, {lanes_, 2 * lanes_, 4 * lanes_, 8 * lanes_})});
        std::vector<LoopRef> order;
        bool after = false;
        for (LoopRef l : loops) {
          if (l == along)
            order.push_back(o), after = true;
          else if (after)
            order.push_back(l);
        }
        order.push_back(v);
        s.reorder(order);
        s.vectorize(v);
      });
      return;
    }
    attempt([&](Schedule& s) {
      const std::int64_t width =
          std::min<std::int64_t>(4 * lanes_, ((extent(along) + lanes_ - 1) / lanes_) * lanes_);
      auto [o, v] = s.split(
          along, {_, choose(s, std::max(lanes_, width), {lanes_, 2 * lanes_, 4 * lanes_, 8 * lanes_})});
      if (along != loops.back()) {
        std::vector<LoopRef> order{o};
        bool after = false;
        for (LoopRef l : loops) {
          if (after) order.push_back(l);
          after |= l == along;
        }
        order.push_back(v);
        s.reorder(order);
      }
      s.vectorize(v);
    });
  }

  /// Does the block read its inputs along the last reduce variable in their innermost dimension?
  static bool is_last_reduced(const Block& block) {
    if (block.iters.empty() || block.iters.back().kind != IterKind::Reduce) return false;
    for (const BufferRegion& r : block.reads) {
      if (!r.ranges.empty() && mentions(r.ranges.back().min, block.iters.back().var)) return true;
    }
    return false;
  }
  bool reduces(const Block& block, LoopRef loop) const {
    return !block.bindings.empty() && mentions(block.bindings.back(), s_.get(loop).var);
  }

  /// Partial results in lanes, reduced at the end of the row.
  void lanes_of_reduction(Schedule& s, BlockRef b, LoopRef last) const {
    const std::vector<LoopRef> loops = s.loops(b);
    auto [o, v] = s.split(last, {_, choose(s, 4 * lanes_, {lanes_, 2 * lanes_, 4 * lanes_, 8 * lanes_})});
    const BlockRef partial = s.rfactor(b, v, s.get(b).writes[0].buffer->rank());
    if (loops.size() > 1) s.reverse_compute_at(b, loops[loops.size() - 2]);
    s.set_scope(partial, Scope::Local);
    s.vectorize(v);
  }

  /// The outer loops of each top-level nest, fused until there is enough for all threads, run in parallel.
  void run_parallel() {
    std::vector<const VarNode*> seen;
    for (BlockRef b : s_.blocks()) {
      if (!alive(b)) continue;
      std::vector<LoopRef> loops = s_.loops(b);
      if (loops.empty() || work(s_, b) < 32768) continue;
      const VarNode* top = s_.get(loops[0]).var.node();
      if (std::find(seen.begin(), seen.end(), top) != seen.end()) continue;
      // The outermost loop that may be parallel, with those below it that fuse.
      for (std::size_t first = 0; first < loops.size() && first < 3; ++first) {
        if (s_.get(loops[first]).for_kind != ForKind::Serial) break;
        bool done = false;
        for (std::size_t count = std::min<std::size_t>(3, loops.size() - first); count >= 1 && !done;
             --count) {
          std::vector<LoopRef> fused(loops.begin() + static_cast<std::ptrdiff_t>(first),
                                     loops.begin() + static_cast<std::ptrdiff_t>(first + count));
          std::int64_t trips = 1;
          for (std::size_t i = 0; i + 1 < count; ++i) trips *= extent(fused[i]);
          if (count > 1 && trips >= 4 * cores_) continue;  // fewer loops are enough
          done = attempt([&](Schedule& s) { s.parallel(count == 1 ? fused[0] : s.fuse(fused)); });
        }
        if (done || extent(loops[first]) > 1) {
          if (done) break;
        }
      }
      if (!s_.loops(b).empty()) seen.push_back(s_.get(s_.loops(b)[0]).var.node());
    }
  }

  Schedule& s_;
  RuleOptions options_;
  std::int64_t lanes_, registers_, cores_;
};

}  // namespace

void apply_rules(Schedule& schedule, const Target& target, const RuleOptions& options) {
  Rules(schedule, target, options).run();
}

}  // namespace lathe
