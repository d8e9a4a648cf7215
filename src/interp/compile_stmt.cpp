#include <algorithm>

#include "interp/compiler.h"
#include "interp/kinds.h"
#include "ir/visitor.h"

namespace lathe::interp {

void Compiler::stmt(const Stmt& s) {
  const std::uint32_t registers = registers_;
  auto own = scopes_.find(s.get());
  const bool around = own != scopes_.end() && s.kind() != StmtKind::For;  // a loop: in each iteration
  if (around) {
    for (const Buffer& b : own->second) allocate(b);
  }
  bare_stmt(s);
  if (around) {
    for (const Buffer& b : own->second) free_buffer(b);
  }
  registers_ = registers;
}

void Compiler::bare_stmt(const Stmt& s) {
  switch (s.kind()) {
    case StmtKind::For: return for_stmt(*s.as<For>());
    case StmtKind::Block: return init_only_ ? init_of_empty(*s.as<Block>()) : block_stmt(*s.as<Block>());
    case StmtKind::Store:
      if (!init_only_) store_stmt(*s.as<Store>());
      return;
    case StmtKind::Seq:
      for (const Stmt& inner : s.as<Seq>()->stmts) {
        stmt(inner);
        implicit_barrier();
      }
      return;
    case StmtKind::If: return if_stmt(*s.as<If>());
    case StmtKind::Let: {
      const Let& n = *s.as<Let>();
      Operand value = expr(n.value);
      if (const VarNode* var =
              n.value.kind() == ExprKind::Var ? static_cast<const VarNode*>(n.value.get()) : nullptr) {
        vars_[n.var.node()] = vars_.at(var);
      } else {
        vars_[n.var.node()] = value;
      }
      const bool shown = n.var.dtype().is_index() && !n.var.dtype().is_vector();
      if (shown) push_scope(n.var, value.reg);
      stmt(n.body);
      if (shown) pop_scope();
      return;
    }
    case StmtKind::Allocate: {
      const Allocate& n = *s.as<Allocate>();
      allocate(n.buffer);
      stmt(n.body);
      free_buffer(n.buffer);
      return;
    }
    case StmtKind::Evaluate:
      if (!init_only_) evaluate_stmt(*s.as<Evaluate>());
      return;
  }
}

void Compiler::implicit_barrier() {
  if (thread_depth_ > 0 && !synchronized_ && uniform_ && !block_) emit(op::barrier).imm = 1;
}

// ---- loops ---------------------------------------------------------------------------------------------

void Compiler::for_stmt(const For& n) {
  const Operand extent = expr(n.extent);
  if (extent.known == 0) {
    zero_extent(n);
    return;
  }
  const bool block_axis =
      n.for_kind == ForKind::ThreadBound && n.axis >= ThreadAxis::BlockX && n.axis <= ThreadAxis::BlockZ;
  const bool thread_axis = n.for_kind == ForKind::ThreadBound && !block_axis;
  if (thread_axis && n.axis == ThreadAxis::None) refuse("loop \"" + n.var.name() + "\" is bound to no axis");
  const bool spread = n.for_kind == ForKind::Parallel || block_axis;
  const std::uint32_t var = new_register();
  const bool lanes = n.for_kind == ForKind::Vectorized && blocks_ && options_.check_races;
  const std::uint32_t own = spread ? new_register(7) : lanes ? new_register() : kNone;
  Operand value{var, {}, {}};
  if (extent.known)
    value.between = Operand::Between{0, *extent.known - 1};
  else if (extent.between)
    value.between = Operand::Between{0, std::max<std::int64_t>(extent.between->high - 1, 0)};
  vars_[n.var.node()] = value;
  push_scope(n.var, var);
  Instr& begin = emit(spread        ? op::spread_begin
                      : thread_axis ? op::thread_begin
                      : lanes       ? op::lanes_begin
                                    : op::loop_begin);
  begin.dst = var, begin.a = extent.reg, begin.b = own;
  begin.extra = block_axis;
  if (thread_axis) {
    begin.extra = static_cast<std::uint32_t>(code_.thread_loops.size());
    code_.thread_loops.push_back(std::make_unique<ThreadLoop>());
    ThreadLoop& loop = *code_.thread_loops.back();
    loop.axis = n.axis;
    for (const auto& [buffer, allocation] : allocated_) {
      if (buffer->scope != Scope::Local && buffer->scope != Scope::Fragment) continue;
      if (!allocation->shared[static_cast<int>(n.axis)]) loop.private_buffers.push_back(allocation->reg);
    }
    std::sort(loop.private_buffers.begin(), loop.private_buffers.end());
  }
  const std::size_t start = here() - 1;
  const int tally = tally_;
  const bool uniform = uniform_;
  for (const VarNode* v : loop_vars_.of(n.extent)) uniform_ = uniform_ && !thread_vars_.count(v);
  open_tally(true);
  if (thread_axis) {
    ++thread_depth_;
    thread_vars_.insert(n.var.node());
  }
  loops_.push_back(&n);
  // Memory that belongs to a block or thread, made outside of all blocks: each block has its own.
  std::vector<AllocateInfo*> outside;
  for (const auto& [buffer, allocation] : allocated_) {
    if (block_axis && buffer->scope != Scope::Global) outside.push_back(allocation);
  }
  std::sort(outside.begin(), outside.end(), [](auto* a, auto* b) { return a->reg < b->reg; });
  for (const AllocateInfo* a : outside) allocate(a->info->buffer);
  auto temps = scopes_.find(&n);
  if (temps != scopes_.end()) {
    for (const Buffer& b : temps->second) allocate(b);
  }
  const std::size_t hoisted = hoisted_order_.size();
  defined_.insert(n.var.node());
  hoist_from(n.body, n);
  stmt(n.body);
  for (; hoisted_order_.size() > hoisted; hoisted_order_.pop_back()) hoisted_.erase(hoisted_order_.back());
  defined_.erase(n.var.node());
  if (temps != scopes_.end()) {
    for (const Buffer& b : temps->second) free_buffer(b);
  }
  for (AllocateInfo* a : outside) {
    free_buffer(a->info->buffer);
    allocated_[a->info->buffer.get()] = a;
    buffer_registers_[a->info->buffer.get()] = a->reg;
  }
  loops_.pop_back();
  if (thread_axis) --thread_depth_;
  Instr& next = emit(spread        ? op::spread_next
                     : thread_axis ? op::thread_end
                     : lanes       ? op::lanes_next
                                   : op::loop_next);
  next.dst = var, next.a = extent.reg, next.b = own;
  next.extra = block_axis;
  next.imm = static_cast<std::int64_t>(start + 1) - static_cast<std::int64_t>(here() - 1);
  land(start);
  pop_scope();
  tally_ = tally;
  uniform_ = uniform;
  if (!extent.known) {
    const std::size_t skip = emit_jump(op::jump_if_nonzero, extent.reg);
    zero_extent(n);
    land(skip);
  }
}

/// The loop does nothing, except that reductions whose reduce domain is empty because of it still begin.
void Compiler::zero_extent(const For& n) {
  if (!blocks_) return;
  bool any = init_only_;
  walk(n.body, [&](const Stmt& s) {
    const Block* b = s.as<Block>();
    any = any || (b && b->init && goes_on_at(*b, n.var.node()));
    return !any;
  });
  if (!any) return;
  const bool outer = init_only_;
  init_only_ = true;
  empty_loops_.insert(n.var.node());
  vars_[n.var.node()] = index_constant(0);
  auto temps = scopes_.find(&n);
  if (temps != scopes_.end()) {
    for (const Buffer& b : temps->second) allocate(b);
  }
  const int tally = tally_;
  stmt(n.body);
  tally_ = tally;
  if (temps != scopes_.end()) {
    for (const Buffer& b : temps->second) free_buffer(b);
  }
  empty_loops_.erase(n.var.node());
  init_only_ = outer;
}

// ---- leaves --------------------------------------------------------------------------------------------

void Compiler::store_stmt(const Store& n) {
  int lanes = n.value.dtype().lanes;
  for (const Expr& i : n.indices) lanes = std::max<int>(lanes, i.dtype().lanes);
  if (n.value.dtype().element() != n.buffer->dtype) {
    refuse("a value of type " + n.value.dtype().str() + " is stored to \"" + n.buffer->name + "\", of type " +
           n.buffer->dtype.str());
  }
  if (n.value.dtype().lanes != lanes)
    refuse("a scalar is stored to a vector of subscripts of \"" + n.buffer->name + "\"");
  if (lanes == 1 && !n.mask.defined() && update_stmt(n)) return;
  // The value first: a tuple's new values are computed before any is stored.
  const Operand value = expr(n.value);
  Access* access = make_access(n.buffer, n.indices, n.mask, lanes);
  access->complete = complete_ && options_.check_rewrites;
  const bool vector = lanes > 1 || access->mask != kNone;
  const Fn fn = store_fn(n.buffer->dtype, access_rank(*access), vector, shadow_);
  if (!fn) refuse("a buffer of type " + n.buffer->dtype.str());
  emit_access(fn, value.reg, lanes, access);
  if (tally_ >= 0 && access->mask == kNone) code_.tallies[tally_].buffers[access->info->id].second += lanes;
}

/// buffer[i] = buffer[i] + x (and * min max), the step of a reduction, in one instruction. False: is none.
bool Compiler::update_stmt(const Store& n) {
  const Binary* b = n.value.as<Binary>();
  const Load* old = b ? b->a.as<Load>() : nullptr;
  if (!old || !old->buffer.same_as(n.buffer) || old->mask.defined() ||
      old->indices.size() != n.indices.size())
    return false;
  for (std::size_t d = 0; d < n.indices.size(); ++d) {
    const IntImm *x = old->indices[d].as<IntImm>(), *y = n.indices[d].as<IntImm>();
    if (!old->indices[d].same_as(n.indices[d]) && !(x && y && x->value == y->value)) return false;
  }
  if (!update_fn(b->op, n.buffer->dtype, 0, shadow_)) return false;
  const Operand x = expr(b->b);
  Access* access = make_access(n.buffer, n.indices, {}, 1);
  access->complete = complete_ && options_.check_rewrites;
  const Fn fn = update_fn(b->op, n.buffer->dtype, access_rank(*access), shadow_);
  emit_access(fn, x.reg, 1, access);
  if (tally_ >= 0) {
    Tally& tally = code_.tallies[tally_];
    ++tally.binary_ops[static_cast<int>(b->op)];
    ++tally.buffers[access->info->id].first;
    ++tally.buffers[access->info->id].second;
  }
  return true;
}

void Compiler::if_stmt(const If& n) {
  const Operand condition = expr(n.condition);
  if (condition.known) {
    if (*condition.known)
      stmt(n.then_case);
    else if (n.else_case)
      stmt(n.else_case);
    return;
  }
  const int tally = tally_;
  const bool uniform = uniform_;
  for (const VarNode* v : loop_vars_.of(n.condition)) uniform_ = uniform_ && !thread_vars_.count(v);
  const std::size_t otherwise = emit_jump(op::jump_if_zero, condition.reg);
  open_tally();
  stmt(n.then_case);
  tally_ = tally;
  if (n.else_case) {
    const std::size_t done = emit_jump(op::jump);
    land(otherwise);
    open_tally();
    stmt(n.else_case);
    land(done);
  } else {
    land(otherwise);
  }
  tally_ = tally;
  uniform_ = uniform;
}

void Compiler::evaluate_stmt(const Evaluate& n) {
  const Call* call = n.value.as<Call>();
  if (call && (call->op == Intrinsic::BarrierBlock || call->op == Intrinsic::BarrierWarp)) {
    emit(call->op == Intrinsic::BarrierBlock ? op::barrier : op::warp_barrier);
  } else if (call && call->op == Intrinsic::Prefetch) {
    if (tally_ >= 0) ++code_.tallies[tally_].intrinsics[static_cast<int>(call->op)];
  } else {
    expr(n.value);
  }
}

// ---- memory --------------------------------------------------------------------------------------------

void Compiler::allocate(const Buffer& buffer) {
  code_.allocations.push_back(std::make_unique<AllocateInfo>());
  AllocateInfo& a = *code_.allocations.back();
  a.info = &buffer_info(buffer);
  for (const Expr& extent : buffer->shape) a.shape.push_back(expr(extent).reg);
  for (const Expr& stride : buffer->strides) a.strides.push_back(expr(stride).reg);
  a.reg = new_register();
  if (buffer->scope == Scope::Shared) {
    for (ThreadAxis axis :
         {ThreadAxis::ThreadX, ThreadAxis::ThreadY, ThreadAxis::ThreadZ, ThreadAxis::VThread}) {
      a.shared[static_cast<int>(axis)] = true;
    }
  }
  auto reduced = reduced_over_.find(buffer.get());
  if (reduced != reduced_over_.end()) {
    for (std::size_t axis = 0; axis < a.shared.size(); ++axis) a.shared[axis] |= reduced->second[axis];
  }
  a.any_shared = std::find(a.shared.begin(), a.shared.end(), true) != a.shared.end();
  buffer_registers_[buffer.get()] = a.reg;
  allocated_[buffer.get()] = &a;
  emit(op::allocate).ptr = &a;
}

void Compiler::free_buffer(const Buffer& buffer) {
  emit(op::free).ptr = allocated_.at(buffer.get());
  allocated_.erase(buffer.get());
  buffer_registers_.erase(buffer.get());
}

}  // namespace lathe::interp
