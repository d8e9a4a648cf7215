#include "schedule/legality.h"

#include <algorithm>

#include "arith/iter_map.h"
#include "support/error_codes/schedule.h"

namespace lathe::schedule {

bool reads(const Block& block, const Buffer& buffer) {
  return std::any_of(block.reads.begin(), block.reads.end(),
                     [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
}
bool writes(const Block& block, const Buffer& buffer) {
  return std::any_of(block.writes.begin(), block.writes.end(),
                     [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
}

bool feeds(const Block& from, const Block& to) {
  if (from.label.same_as(to.label)) return false;
  if (to.partner.same_as(from.label) && from.partner.defined() && !from.is_reduction()) return true;
  return std::any_of(from.writes.begin(), from.writes.end(),
                     [&](const BufferRegion& w) { return reads(to, w.buffer); });
}

namespace {
std::vector<Stmt> blocks_where(const Stmt& root, const std::function<bool(const Block&)>& wanted) {
  std::vector<Stmt> out;
  for_each_block(root, [&](const Block& b, const Stmt& self) {
    if (wanted(b)) out.push_back(self);
    return true;
  });
  return out;
}
}  // namespace

std::vector<Stmt> writers_of(const Stmt& root, const Buffer& buffer) {
  return blocks_where(root, [&](const Block& b) { return writes(b, buffer); });
}
std::vector<Stmt> readers_of(const Stmt& root, const Buffer& buffer) {
  return blocks_where(root, [&](const Block& b) { return reads(b, buffer); });
}

std::vector<Stmt> naming(const Stmt& root, const Buffer& buffer) {
  return blocks_where(root, [&](const Block& b) {
    bool found = false;
    auto look = [&](const Stmt& inside) {
      walk(
          inside,
          [&](const Stmt& s) {
            const Store* store = s.as<Store>();
            found |= store && store->buffer.same_as(buffer);
            return !found;
          },
          [&](const Expr& e) {
            const Load* load = e.as<Load>();
            found |= load && load->buffer.same_as(buffer);
            return !found;
          });
    };
    if (b.init.defined()) look(b.init);
    look(b.body);
    return found;
  });
}

bool is_param(const Program& program, const Buffer& buffer) {
  return std::any_of(program->params.begin(), program->params.end(),
                     [&](const Param& p) { return p.buffer.same_as(buffer); });
}

namespace {

std::string other_writer(const Block& block, const Stmt& root) {
  for (const BufferRegion& w : block.writes) {
    for (const Stmt& s : writers_of(root, w.buffer)) {
      const Block* other = s.as<Block>();
      if (other->label.same_as(block.label) || other->label.same_as(block.partner)) continue;
      // A block writes for those that it contains.
      if (contains(other->body, path_to_block(root, block.label.get()).back().get())) continue;
      if (contains(block.body, s.get())) continue;
      return "block \"" + other->name() + "\" writes \"" + w.buffer->name + "\" too";
    }
  }
  return {};
}

}  // namespace

std::string why_not_complete(const Block& block, const Stmt& root) {
  for (const IterVar& i : block.iters) {
    if (i.kind == IterKind::Reduce) return "it has the reduce variable \"" + i.var.name() + "\"";
  }
  if (block.init.defined()) return "it has an init";
  for (const BufferRegion& w : block.writes) {
    if (reads(block, w.buffer)) return "it reads \"" + w.buffer->name + "\", which it writes";
  }
  return other_writer(block, root);
}

std::string why_not_reduction(const Block& block, const Stmt& root) {
  if (!block.is_reduction()) return "it has no reducer";
  for (const BufferRegion& w : block.writes) {
    for (const Range& r : w.ranges) {
      for (const IterVar& i : block.iters) {
        if (i.kind == IterKind::Reduce && mentions(r.min, i.var)) {
          return "its reduce variable \"" + i.var.name() + "\" indexes \"" + w.buffer->name +
                 "\", which it writes";
        }
      }
    }
  }
  return other_writer(block, root);
}

std::string why_not_schedulable(const Block& block, const Stmt& root) {
  return block.is_reduction() ? why_not_reduction(block, root) : why_not_complete(block, root);
}

Stmt lowest_common_ancestor(const Stmt& root, const Buffer& buffer) {
  Path common;
  for_each_block(root, [&](const Block& b, const Stmt& self) {
    if (!reads(b, buffer) && !writes(b, buffer)) return true;
    Path path = path_to(root, self.get());
    if (common.empty()) {
      common = std::move(path);
    } else {
      std::size_t n = 0;
      while (n < common.size() && n < path.size() && common[n].same_as(path[n])) ++n;
      common.resize(n);
    }
    return true;
  });
  return common.empty() ? root : common.back();
}

namespace {

bool binds(const Block& block, IterKind kind, const Var& loop) {
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == kind && mentions(block.bindings[i], loop)) return true;
  }
  return false;
}

std::vector<const VarNode*> loops_where(const std::vector<Stmt>& loops,
                                        const std::function<bool(const Var&)>& wanted) {
  std::vector<const VarNode*> out;
  for (const Stmt& s : loops) {
    if (wanted(s.as<For>()->var)) out.push_back(s.as<For>()->var.node());
  }
  return out;
}

}  // namespace

std::vector<const VarNode*> reduce_loops(const Block& block, const std::vector<Stmt>& loops) {
  return loops_where(loops, [&](const Var& v) { return binds(block, IterKind::Reduce, v); });
}

std::vector<const VarNode*> mixed_loops(const Block& block, const std::vector<Stmt>& loops) {
  return loops_where(loops, [&](const Var& v) {
    return binds(block, IterKind::Reduce, v) && binds(block, IterKind::Spatial, v);
  });
}

namespace {

const Binary* division(BinaryOp op, const Expr& e) {
  const Binary* b = e.as<Binary>();
  return b && b->op == op ? b : nullptr;
}

/// What the two bindings are the quotient and remainder of, if they are: e floordiv d and e floormod d, or the middle of a
/// fused loop, e floordiv (d * k) and (e floordiv d) floormod k.
Expr divided(const Expr& first, const Expr& second, arith::Analyzer& analyzer) {
  const Binary* quotient = division(BinaryOp::FloorDiv, first);
  const Binary* remainder = division(BinaryOp::FloorMod, second);
  if (!quotient || !remainder || as_int(quotient->b)) return {};
  if (structural_equal(quotient->a, remainder->a) && structural_equal(quotient->b, remainder->b))
    return quotient->a;
  const Binary* part = division(BinaryOp::FloorDiv, remainder->a);
  const bool is_middle = part && structural_equal(part->a, quotient->a) &&
                         analyzer.can_prove_equal(quotient->b, part->b * remainder->b);
  return is_middle ? remainder->a : Expr();
}

/// Puts fused loops of run-time extents together again: quotient and remainder tell as much as what was divided, as the
/// divisor is an extent and not 0 where the loop runs. (Constant divisors are the iterator maps' own.)
void undo_fusion(std::vector<Expr>& bindings, std::vector<Expr>& extents, arith::Analyzer& analyzer) {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    for (std::size_t j = 0; j < bindings.size(); ++j) {
      const Expr whole = divided(bindings[i], bindings[j], analyzer);
      if (!whole.defined()) continue;
      bindings[i] = whole;
      extents[i] = extents[i] * extents[j];
      bindings.erase(bindings.begin() + static_cast<std::ptrdiff_t>(j));
      extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(j));
      return undo_fusion(bindings, extents, analyzer);
    }
  }
}

/// Do different values of the path's last loop (those inside varying freely) give different values of the block's spatial
/// variables?
bool separates(const Block& block, const Path& path, const std::vector<Stmt>& inside,
               arith::Analyzer& analyzer) {
  const For& loop = *path.back().as<For>();
  std::vector<Expr> bindings, extents;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind != IterKind::Spatial) continue;
    bindings.push_back(block.bindings[i]);
    extents.push_back(block.iters[i].extent);
  }
  undo_fusion(bindings, extents, analyzer);
  auto mentioned = [&](const Var& v) {
    return std::any_of(bindings.begin(), bindings.end(), [&](const Expr& b) { return mentions(b, v); });
  };
  if (!mentioned(loop.var)) return false;
  auto injective = [&](const std::vector<arith::Domain>& domains) {
    const auto map = arith::detect_iter_map(bindings, extents, domains, block.predicate, analyzer);
    return map && map->injective;
  };
  std::vector<arith::Domain> domains{{loop.var, loop.extent}};
  for (const Stmt& s : inside) {
    const For* f = s.as<For>();
    if (mentioned(f->var)) domains.push_back({f->var, f->extent});
  }
  if (injective(domains)) return true;
  // Parts of a fused loop are understood together only: if all iterations differ, so do those of one loop.
  std::vector<arith::Domain> all;
  for (const Stmt& s : loops_on(path)) {
    const For* f = s.as<For>();
    if (f != &loop && mentioned(f->var)) all.push_back({f->var, f->extent});
  }
  if (all.empty()) return false;
  all.insert(all.end(), domains.begin(), domains.end());
  return injective(all);
}

}  // namespace

