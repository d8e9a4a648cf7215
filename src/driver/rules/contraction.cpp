#include "driver/rules/contraction.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "arith/block_access.h"
#include "ir/visitor.h"

namespace lathe::rules {
namespace {

constexpr std::int64_t kRowsThatShare = 4;

bool is_summed_over(const Block& block, const BufferRegion& access) {
  return std::ranges::any_of(
      block.iters, [&](const IterVar& i) { return i.kind == IterKind::Reduce && mentions(access, i.var); });
}

/// An operand with the only rows in one plain subscript, without the columns.
std::optional<std::size_t> row_operand(const Block& block, const Contraction& c) {
  if (c.rows.size() != 1) return std::nullopt;
  const Var row = block.iters[c.rows[0]].var;
  std::optional<std::size_t> found;
  for (std::size_t r = 0; r < block.reads.size(); ++r) {
    const BufferRegion& read = block.reads[r];
    if (!mentions(read, row) || !is_summed_over(block, read)) continue;
    const bool plain = std::ranges::all_of(read.ranges, [](const Range& x) {
      return x.min.as<VarNode>() != nullptr || as_int(x.min).has_value();
    });
    if (found || !plain || mentions(read, block.iters[c.column].var)) return std::nullopt;
    found = r;
  }
  return found;
}

std::optional<std::vector<std::int64_t>> parts_of(const Block& out, const BufferRegion& access) {
  std::vector<std::int64_t> parts;
  std::size_t d = 0;
  for (const IterVar& i : out.iters) {
    if (d == access.ranges.size()) return std::nullopt;
    const Expr& at = access.ranges[d].min;
    if (is_int(i.extent, 1) || at.get() == i.var.get()) {
      parts.push_back(1);
      ++d;
      continue;
    }
    if (d + 1 == access.ranges.size()) return std::nullopt;
    const Binary *outer = as_binary(at, BinaryOp::FloorDiv),
                 *inner = as_binary(access.ranges[d + 1].min, BinaryOp::FloorMod);
    if (!outer || !inner || outer->a.get() != i.var.get() || inner->a.get() != i.var.get() ||
        !as_int(outer->b) || as_int(outer->b) != as_int(inner->b))
      return std::nullopt;
    parts.push_back(*as_int(outer->b));
    d += 2;
  }
  return d == access.ranges.size() ? std::optional(parts) : std::nullopt;
}

}  // namespace

std::vector<Operand> operands(const Block& block) {
  std::vector<Operand> found;
  for (std::size_t r = 0; r < block.reads.size(); ++r) {
    const Buffer& buffer = block.reads[r].buffer;
    const std::vector<std::vector<Expr>> ways = arith::ways_to_read(block, buffer);
    const auto variables = [&](const std::vector<Expr>& way) {
      std::vector<bool> used;
      for (const IterVar& i : block.iters)
        used.push_back(std::ranges::any_of(way, [&](const Expr& e) { return lathe::mentions(e, i.var); }));
      return used;
    };
    std::vector<std::vector<bool>> kinds;
    for (const std::vector<Expr>& way : ways) {
      if (std::ranges::count(kinds, variables(way)) == 0) kinds.push_back(variables(way));
    }
    if (kinds.size() < ways.size()) {
      found.push_back({block.reads[r], r, std::nullopt});
      continue;
    }
    for (std::size_t w = 0; w < ways.size(); ++w) {
      BufferRegion element{buffer, {}};
      for (const Expr& e : ways[w]) element.ranges.push_back({e, 1});
      found.push_back(
          {std::move(element), r, ways.size() > 1 ? std::optional(static_cast<int>(w)) : std::nullopt});
    }
  }
  return found;
}

std::optional<std::int64_t> step_along(const BufferRegion& access, const Var& var) {
  std::int64_t step = 0, inside = 1;
  arith::Analyzer analyzer;
  for (std::size_t d = access.ranges.size(); d-- > 0;) {
    const Expr& at = access.ranges[d].min;
    if (lathe::mentions(at, var)) {
      const auto each = as_int(analyzer.simplify(substitute(at, VarMap{{var.node(), var + 1}}) - at));
      if (!each || inside == 0) return std::nullopt;
      step += *each * inside;
    }
    const auto size = as_int(access.buffer->shape[d]);
    inside = size ? inside * *size
                  : 0;  // what is known at run time only hides the steps of the dimensions before it
  }
  return step;
}

std::int64_t domain(const Block& block, std::size_t i) {
  return as_int(block.iters[i].extent).value_or(1 << 20);
}

std::int64_t depth(const Block& block) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Reduce) product *= domain(block, i);
  }
  return product;
}

