// Attention, in tiles of rows: the whole matrix of scores never exists.

#include <cmath>
#include <limits>

#include "schedules/library.h"
#include "schedules/tiling.h"

namespace lathe {

using namespace library;

void link_attention() {}

LATHE_WORKLOAD(attention, "softmax(q k^T / sqrt(dim)) v for each head, all [b,heads,seq,dim]",
               {{"b", 1, "batch"},
                {"heads", 12, "heads"},
                {"seq", 128, "positions"},
                {"dim", 64, "size of a head"},
                {"causal", 0, "1: a position sees itself and those before it"}}) {
  need_float(args);
  const std::int64_t b = args["b"], heads = args["heads"], seq = args["seq"], dim = args["dim"];
  args.require(dim >= 1, "dim is at least 1");
  const bool causal = args["causal"] != 0;
  const DataType t = args.dtype(), w = wide_type(t);
  const std::vector<Expr> shape = {b, heads, seq, dim}, square = {b, heads, seq, seq}, rows = {b, heads, seq};
  Tensor q = placeholder("q", shape, t), k = placeholder("k", shape, t), v = placeholder("v", shape, t);
  Axis rd = reduce_axis(dim, "rd"), rt = reduce_axis(seq, "rt"), rs = reduce_axis(seq, "rs"),
       rv = reduce_axis(seq, "rv");

  Tensor scores = compute("scores", square, [&](Var n, Var h, Var i, Var j) {
    return sum(wide(q(n, h, i, rd)) * wide(k(n, h, j, rd)), {rd});
  });
  Tensor scaled = compute("scaled", square, [&](Var n, Var h, Var i, Var j) {
    const Expr x = scores(n, h, i, j) * make_float(w, 1 / std::sqrt(static_cast<double>(dim)));
    return causal ? select(j <= i, x, make_float(w, -std::numeric_limits<double>::infinity())) : x;
  });
  Tensor top = compute("top", rows, [&](Var n, Var h, Var i) { return max(scaled(n, h, i, rt), {rt}); });
  Tensor e = compute("e", square,
                     [&](Var n, Var h, Var i, Var j) { return exp(scaled(n, h, i, j) - top(n, h, i)); });
  Tensor total = compute("total", rows, [&](Var n, Var h, Var i) { return sum(e(n, h, i, rs), {rs}); });
  Tensor mixed = compute("mixed", shape, [&](Var n, Var h, Var i, Var d) {
    return sum(e(n, h, i, rv) * wide(v(n, h, rv, d)), {rv});
  });
  Tensor out = compute("out", shape, [&](Var n, Var h, Var i, Var d) {
    return narrow(mixed(n, h, i, d) * (1.0 / total(n, h, i)), t);
  });
  return program("attention", {q, k, v}, {out});
}

//     k_panels   k with `columns` positions side by side, so that they are one load
//     for batch, head, tile of rows (parallel):
//       for tile of positions:  scores[rows, positions] in registers, over dim
//       top, e, total           of the rows, along vectors
//       for tile of dim:        mixed[rows, dims] in registers, over positions;  out = mixed * (1 / total)
LATHE_SCHEDULE(attention) {
  Schedule& s = schedule;
  if (computes_nothing(s)) return;
  const BlockRef scores = s.block("scores"), top = s.block("top"), e = s.block("e"), total = s.block("total"),
                 mixed = s.block("mixed"), out = s.block("out");
  const Registers registers = registers_of(target, s.get(scores).writes[0].buffer->dtype);
  const std::int64_t columns = 2 * registers.lanes, lanes = 4 * registers.lanes;
  s.compute_inline(s.block("scaled"));
  auto [n, h, i, d] = s.loops<4>(out);
  // As many rows as there are registers for, or fewer that leave no last tile to be guarded: all tiles are one parallel loop.
  const std::int64_t most = registers.count >= 32 ? 12 : 6, positions = s.extent(i).value_or(1);
  std::int64_t best = most;
  while (best > most / 2 && positions % best != 0) --best;
  if (positions % best != 0) best = most;
  const Expr rows = choose(s, choices, best, {4, 5, 6, 8, 12});
  auto [io, ii] = s.split(i, {_, rows});
  auto [dd, di] = s.split(d, {_, columns});
  s.reorder({n, h, io, dd, ii, di});
  s.unroll(ii);
  s.vectorize(di);
  for (BlockRef row_block : {total, e, top, scores}) {
    if (row_block == total) {  // mixed first: it is the last consumer of e
      s.compute_at(mixed, dd);
      const std::vector<LoopRef> all = s.loops(mixed);
      const std::vector<LoopRef> l(all.end() - 5, all.end());  // batch, head, row, dim, position
      s.reorder({l[4], l[0], l[1], l[2], l[3]});
      s.unroll(l[2]);
      s.vectorize(l[3]);
      s.set_scope(mixed, Scope::Local);
    }
    s.compute_at(row_block, io);
  }
  for (BlockRef reduction : {top, total}) {
    // Several vectors to one, that one to a number: the last steps wait for one another.
    for (std::int64_t width : {lanes, registers.lanes})
      reduce_in_lanes(s, reduction, s.loops(reduction).back(), Expr(width));
    s.unroll(s.loops(reduction).back());
  }
  auto [eo, ei] = s.split(s.loops(e).back(), {_, lanes});
  s.vectorize(ei);

  const std::vector<LoopRef> all = s.loops(scores);
  const std::vector<LoopRef> l(all.end() - 5, all.end());  // batch, head, row, position, dim
  auto [jo, ji] = s.split(l[3], {_, columns});
  s.reorder({l[0], l[1], jo, l[4], l[2], ji});
  s.unroll(l[2]);
  s.vectorize(ji);
  const BlockRef store = s.cache_write(scores, Scope::Local);
  s.reverse_compute_at(store, jo);
  const std::vector<LoopRef> copied = s.loops(store);
  s.vectorize(copied.back());
  s.unroll(copied[copied.size() - 2]);

  const BlockRef panels = s.cache_read(scores, 1, Scope::Global);
  Var b("b"), g("g"), j("j"), f("f");
  s.transform_layout(panels, -1,
                     IndexMap{{b, g, j, f}, {b, g, floordiv(j, columns), f, floormod(j, columns)}});
  auto [pb, ph, pj, pd] = s.loops<4>(panels);
  auto [po, pi] = s.split(pj, {_, columns});
  s.reorder({pb, ph, po, pd, pi});
  s.vectorize(pi);
  parallelize(s, panels, 3);
  parallelize(s, out, 3);
}

}  // namespace lathe
