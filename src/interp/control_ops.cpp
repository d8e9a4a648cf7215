// Instructions that move, jump, loop, allocate and count.

#include <algorithm>
#include <numeric>

#include "interp/kinds.h"
#include "interp/threads.h"

namespace lathe::interp::op {

const Instr* move(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) r[p->dst + l] = r[p->a + l];
  return p + 1;
}
/// Lanes that `b` (a mask) switches off keep what they were.
const Instr* move_masked(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    if (r[p->b + l].i) r[p->dst + l] = r[p->a + l];
  }
  return p + 1;
}
const Instr* broadcast(const Instr* p, Slot* r, Context&) {
  const Slot value = r[p->a];
  for (std::uint32_t l = 0; l < p->lanes; ++l) r[p->dst + l] = value;
  return p + 1;
}

/// a + lane * b. `extra`: bits, of index_type when positive (overflow is an error), of a data integer when
/// imm is set (its DataType packed).
const Instr* ramp(const Instr* p, Slot* r, Context& c) {
  const DataType t{static_cast<TypeCode>(p->imm), static_cast<std::uint8_t>(p->extra)};
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    const std::int64_t base = r[p->a].i, stride = r[p->b].i;
    std::int64_t offset, value;
    if (!t.is_index()) {
      r[p->dst + l].i = integer_op(t, BinaryOp::Add, base, integer_op(t, BinaryOp::Mul, stride, l));
      continue;
    }
    const bool fits = !__builtin_mul_overflow(stride, std::int64_t{l}, &offset) &&
                      !__builtin_add_overflow(base, offset, &value) &&
                      (t.bits == 64 || value == static_cast<std::int32_t>(value));
    r[p->dst + l].i = fits ? value : 0;
    if (!fits && !(p->c != kNone && !r[p->c + l].i) &&
        !violate(c, p, p + 1, ViolationKind::IndexOverflow, nullptr, {},
                 "ramp(" + std::to_string(base) + ", " + std::to_string(stride) + ") leaves " +
                     std::to_string(t.bits) + " bits at lane " + std::to_string(l))) {
      return nullptr;
    }
  }
  return p + 1;
}

const Instr* logical_not(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) r[p->dst + l].i = !r[p->a + l].i;
  return p + 1;
}
/// a && b, for masks; `a` may be absent.
const Instr* mask_and(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l)
    r[p->dst + l].i = (p->a == kNone || r[p->a + l].i) && r[p->b + l].i;
  return p + 1;
}
/// a && !b
const Instr* mask_and_not(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l)
    r[p->dst + l].i = (p->a == kNone || r[p->a + l].i) && !r[p->b + l].i;
  return p + 1;
}

const Instr* jump(const Instr* p, Slot*, Context&) { return p + p->imm; }
const Instr* jump_if_zero(const Instr* p, Slot* r, Context&) { return r[p->a].i ? p + 1 : p + p->imm; }
const Instr* jump_if_nonzero(const Instr* p, Slot* r, Context&) { return r[p->a].i ? p + p->imm : p + 1; }
const Instr* jump_if_no_lane(const Instr* p, Slot* r, Context&) {
  for (std::uint32_t l = 0; l < p->lanes; ++l) {
    if (r[p->a + l].i) return p + 1;
  }
  return p + p->imm;
}

namespace {

/// Reports an extent below 0. Null: the run stops.
bool extent_fits(const Instr* p, Slot* r, Context& c) {
  return r[p->a].i >= 0 || violate(c, p, p + 1, ViolationKind::NegativeExtent, nullptr, {},
                                   "a loop of extent " + std::to_string(r[p->a].i));
}

constexpr std::uint64_t kFuel = std::uint64_t{1} << 40;

/// At the end of an iteration, when the fuel is burnt: gives more budget, or lets other threads run first.
[[gnu::noinline]] const Instr* budget_spent(const Instr* next, Context& c) {
  c.machine->refuel(kFuel);
  if (!c.preemptible) return next;
  c.next = next;
  c.status = Status::Ready;
  return nullptr;
}

}  // namespace