std::optional<Contraction> contraction(const Block& block) {
  if (!block.is_reduction() || block.partner.defined() || block.writes.size() != 1) return std::nullopt;
  const std::vector<Operand> all = operands(block);
  if (all.size() < 2) return std::nullopt;
  Contraction c;
  c.spatial = spatial_variables(block);
  // The innermost dimension of the result that has an extent.
  std::optional<std::size_t> column;
  for (const Range& r : block.writes[0].ranges) {
    for (std::size_t i : c.spatial) {
      if (r.min.get() == block.iters[i].var.get() && domain(block, i) != 1) column = i;
    }
  }
  if (!column) return std::nullopt;
  c.column = *column;
  const Operand* vector = nullptr;
  for (const Operand& o : all) {
    if (!mentions(o.access, block.iters[c.column].var)) continue;
    ++c.column_operands;
    if (!is_summed_over(block, o.access)) continue;  // a factor of each sum, not an operand
    std::vector<std::size_t> rows;
    for (std::size_t i : c.spatial) {
      if (domain(block, i) != 1 && !mentions(o.access, block.iters[i].var)) rows.push_back(i);
    }
    if (rows.size() <= c.rows.size()) continue;
    c.rows = rows;
    vector = &o;
  }
  if (c.rows.empty()) return std::nullopt;
  const Var& along = block.iters[c.column].var;
  c.vector_read = vector->read;
  c.vector_way = vector->way;
  const std::optional<std::int64_t> step = step_along(vector->access, along);
  c.contiguous = step == 1;
  c.shared = std::ranges::none_of(all, [&](const Operand& o) {
    return mentions(o.access, along) &&
           std::ranges::any_of(c.rows, [&](std::size_t i) { return mentions(o.access, block.iters[i].var); });
  });
  c.packable = c.column_operands == 1 && std::ranges::all_of(vector->access.ranges, [&](const Range& r) {
                 return r.min.get() == along.get() || !lathe::mentions(r.min, along);
               });
  // A vector with gaps is put together from its elements, which several rows must share.
  std::int64_t rows = 1;
  for (std::size_t i : c.rows) rows *= domain(block, i);
  const bool gathered = c.shared && step && rows >= kRowsThatShare;
  if (!c.contiguous && !c.packable && !gathered) return std::nullopt;
  for (std::size_t i : c.spatial) {
    if (i != c.column && !c.is_row(i)) c.batch.push_back(i);
  }
  c.row_read = row_operand(block, c);
  return c;
}

Contraction with_own_buffers(Schedule& s, BlockRef b) {
  const Contraction c = *contraction(s.get(b));
  if (!c.vector_way) return c;
  s.cache_read(b, static_cast<int>(c.vector_read), Scope::Global, *c.vector_way);
  return *contraction(s.get(b));
}

std::optional<std::vector<std::int64_t>> epilogue_parts(Schedule& s, BlockRef contraction,
                                                        BlockRef consumer) {
  const Block& out = s.get(consumer);
  if (out.is_reduction() || !writes_output(s, consumer) || loop_count(s, consumer) != out.iters.size())
    return std::nullopt;
  std::optional<std::vector<std::int64_t>> parts;
  for (const BufferRegion& r : out.reads) {
    if (!r.buffer.same_as(s.get(contraction).writes[0].buffer)) continue;
    const std::optional<std::vector<std::int64_t>> these = parts_of(out, r);
    if (!these || (parts && *parts != *these)) return std::nullopt;
    parts = these;
  }
  return parts;
}

}  // namespace lathe::rules