namespace {

/// `only`: dependences through this buffer alone; undefined: any.
std::optional<Dependence> dependence(const Path& path, const Program& program, const Buffer& only) {
  const For& loop = *path.back().as<For>();
  auto empty = [](const Stmt& s) { return is_int(s.as<For>()->extent, 0); };
  if (is_int(loop.extent, 1) || std::ranges::any_of(loops_on(path), empty)) return std::nullopt;
  arith::Analyzer analyzer;
  bind_sizes(analyzer, program);
  bind_path(analyzer, path);
  for (const Stmt& s : blocks_below(loop.body)) {
    const Block& block = *s.as<Block>();
    if (std::ranges::any_of(loops_on(path_to(loop.body, s.get())), empty)) continue;
    auto dependent = [&](std::string reason) {
      return Dependence{s.get(), "block \"" + block.name() + "\": " + std::move(reason)};
    };
    for (std::size_t i = 0; i < block.iters.size() && !only.defined(); ++i) {
      if (block.iters[i].kind == IterKind::Reduce && mentions(block.bindings[i], loop.var)) {
        return dependent("its reduce variable \"" + block.iters[i].var.name() + "\" is bound to the loop");
      }
    }
    for (const BufferRegion& w : block.writes) {
      if (only.defined() && !w.buffer.same_as(only)) continue;
      const bool is_private = !is_param(program, w.buffer) &&
                              contains(loop.body, lowest_common_ancestor(program->body, w.buffer).get());
      if (is_private) continue;
      Path below = path_to(loop.body, s.get());
      std::vector<Stmt> inside = loops_on(below);
      for (const Stmt& inner : inside) analyzer.bind_extent(inner.as<For>()->var, inner.as<For>()->extent);
      if (!separates(block, path, inside, analyzer)) {
        return dependent("different iterations write the same elements of \"" + w.buffer->name + "\"");
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Dependence> loop_dependence(const Path& path, const Program& program) {
  return dependence(path, program, {});
}

std::optional<Dependence> write_dependence(const Path& path, const Program& program, const Buffer& buffer) {
  return dependence(path, program, buffer);
}

std::string reads_to_choose_from(const Block& block) {
  std::string list;
  for (std::size_t i = 0; i < block.reads.size(); ++i)
    list += (i == 0 ? "" : ", ") + std::to_string(i) + ": " + block.reads[i].buffer->name;
  return list.empty() ? "the block reads nothing" : "choose one of the block's reads: " + list;
}

int read_position(const Block& block, const Buffer& buffer, const char* primitive, Site site) {
  for (std::size_t i = 0; i < block.reads.size(); ++i) {
    if (block.reads[i].buffer.same_as(buffer)) return static_cast<int>(i);
  }
  throw ScheduleError(code::S008,
                      Message([name = block.name(), buffer = buffer->name, primitive = std::string(primitive),
                               site, reads = reads_to_choose_from(block)] {
                        return primitive + "(block \"" + name + "\", tensor \"" + buffer + "\"): block \"" +
                               name + "\" does not read \"" + buffer + "\"\n  at " + site.file_name() + ":" +
                               std::to_string(site.line()) + "\n  " + reads;
                      }));
}

}  // namespace lathe::schedule
