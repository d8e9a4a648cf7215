#include "driver/rules/contraction.h"

#include <algorithm>

#include "ir/visitor.h"

namespace lathe::rules {
namespace {

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
  if (!block.is_reduction() || block.partner.defined() || block.writes.size() != 1 ||
      block.reads.size() < 2 || block.reducer->name != "sum")
    return std::nullopt;
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
  std::size_t depend_on_column = 0;
  for (std::size_t r = 0; r < block.reads.size(); ++r) {
    if (!mentions(block.reads[r], block.iters[c.column].var)) continue;
    ++depend_on_column;
    if (!is_summed_over(block, block.reads[r])) continue;  // a factor of each sum, not an operand
    std::vector<std::size_t> rows;
    for (std::size_t i : c.spatial) {
      if (domain(block, i) != 1 && !mentions(block.reads[r], block.iters[i].var)) rows.push_back(i);
    }
    if (rows.size() <= c.rows.size()) continue;
    c.rows = rows;
    c.vector_read = r;
    c.contiguous = block.reads[r].ranges.back().min.get() == block.iters[c.column].var.get();
  }
  if (c.rows.empty()) return std::nullopt;
  // Subscripts that are expressions of the columns cannot be packed into panels.
  c.packable = depend_on_column == 1;
  for (const Range& r : block.reads[c.vector_read].ranges)
    c.packable &=
        r.min.get() == block.iters[c.column].var.get() || !lathe::mentions(r.min, block.iters[c.column].var);
  if (!c.contiguous && !c.packable) return std::nullopt;
  for (std::size_t i : c.spatial) {
    if (i != c.column && !c.is_row(i)) c.batch.push_back(i);
  }
  c.row_read = row_operand(block, c);
  return c;
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