/// dst: variable, a: extent, imm: to behind the loop.
const Instr* loop_begin(const Instr* p, Slot* r, Context& c) {
  r[p->dst].i = 0;
  if (r[p->a].i > 0) return p + 1;
  return extent_fits(p, r, c) ? p + p->imm : nullptr;
}
/// dst: variable, a: extent, imm: back to the body.
const Instr* loop_next(const Instr* p, Slot* r, Context& c) {
  const bool again = ++r[p->dst].i < r[p->a].i;
  const Instr* next = again ? p + p->imm : p + 1;
  if (--c.machine->fuel == 0) [[unlikely]]
    return budget_spent(next, c);
  return next;
}

/// A vectorised loop: as `loop_begin` and `loop_next`, and its iterations are lanes to the race check, unless a
/// vectorised loop goes on already. b: a register that says whether this is the outermost.
const Instr* lanes_begin(const Instr* p, Slot* r, Context& c) {
  r[p->b].i = c.self.vector == 0;
  if (r[p->b].i) {
    c.self.vector = ++c.machine->vectors;
    c.self.lane = 0;
  }
  const Instr* next = loop_begin(p, r, c);
  if (next != p + 1 && r[p->b].i) c.self.vector = 0;
  return next;
}
const Instr* lanes_next(const Instr* p, Slot* r, Context& c) {
  if (r[p->b].i) {
    ++c.self.lane;
    if (r[p->dst].i + 1 >= r[p->a].i) c.self.vector = 0;
  }
  return loop_next(p, r, c);
}

// A parallel loop, or one bound to a block axis. b: seven registers of its own: how many iterations are done,
// then how their order is scrambled (factor, offset), then the Toucher outside (kernel, block, thread, epoch).

namespace {

std::int64_t iteration_at(const Instr* p, const Slot* r, Context& c) {
  const std::int64_t n = r[p->a].i, k = r[p->b].i;
  switch (c.machine->options.order) {
    case Order::Forward: return k;
    case Order::Backward: return n - 1 - k;
    case Order::Random:
      return static_cast<std::int64_t>(
          (static_cast<unsigned __int128>(k) * static_cast<std::uint64_t>(r[p->b + 1].i) +
           static_cast<std::uint64_t>(r[p->b + 2].i)) %
          static_cast<std::uint64_t>(n));
  }
  return k;
}

/// The outermost such loop starts a kernel, whose iterations (those of nested block-axis loops too) are its
/// blocks; a parallel loop inside spreads over the threads of one.
bool spreads_blocks(const Instr* p, const Slot* r) { return r[p->b + 3].i == 0 || p->extra; }

void enter_iteration(const Instr* p, Slot* r, Context& c) {
  r[p->dst].i = iteration_at(p, r, c);
  if (spreads_blocks(p, r)) {
    c.self.block = ++c.machine->blocks;
    c.self.thread = c.self.epoch = c.self.warp_epoch = 0;
  } else {
    c.self.thread = 32 * ++c.machine->threads;  // in warps of their own
  }
}

}  // namespace

/// `extra`: 1 for a block axis.
const Instr* spread_begin(const Instr* p, Slot* r, Context& c) {
  const std::int64_t n = r[p->a].i;
  if (n <= 0) return extent_fits(p, r, c) ? p + p->imm : nullptr;
  r[p->b].i = 0;
  if (c.machine->options.order == Order::Random) {
    std::int64_t factor = 1 + static_cast<std::int64_t>(c.machine->random() % static_cast<std::uint64_t>(n));
    while (std::gcd(factor, n) != 1) ++factor;
    r[p->b + 1].i = factor;
    r[p->b + 2].i = static_cast<std::int64_t>(c.machine->random() % static_cast<std::uint64_t>(n));
  }
  r[p->b + 3].i = c.self.kernel;
  r[p->b + 4].i = c.self.block;
  r[p->b + 5].i = c.self.thread;
  if (c.self.kernel == 0) c.self.kernel = ++c.machine->kernels;
  ++c.self.epoch;
  enter_iteration(p, r, c);
  return p + 1;
}
const Instr* spread_next(const Instr* p, Slot* r, Context& c) {
  const Instr* next = p + 1;
  if (++r[p->b].i < r[p->a].i) {
    enter_iteration(p, r, c);
    next = p + p->imm;
  } else {
    const bool blocks = spreads_blocks(p, r);
    c.self.kernel = static_cast<std::uint32_t>(r[p->b + 3].i);
    c.self.block = static_cast<std::uint32_t>(r[p->b + 4].i);
    c.self.thread = static_cast<std::uint32_t>(r[p->b + 5].i);
    if (!blocks) ++c.self.epoch;
  }
  if (--c.machine->fuel == 0) [[unlikely]]
    return budget_spent(next, c);
  return next;
}

