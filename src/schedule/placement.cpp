#include "schedule/placement.h"

#include <algorithm>

#include "arith/block_access.h"
#include "schedule/legality.h"

namespace lathe::schedule {

std::optional<arith::Region> region_below(const Stmt& below, const Buffer& buffer, bool writes,
                                          arith::Analyzer& analyzer, Guards guards) {
  std::optional<arith::Region> out;
  for (const Stmt& s : blocks_below(below)) {
    const Block& block = *s.as<Block>();
    for (const BufferRegion& r : writes ? block.writes : block.reads) {
      if (!r.buffer.same_as(buffer)) continue;
      const std::vector<arith::Domain> loops = domains_of(loops_on(path_to(below, s.get())));
      std::unique_ptr<Block> free;
      if (guards == Guards::Ignored) {
        free = copy(block);
        free->predicate = true_expr();
      }
      arith::Region relaxed = arith::access_over(free ? *free : block, r, loops, analyzer);
      out = out ? arith::unite(*out, relaxed, analyzer) : relaxed;
    }
  }
  return out;
}

namespace {

/// The variable of `block` that `e` is, or -1.
int variable_of(const Block& block, const Expr& e) {
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].var.get() == e.get()) return static_cast<int>(i);
  }
  return -1;
}

bool mentions_variable(const Block& block, const Expr& e) {
  return mentions_any(e, [&](const VarNode* v) {
    return std::any_of(block.iters.begin(), block.iters.end(),
                       [&](const IterVar& i) { return i.var.node() == v; });
  });
}

/// One dimension: access.min .. as a form of one variable.
bool solve_dimension(const Block& block, const Range& access, const Range& required, Fit fit,
                     arith::Analyzer& analyzer, std::vector<VarRange>& ranges) {
  if (!mentions_variable(block, access.min)) {
    return fit == Fit::Covers ||
           (analyzer.can_prove(access.min >= required.min) &&
            analyzer.can_prove(access.min + access.extent <= required.min + required.extent));
  }
  auto narrow = [&](int at, VarRange range) {
    if (!ranges[at].known()) {
      ranges[at] = std::move(range);
      return true;
    }
    // A second constraint on the same variable must hold too; for a producer, keeping the first only computes more.
    return fit == Fit::Covers || block.iters[at].kind == IterKind::Reduce ||
           (analyzer.can_prove_equal(ranges[at].min, range.min) &&
            analyzer.can_prove_equal(ranges[at].extent, range.extent));
  };
  if (int at = variable_of(block, access.min); at >= 0 && is_int(access.extent, 1)) {
    return narrow(at, {required.min, required.extent});
  }
  const Binary* b = access.min.as<Binary>();
  std::optional<std::int64_t> c = b ? as_int(b->b) : std::nullopt;
  const int at = b ? variable_of(block, b->a) : -1;
  if (at < 0 || !c || *c <= 0) return false;
  if (b->op == BinaryOp::Mul) {
    // v*c .. v*c + extent: the first tile that reaches into the region to the last.
    const Expr first = analyzer.simplify(floordiv(required.min, *c));
    const Expr last = analyzer.simplify(floordiv(required.min + required.extent - 1, *c));
    return narrow(at, {first, analyzer.simplify(last - first + 1)});
  }
  if (b->op == BinaryOp::FloorDiv && is_int(access.extent, 1)) {
    return narrow(at, {analyzer.simplify(required.min * *c), analyzer.simplify(required.extent * *c)});
  }
  return b->op == BinaryOp::FloorMod &&
         is_int(access.extent, 1);  // the FloorDiv of the same variable constrains it
}

}  // namespace

std::optional<std::vector<VarRange>> solve_ranges(const Block& block, const BufferRegion& access,
                                                  const BufferRegion& required, Fit fit,
                                                  arith::Analyzer& analyzer) {
  std::vector<VarRange> ranges(block.iters.size());
  for (std::size_t d = 0; d < access.ranges.size(); ++d) {
    if (!solve_dimension(block, access.ranges[d], required.ranges[d], fit, analyzer, ranges))
      return std::nullopt;
  }
  return ranges;
}

VarRange unite(const VarRange& a, const VarRange& b, arith::Analyzer& analyzer) {
  if (!a.known() || !b.known()) return {};
  if (analyzer.can_prove_equal(a.min, b.min)) {
    return {a.min, analyzer.can_prove(b.extent <= a.extent)   ? a.extent
                   : analyzer.can_prove(a.extent <= b.extent) ? b.extent
                                                              : analyzer.simplify(max(a.extent, b.extent))};
  }
  const Expr low = analyzer.simplify(min(a.min, b.min));
  const Expr high = analyzer.simplify(max(a.min + a.extent, b.min + b.extent));
  return {low, analyzer.simplify(high - low)};
}

namespace {

/// An extent that does not vary with loops: itself when it mentions sizes alone, else its greatest value.
Expr fixed_extent(const Expr& extent, const Expr& domain, arith::Analyzer& analyzer, bool& whole) {
  if (as_int(extent)) return extent;
  const std::int64_t most = analyzer.bound(extent).max;
  if (most != arith::ConstBound::kPlusInf) {
    const std::optional<std::int64_t> all = as_int(domain);
    if (!all || most < *all) return make_index(std::max<std::int64_t>(most, 0));
  }
  whole = true;
  return domain;
}

}  // namespace

