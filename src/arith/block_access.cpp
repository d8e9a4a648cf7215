#include "arith/block_access.h"

#include <algorithm>

#include "ir/visitor.h"

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

bool same_subscripts(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return structural_equal(x, y); });
}

std::vector<std::vector<Expr>> ways_to_read(const Block& block, const Buffer& buffer) {
  std::vector<std::vector<Expr>> ways;
  walk(block.body, {}, [&](const Expr& e) {
    const Load* load = e.as<Load>();
    if (load && load->buffer.same_as(buffer) &&
        std::ranges::none_of(ways, [&](const auto& way) { return same_subscripts(way, load->indices); }))
      ways.push_back(load->indices);
    return true;
  });
  return ways;
}

namespace {

/// Does a declared region hold the element? True also where that depends on more than the point.
bool holds(const BufferRegion& region, const std::vector<Expr>& element, const VarMap& point,
           Analyzer& analyzer) {
  for (std::size_t d = 0; d < element.size(); ++d) {
    const auto min = as_int(analyzer.simplify(substitute(region.ranges[d].min, point)));
    const auto extent = as_int(analyzer.simplify(substitute(region.ranges[d].extent, point)));
    const auto at = as_int(element[d]);
    if (min && extent && at && (*at < *min || *at >= *min + *extent)) return false;
  }
  return true;
}

/// Is `buffer` accessed at one point of the block's domain where no declared region says so?
bool accessed_outside(const Block& block, const Buffer& buffer, bool write, const VarMap& point) {
  Analyzer analyzer;
  bool outside = false;
  const auto check = [&](const Buffer& b, const std::vector<Expr>& indices) {
    if (!b.same_as(buffer)) return;
    std::vector<Expr> element;
    for (const Expr& e : indices) element.push_back(analyzer.simplify(substitute(e, point)));
    outside |= std::ranges::none_of(write ? block.writes : block.reads, [&](const BufferRegion& r) {
      return r.buffer.same_as(buffer) && holds(r, element, point, analyzer);
    });
  };
  walk(block.body, [&](const Stmt& s) {
    const Store* store = s.as<Store>();
    if (store && write) check(store->buffer, store->indices);
    // Simplified at the point, a select is the side that is taken.
    if (store && !write) {
      walk(analyzer.simplify(substitute(store->value, point)), [&](const Expr& e) {
        if (const Load* load = e.as<Load>()) check(load->buffer, load->indices);
        return true;
      });
    }
    return !s.as<If>();  // what is under a condition may not run
  });
  return outside;
}

/// Points of the block's domain: its corners along the diagonals, and some between.
std::vector<VarMap> some_points(const Block& block) {
  constexpr int kPoints = 32;
  std::vector<VarMap> points;
  for (int k = 0; k < kPoints; ++k) {
    VarMap point;
    for (std::size_t i = 0; i < block.iters.size(); ++i) {
      const std::int64_t last = std::max<std::int64_t>(as_int(block.iters[i].extent).value_or(8), 1) - 1;
      const std::int64_t step = static_cast<std::int64_t>(2 * i + 1) * k;
      const std::int64_t at = k < 4 ? (k >> (i % 2) & 1) * last : step % (last + 1);
      point.emplace(block.iters[i].var.node(), make_index(at));
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::optional<std::string> undeclared_access(const Block& block) {
  const std::unique_ptr<Block> computed = copy(block);
  refresh_regions(*computed);
  Analyzer analyzer;
  for (const IterVar& i : block.iters) analyzer.bind_extent(i.var, i.extent);
  for (const bool write : {false, true}) {
    const std::vector<BufferRegion>& declared = write ? block.writes : block.reads;
    for (const BufferRegion& accessed : write ? computed->writes : computed->reads) {
      if (std::ranges::any_of(declared, [&](const BufferRegion& r) { return covers(r, accessed, analyzer); }))
        continue;
      // Not every region that a schedule makes can be proved to cover what it was made for: then a counter-example decides.
      const bool declares = std::ranges::any_of(
          declared, [&](const BufferRegion& r) { return r.buffer.same_as(accessed.buffer); });
      if (declares && std::ranges::none_of(some_points(block), [&](const VarMap& point) {
            return accessed_outside(block, accessed.buffer, write, point);
          }))
        continue;
      return "block \"" + block.label->name + "\" " + (write ? "writes" : "reads") + " \"" +
             accessed.buffer->name + "\" outside the region that it declares";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> undeclared_access(const Program& program) {
  std::optional<std::string> found;
  walk(program->body, [&](const Stmt& s) {
    if (const Block* block = s.as<Block>(); block && !found) found = undeclared_access(*block);
    return !found;
  });
  return found;
}

}  // namespace lathe::arith