const Instr* count(const Instr* p, Slot*, Context& c) {
  ++c.machine->counts[p->imm];
  return p + 1;
}

namespace {
const AllocateInfo& allocation(const Instr* p) { return *static_cast<const AllocateInfo*>(p->ptr); }
}  // namespace

const Instr* allocate(const Instr* p, Slot* r, Context& c) {
  const AllocateInfo& info = allocation(p);
  std::vector<std::int64_t> shape, strides;
  for (std::uint32_t reg : info.shape) shape.push_back(r[reg].i);
  for (std::uint32_t reg : info.strides) strides.push_back(r[reg].i);
  for (std::vector<std::int64_t>* extents : {&shape, &strides}) {
    for (std::int64_t& extent : *extents) {
      if (extent >= 0) continue;
      if (!violate(c, p, p + 1, ViolationKind::NegativeExtent, info.info, {},
                   "allocated with the extent or stride " + std::to_string(extent))) {
        return nullptr;
      }
      extent = 0;
    }
  }
  if (c.group && info.any_shared) {
    r[info.reg].instance = c.group->shared_instance(c, p, info, std::move(shape), std::move(strides));
  } else {
    r[info.reg].instance = c.machine->make_instance(*info.info, std::move(shape), std::move(strides), true);
  }
  return p + 1;
}
const Instr* free(const Instr* p, Slot* r, Context& c) {
  const AllocateInfo& info = allocation(p);
  Instance* instance = r[info.reg].instance;
  r[info.reg].instance = nullptr;
  if (c.group && info.any_shared) {
    --instance->users;
  } else {
    c.machine->release(instance);
  }
  return p + 1;
}

/// a: value, b: extent of the block variable; its name is that of the innermost scope.
const Instr* check_domain(const Instr* p, Slot* r, Context& c) {
  const std::int64_t value = r[p->a].i, extent = r[p->b].i;
  if (value >= 0 && value < extent) [[likely]]
    return p + 1;
  const VarNode* var = static_cast<const VarNode*>(p->ptr);
  return violate(c, p, p + 1, ViolationKind::OutsideDomain, nullptr, {},
                 "block variable " + var->name + " = " + std::to_string(value) +
                     " is outside its domain 0.." + std::to_string(extent));
}

const Instr* extern_call(const Instr* p, Slot* r, Context&) {
  const ExternCall& call = *static_cast<const ExternCall*>(p->ptr);
  std::vector<Scalar> args;
  for (auto [reg, type] : call.args) {
    Scalar s{type};
    if (type == f64)
      s.f = r[reg].d;
    else if (type.is_float())
      s.f = r[reg].f;
    else
      s.i = r[reg].i;
    args.push_back(s);
  }
  const Scalar result = (*call.function)(args);
  with_kind(call.result, [&]<class K>() -> int {
    if constexpr (K::is_float)
      K::set(r[p->dst], result.f);
    else
      K::set(r[p->dst], result.i);
    return 0;
  });
  return p + 1;
}

const Instr* end(const Instr*, Slot*, Context& c) {
  c.status = Status::Done;
  return nullptr;
}

}  // namespace lathe::interp::op
