#include "arith/block_access.h"

#include <algorithm>

namespace lathe::arith {

Region access_over(const Block& block, const BufferRegion& access, const std::vector<Domain>& loops,
                   Analyzer& analyzer) {
  VarMap map;
  for (std::size_t i = 0; i < block.iters.size(); ++i)
    map.emplace(block.iters[i].var.node(), block.bindings[i]);
  const BufferRegion bound = substitute(access, map);
  auto is_used = [&](const Var& v) {
    return std::any_of(bound.ranges.begin(), bound.ranges.end(),
                       [&](const Range& r) { return mentions(r.min, v) || mentions(r.extent, v); });
  };
  std::vector<Domain> used;
  std::vector<const VarNode*> unused;
  for (const Domain& d : loops) {
    if (is_used(d.var))
      used.push_back(d);
    else
      unused.push_back(d.var.node());
  }
  Expr predicate = true_expr();
  for (const Expr& c : conjuncts(block.predicate)) {
    const bool about_unused = mentions_any(
        c, [&](const VarNode* v) { return std::find(unused.begin(), unused.end(), v) != unused.end(); });
    if (!about_unused) predicate = conjunction(predicate, c);
  }
  return relax(bound, used, predicate, analyzer);
}

namespace {

/// Variables that statements inside the block bind.
std::vector<const VarNode*> bound_inside(const Block& block) {
  std::vector<const VarNode*> out;
  walk(block.body, [&](const Stmt& s) {
    if (const For* loop = s.as<For>()) out.push_back(loop->var.node());
    if (const Let* let = s.as<Let>()) out.push_back(let->var.node());
    if (const Block* inner = s.as<Block>()) {
      for (const IterVar& i : inner->iters) out.push_back(i.var.node());
    }
    return true;
  });
  return out;
}

/// The regions of a block that never runs (an extent or a buffer is empty): its subscripts (whole dimensions where they vary
/// inside), so that who reads and writes what stays known.
void regions_by_subscript(Block& block) {
  block.reads.clear();
  block.writes.clear();
  const std::vector<const VarNode*> inside = bound_inside(block);
  auto note = [&](std::vector<BufferRegion>& list, const Buffer& buffer, const std::vector<Expr>& indices) {
    if (std::any_of(list.begin(), list.end(),
                    [&](const BufferRegion& r) { return r.buffer.same_as(buffer); }))
      return;
    BufferRegion region{buffer, {}};
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (mentions_any(indices[d], [&](const VarNode* v) { return std::ranges::count(inside, v) > 0; }))
        region.ranges.push_back({0, buffer->shape[d]});
      else
        region.ranges.push_back({indices[d], 1});
    }
    list.push_back(std::move(region));
  };
  walk(
      block.body,
      [&](const Stmt& s) {
        if (const Store* store = s.as<Store>()) note(block.writes, store->buffer, store->indices);
        return true;
      },
      [&](const Expr& e) {
        if (const Load* load = e.as<Load>()) note(block.reads, load->buffer, load->indices);
        return true;
      });
  if (!block.is_reduction()) return;
  std::erase_if(block.reads, [&](const BufferRegion& r) {
    return std::any_of(block.writes.begin(), block.writes.end(),
                       [&](const BufferRegion& w) { return w.buffer.same_as(r.buffer); });
  });
}

bool never_runs(const Block& block) {
  if (std::any_of(block.iters.begin(), block.iters.end(),
                  [](const IterVar& i) { return is_int(i.extent, 0); }))
    return true;
  bool empty = false;
  walk(block.body, [&](const Stmt& s) {
    const Store* store = s.as<Store>();
    if (store) {
      for (const Expr& e : store->buffer->shape) empty |= is_int(e, 0);
    }
    return true;
  });
  return empty;
}

}  // namespace

void refresh_regions(Block& block) {
  if (never_runs(block)) {
    regions_by_subscript(block);
    return;
  }
  std::vector<Domain> domains;
  for (const IterVar& i : block.iters) domains.push_back({i.var, i.extent});
  std::vector<Stmt> parts;
  if (block.init.defined()) parts.push_back(block.init);
  parts.push_back(block.body);
  const Accesses found = accesses(make_seq(parts), domains);
  block.reads.clear();
  block.writes.clear();
  for (const Region& r : found.writes) block.writes.push_back(r.region);
  for (const Region& r : found.reads) {
    const bool own = block.is_reduction() &&
                     std::any_of(block.writes.begin(), block.writes.end(),
                                 [&](const BufferRegion& w) { return w.buffer.same_as(r.region.buffer); });
    if (!own) block.reads.push_back(r.region);
  }
}

}  // namespace lathe::arith
