#include "arith/block_check.h"

#include "arith/simplifier.h"

namespace lathe::arith {

BlockIndex::BlockIndex(const Stmt& root) {
  walk(root, [&](const Stmt& s) {
    if (const Block* b = s.as<Block>()) {
      blocks_.push_back(b);
      auto note = [&](Table& table, const std::vector<BufferRegion>& regions) {
        for (const BufferRegion& r : regions) {
          auto& list = table[r.buffer.get()];
          if (list.empty() || list.back() != b) list.push_back(b);
        }
      };
      note(writers_, b->writes);
      note(readers_, b->reads);
    }
    return s.kind() != StmtKind::Store && s.kind() != StmtKind::Evaluate;
  });
}

const std::vector<const Block*>& BlockIndex::writers(const Buffer& buffer) const {
  const auto it = writers_.find(buffer.get());
  return it == writers_.end() ? none_ : it->second;
}

const std::vector<const Block*>& BlockIndex::readers(const Buffer& buffer) const {
  const auto it = readers_.find(buffer.get());
  return it == readers_.end() ? none_ : it->second;
}

bool is_init_half(const Block& block) { return block.partner.defined() && !block.is_reduction(); }

namespace {

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::optional<std::string> shares_output(const Block& block, const BlockIndex& index) {
  for (const BufferRegion& w : block.writes) {
    for (const Block* other : index.writers(w.buffer)) {
      const bool partner = block.partner.defined() && other->label.same_as(block.partner);
      if (other->label.same_as(block.label) || partner) continue;
      return "block " + quoted(other->name()) + " writes " + quoted(w.buffer->name) + " too";
    }
  }
  return std::nullopt;
}

std::optional<std::string> reads_output(const Block& block) {
  for (const BufferRegion& w : block.writes) {
    for (const BufferRegion& r : block.reads) {
      if (r.buffer.same_as(w.buffer)) return "it reads " + quoted(r.buffer->name) + ", which it writes";
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_complete(const Block& block, const BlockIndex& index) {
  for (const IterVar& i : block.iters) {
    if (i.kind == IterKind::Reduce) return "its variable " + quoted(i.var.name()) + " is a reduce variable";
  }
  if (block.is_reduction()) return "it is a reduction";
  if (is_init_half(block)) return "it is the init of reduction " + quoted(block.partner->name);
  if (auto problem = shares_output(block, index)) return problem;
  return reads_output(block);
}

std::optional<std::string> why_not_reduction(const Block& block, const BlockIndex& index) {
  if (!block.is_reduction()) return "it has no reducer";
  if (!block.init.defined() && !block.partner.defined()) return "it has no init";
  for (const BufferRegion& w : block.writes) {
    for (const Range& r : w.ranges) {
      for (const IterVar& i : block.iters) {
        if (i.kind == IterKind::Reduce && (mentions(r.min, i.var) || mentions(r.extent, i.var))) {
          return "its reduce variable " + quoted(i.var.name()) + " indexes its output " +
                 quoted(w.buffer->name);
        }
      }
    }
  }
  if (auto problem = shares_output(block, index)) return problem;
  return reads_output(block);
}

BindingCheck check_bindings(const Block& block, const std::vector<Domain>& loops, Analyzer& analyzer) {
  BindingCheck out;
  std::vector<Expr> extents;
  for (const IterVar& i : block.iters) extents.push_back(i.extent);
  if (const auto map = detect_iter_map(block.bindings, extents, loops, block.predicate, analyzer)) {
    out.quasi_affine = true;
    out.injective = map->injective;
    out.covers = map->surjective;
    out.in_domain = map->surjective;
  }
  if (out.in_domain) return out;
  for (const Domain& d : loops) analyzer.bind_extent(d.var, d.extent);
  auto guard = analyzer.assume(block.predicate);
  out.in_domain = true;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    out.in_domain = out.in_domain && analyzer.can_prove(block.bindings[i] >= make_index(0)) &&
                    analyzer.can_prove(block.bindings[i] < extents[i]);
  }
  return out;
}

namespace {

std::string text_of(const BufferRegion& region) {
  std::string text = region.buffer->name + "[";
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    const Range& r = region.ranges[d];
    if (d) text += ", ";
    text += to_string(r.min);
    if (!is_int(r.extent, 1)) text += " .. " + to_string(simplify(r.min + r.extent));
  }
  return text + "]";
}

void check_declared(const Block& block, const std::vector<Region>& accessed,
                    const std::vector<BufferRegion>& declared, bool writes, Analyzer& analyzer,
                    std::vector<std::string>& problems) {
  for (const Region& a : accessed) {
    const Buffer& buffer = a.region.buffer;
    bool own_output = false;
    for (const BufferRegion& w : block.writes) own_output |= !writes && w.buffer.same_as(buffer);
    if (own_output && (block.is_reduction() || block.partner.defined())) continue;
    bool named = false, covered = false;
    for (const BufferRegion& d : declared) {
      if (!d.buffer.same_as(buffer)) continue;
      named = true;
      covered = covered || covers(d, a.region, analyzer);
    }
    if (covered) continue;
    problems.push_back("block " + quoted(block.name()) + (writes ? " writes " : " reads ") +
                       text_of(a.region) +
                       (named ? ", beyond the region that it declares" : ", which it does not declare"));
  }
}

}  // namespace

std::vector<std::string> check_blocks(const Program& program) {
  std::vector<std::string> problems;
  const BlockIndex index(program->body);
  for (const Block* block : index.blocks()) {
    Analyzer analyzer;
    for (const Param& p : program->params) {
      if (p.role == ParamRole::Size) analyzer.bind_size(p.size);
    }
    std::vector<Domain> domains;
    for (const IterVar& i : block->iters) domains.push_back({i.var, i.extent});
    std::vector<Stmt> parts;
    if (block->init.defined()) parts.push_back(block->init);
    parts.push_back(block->body);
    const Accesses found = accesses(make_seq(std::move(parts)), domains, analyzer);
    check_declared(*block, found.reads, block->reads, false, analyzer, problems);
    check_declared(*block, found.writes, block->writes, true, analyzer, problems);
  }
  return problems;
}

}  // namespace lathe::arith
