// Blocks: bindings, predicate, init, body.

#include <algorithm>

#include "interp/compiler.h"
#include "interp/kinds.h"
#include "ir/visitor.h"

namespace lathe::interp {
namespace {

struct Touches {
  std::unordered_set<const BufferNode*> reads, writes;
};
Touches touches_of(const Stmt& s) {
  Touches t;
  walk(
      s,
      [&](const Stmt& inner) {
        if (const Store* store = inner.as<Store>()) t.writes.insert(store->buffer.get());
        return true;
      },
      [&](const Expr& e) {
        if (const Load* load = e.as<Load>()) t.reads.insert(load->buffer.get());
        return true;
      });
  return t;
}

void split_and(const Expr& e, std::vector<Expr>& out) {
  if (const Binary* both = as_binary(e, BinaryOp::And)) {
    split_and(both->a, out);
    split_and(both->b, out);
  } else {
    out.push_back(e);
  }
}

}  // namespace

/// Who writes which buffer, and over which thread axes reductions go.
void Compiler::find_writers() {
  std::unordered_map<const VarNode*, ThreadAxis> axis_of;
  std::unordered_set<const VarNode*> vectorized;
  walk(program_->body, [&](const Stmt& s) {
    if (const For* loop = s.as<For>()) {
      if (loop->for_kind == ForKind::ThreadBound) axis_of[loop->var.node()] = loop->axis;
      if (loop->for_kind == ForKind::Vectorized) vectorized.insert(loop->var.node());
    }
    const Block* b = s.as<Block>();
    if (!b) return true;
    Touches touched = touches_of(b->body);
    if (b->init) touched.writes.merge(touches_of(b->init).writes);
    for (const BufferNode* w : touched.writes) writers_[w].insert(b->label.get());
    if (synchronized_) return true;
    for (std::size_t i = 0; i < b->iters.size(); ++i) {
      if (b->iters[i].kind != IterKind::Reduce) continue;
      for (const VarNode* v : loop_vars_.of(b->bindings[i])) {
        if (vectorized.count(v)) take_turns_.insert(b->label.get());
        auto axis = axis_of.find(v);
        if (axis == axis_of.end() || axis->second < ThreadAxis::ThreadX) continue;
        code_.serial_threads = true;
        take_turns_.insert(b->label.get());
        for (const BufferNode* w : touched.writes) reduced_over_[w][static_cast<int>(axis->second)] = true;
      }
    }
    return true;
  });
}

bool Compiler::is_complete(const Block& n) {
  if (n.reducer || n.init || n.partner) return false;
  for (const IterVar& i : n.iters) {
    if (i.kind != IterKind::Spatial) return false;
  }
  const Touches touched = touches_of(n.body);
  for (const BufferNode* w : touched.writes) {
    if (touched.reads.count(w) || writers_[w].size() > 1) return false;
  }
  return true;
}

/// The conjuncts of the predicate that bound reduce variables alone, and the others.
void Compiler::split_predicate(const Block& n, std::vector<Expr>& spatial, std::vector<Expr>& reduce) {
  std::unordered_set<const VarNode*> in_spatial, in_reduce;
  for (std::size_t i = 0; i < n.iters.size(); ++i) {
    auto& set = n.iters[i].kind == IterKind::Spatial ? in_spatial : in_reduce;
    for (const VarNode* v : loop_vars_.of(n.bindings[i])) set.insert(v);
  }
  std::vector<Expr> all;
  split_and(n.predicate, all);
  for (const Expr& e : all) {
    if (is_true(e)) continue;
    const auto& vars = loop_vars_.of(e);
    const bool any_reduce =
        std::any_of(vars.begin(), vars.end(), [&](auto* v) { return in_reduce.count(v); });
    const bool any_spatial =
        std::any_of(vars.begin(), vars.end(), [&](auto* v) { return in_spatial.count(v); });
    (any_reduce && !any_spatial ? reduce : spatial).push_back(e);
  }
}

/// Does the loop run through a reduce variable of the block?
bool Compiler::goes_on_at(const Block& n, const VarNode* loop) {
  for (std::size_t i = 0; i < n.iters.size(); ++i) {
    if (n.iters[i].kind == IterKind::Reduce && loop_vars_.mentions(n.bindings[i], loop)) return true;
  }
  return false;
}

void Compiler::check_domains(const Block& n, const std::vector<Operand>& values) {
  if (!options_.check_domains) return;
  for (std::size_t i = 0; i < n.iters.size(); ++i) {
    const Operand extent = expr(n.iters[i].extent);
    const auto& in = values[i].between;
    bool safe =
        extent.known && ((values[i].known && *values[i].known >= 0 && *values[i].known < *extent.known) ||
                         (in && in->low >= 0 && in->high < *extent.known));
    for (const For* loop : loops_) {
      if (!n.bindings[i].same_as(loop->var)) continue;
      const Operand loop_extent = expr(loop->extent);
      safe = safe || (loop_extent.known && extent.known && *loop_extent.known <= *extent.known);
    }
    if (safe) continue;
    Instr& check = emit(op::check_domain);
    check.a = values[i].reg, check.b = extent.reg;
    check.ptr = n.iters[i].var.node();
  }
}

void Compiler::block_stmt(const Block& n) {
  const int tally = tally_;
  const bool complete = complete_, uniform = uniform_;
  const Block* outer = block_;
  const int scope = scope_;
  std::vector<Expr> spatial, reduce;
  split_predicate(n, spatial, reduce);
  std::vector<std::size_t> skips;
  auto guard = [&](const std::vector<Expr>& conjuncts) {
    for (const Expr& e : conjuncts) {
      const Operand condition = expr(e);
      if (condition.known && *condition.known) continue;
      for (const VarNode* v : loop_vars_.of(e)) uniform_ = uniform_ && !thread_vars_.count(v);
      skips.push_back(emit_jump(op::jump_if_zero, condition.reg));
      open_tally();
    }
  };
  if (!n.init) spatial.insert(spatial.end(), reduce.begin(), reduce.end());
  guard(spatial);
  std::vector<Operand> values;
  for (std::size_t i = 0; i < n.iters.size(); ++i) {
    values.push_back(expr(n.bindings[i]));
    vars_[n.iters[i].var.node()] = values[i];
    if (n.bindings[i].kind() != ExprKind::Var && !values[i].known) push_scope(n.iters[i].var, values[i].reg);
  }
  block_ = encloses_blocks(n) ? outer : &n;
  complete_ = is_complete(n);
  if (n.init) {
    const int before = tally_;
    std::vector<std::size_t> not_first;
    for (std::size_t i = 0; i < n.iters.size(); ++i) {
      if (n.iters[i].kind != IterKind::Reduce || values[i].known == 0) continue;
      not_first.push_back(emit_jump(op::jump_if_nonzero, values[i].reg));
    }
    if (!not_first.empty()) open_tally();
    stmt(n.init);
    for (std::size_t jump : not_first) land(jump);
    tally_ = before;
    guard(reduce);
  }
  check_domains(n, values);
  stmt(n.body);
  for (std::size_t jump : skips) land(jump);
  tally_ = tally;
  complete_ = complete;
  uniform_ = uniform;
  block_ = outer;
  scope_ = scope;
}

/// In the pass for empty reduce domains: the init of the block, when its reduce domain is empty because of
/// the loops that stand at 0. A spatial variable that such a loop feeds (they were fused) runs through its
/// whole domain.
void Compiler::init_of_empty(const Block& n) {
  if (!n.init) {
    if (encloses_blocks(n)) {  // an outer block: look inside, under its own variables
      for (std::size_t i = 0; i < n.iters.size(); ++i) vars_[n.iters[i].var.node()] = expr(n.bindings[i]);
      stmt(n.body);
    }
    return;
  }
  for (const VarNode* loop : empty_loops_) {
    if (!goes_on_at(n, loop)) return;
  }
  bool empty = false;
  for (const IterVar& i : n.iters) empty = empty || (i.kind == IterKind::Reduce && expr(i.extent).known == 0);
  if (!empty) return;

  const int tally = tally_;
  const int scope = scope_;
  auto stands = [&](const Expr& e) {
    const auto& vars = loop_vars_.of(e);
    return std::any_of(vars.begin(), vars.end(), [&](auto* v) { return empty_loops_.count(v); });
  };
  std::vector<Expr> spatial, reduce;
  split_predicate(n, spatial, reduce);
  std::vector<std::size_t> skips;
  for (const Expr& e : spatial) {
    if (!stands(e)) skips.push_back(emit_jump(op::jump_if_zero, expr(e).reg));
  }
  struct Loop {
    std::size_t start;
    std::uint32_t var, extent;
  };
  std::vector<Loop> loops;
  for (std::size_t i = 0; i < n.iters.size(); ++i) {
    const IterVar& iter = n.iters[i];
    Operand value;
    if (iter.kind == IterKind::Reduce) {
      value = expr(n.bindings[i]);
      if (value.known != 0) skips.push_back(emit_jump(op::jump_if_nonzero, value.reg));
      value = index_constant(0);
    } else if (stands(n.bindings[i])) {
      value.reg = new_register();
      const std::uint32_t extent = expr(iter.extent).reg;
      Instr& begin = emit(op::loop_begin);
      begin.dst = value.reg, begin.a = extent;
      loops.push_back({here() - 1, value.reg, extent});
    } else {
      value = expr(n.bindings[i]);
    }
    vars_[iter.var.node()] = value;
    if (!value.known) push_scope(iter.var, value.reg);
  }
  open_tally();
  init_only_ = false;
  stmt(n.init);
  init_only_ = true;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    Instr& next = emit(op::loop_next);
    next.dst = loop->var, next.a = loop->extent;
    next.imm = static_cast<std::int64_t>(loop->start + 1) - static_cast<std::int64_t>(here() - 1);
    land(loop->start);
  }
  for (std::size_t jump : skips) land(jump);
  tally_ = tally;
  scope_ = scope;
}

}  // namespace lathe::interp