Stmt nest(const Block& block, const std::vector<VarRange>& ranges, arith::Analyzer& analyzer,
          std::vector<Var>* loops) {
  auto moved = copy(block);
  Expr predicate = true_expr();
  std::vector<Var> vars;
  std::vector<Expr> extents;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    const IterVar& iter = block.iters[i];
    bool whole = !ranges[i].known();
    Expr extent = whole ? iter.extent : fixed_extent(ranges[i].extent, iter.extent, analyzer, whole);
    // A range as wide as the domain is the domain.
    if (!whole && analyzer.can_prove(extent >= iter.extent)) {
      whole = true;
      extent = iter.extent;
    }
    Var loop(iter.var.name());
    vars.push_back(loop);
    extents.push_back(extent);
    analyzer.bind_extent(loop, extent);
    const Expr value = whole ? Expr(loop) : analyzer.simplify(ranges[i].min + loop);
    moved->bindings[i] = value;
    if (whole) continue;
    if (!analyzer.can_prove_ge(value, 0)) predicate = arith::conjunction(predicate, value >= 0);
    if (!analyzer.can_prove(value < iter.extent))
      predicate = arith::conjunction(predicate, analyzer.simplify(value < iter.extent));
  }
  moved->predicate = predicate;
  Stmt out(moved.release());
  for (std::size_t i = vars.size(); i-- > 0;) out = make_stmt<For>(vars[i], extents[i], ForKind::Serial, out);
  if (loops) *loops = vars;
  return out;
}

Stmt take_out(Edit& edit, const Path& block) {
  // The highest statement that holds nothing else goes with the block.
  std::size_t top = block.size() - 1;
  while (top > 0 && block[top - 1].as<For>()) --top;
  for (std::size_t i = top; i + 1 < block.size(); ++i) edit.consume(block[i].as<For>()->var);
  return replace(block, Stmt());
}

Stmt insert(const Stmt& loop, const Stmt& fresh, const StmtNode* anchor, bool before) {
  const Stmt& body = loop.as<For>() ? loop.as<For>()->body : loop;
  std::vector<Stmt> stmts = body.as<Seq>() ? body.as<Seq>()->stmts : std::vector<Stmt>{body};
  std::size_t at = 0;
  while (at < stmts.size() && !contains(stmts[at], anchor)) ++at;
  internal_check(at < stmts.size(), "the anchor of an insertion is below the loop");
  stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(before ? at : at + 1), fresh);
  Stmt sequence = make_seq(std::move(stmts));
  return loop.as<For>() ? with_body(loop, sequence) : sequence;
}

Buffer like(const Buffer& buffer, const std::string& name, Scope scope) {
  auto* node = new BufferNode;
  node->name = name;
  node->dtype = buffer->dtype;
  node->shape = buffer->shape;
  node->scope = scope;
  return Buffer(node);
}

Scope scope_of(const Edit& edit, std::size_t arg) {
  const std::string& word = edit.symbol(arg);
  for (Scope s : {Scope::Global, Scope::Shared, Scope::Local, Scope::Fragment}) {
    std::string name = spelling(s);
    name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    if (word == "Scope::" + name) return s;
  }
  edit.refuse(code::S003, word + " is no scope", {}, "Scope::Global, Shared, Local or Fragment");
}

std::string unique_buffer_name(const Program& program, const std::string& name) {
  auto taken = [&](const std::string& n) {
    return std::any_of(program->temps.begin(), program->temps.end(),
                       [&](const Buffer& b) { return b->name == n; }) ||
           std::any_of(program->params.begin(), program->params.end(),
                       [&](const Param& p) { return p.name() == n; });
  };
  std::string candidate = name;
  for (int i = 1; taken(candidate); ++i) candidate = name + "_" + std::to_string(i);
  return candidate;
}

CopyNest copy_nest(const std::string& name, const Buffer& from, const Buffer& to, const BufferRegion& region,
                   arith::Analyzer& analyzer) {
  auto block = std::make_unique<Block>();
  block->label = make_label(name);
  block->predicate = true_expr();
  std::vector<Expr> indices;
  std::vector<VarRange> ranges;
  BufferRegion read{from, {}}, write{to, {}};
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    Var v("v" + std::to_string(d));
    block->iters.push_back({v, from->shape[d], IterKind::Spatial});
    block->bindings.push_back(v);
    indices.push_back(v);
    ranges.push_back({region.ranges[d].min, region.ranges[d].extent});
    read.ranges.push_back({v, 1});
    write.ranges.push_back({v, 1});
  }
  block->reads = {read};
  block->writes = {write};
  block->body = make_stmt<Store>(to, load(from, indices), indices);
  CopyNest out;
  out.label = block->label;
  out.nest = nest(*block, ranges, analyzer);
  return out;
}

Stmt with_fresh_regions(std::unique_ptr<Block> block) {
  arith::refresh_regions(*block);
  return Stmt(block.release());
}

}  // namespace lathe::schedule
