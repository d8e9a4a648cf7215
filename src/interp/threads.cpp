#include "interp/threads.h"

#include <algorithm>
#include <numeric>

namespace lathe::interp {
namespace {

constexpr int kWarp = 32;
int axis_number(ThreadAxis axis) { return static_cast<int>(axis); }

}  // namespace

ThreadGroup::~ThreadGroup() {
  for (auto& [key, instance] : shared_) machine_.release(instance);
}

std::uint32_t ThreadGroup::linear(const Context& context) const {
  std::int64_t id = 0;
  for (ThreadAxis axis :
       {ThreadAxis::ThreadZ, ThreadAxis::ThreadY, ThreadAxis::ThreadX, ThreadAxis::VThread}) {
    const int a = axis_number(axis);
    id = id * std::max<std::int64_t>(extents_[a], 1) + std::max<std::int64_t>(context.coordinates[a], 0);
  }
  return static_cast<std::uint32_t>(id);
}

/// A number for a new thread.
int ThreadGroup::place() {
  if (free_.empty()) {
    threads_.emplace_back();
    return static_cast<int>(threads_.size()) - 1;
  }
  const int number = free_.back();
  free_.pop_back();
  return number;
}

void ThreadGroup::fork(int parent, const Instr* loop) {
  const Context& from = parent < 0 ? outside_ : threads_[parent]->context;
  const ThreadLoop& info = *machine_.code->thread_loops[loop->extra];
  const std::int64_t extent = from.registers[loop->a].i;
  const std::size_t file = machine_.code->registers.size();
  extents_[axis_number(info.axis)] = extent;
  machine_.check_memory(extent, static_cast<std::int64_t>(file * sizeof(Slot) + sizeof(Thread)),
                        "the threads of a block");
  for (std::int64_t i = 0; i < extent; ++i) {
    auto thread = std::make_unique<Thread>();
    thread->registers.assign(from.registers, from.registers + file);
    Context& c = thread->context;
    c = from;
    c.registers = thread->registers.data();
    c.preemptible = machine_.options.order == Order::Random && !machine_.code->serial_threads;
    c.group = this;
    c.number = place();
    c.coordinates[axis_number(info.axis)] = i;
    c.status = Status::Ready;
    c.next = loop + 1;
    c.end = loop + loop->imm - 1;
    c.self.thread = linear(c);
    c.self.epoch = epoch_;
    c.registers[loop->dst].i = i;
    for (std::uint32_t reg : info.private_buffers) {
      Instance* outer = c.registers[reg].instance;
      Instance* root = outer->root ? outer->root : outer;
      Instance*& own = root->per_thread[c.coordinates];
      if (!own) {
        own = machine_.make_instance(*root->info, root->shape, root->strides, true);
        own->root = root;
      }
      c.registers[reg].instance = own;
    }
    thread->parent = parent;
    if (parent >= 0) ++threads_[parent]->children;
    threads_[c.number] = std::move(thread);
  }
}

void ThreadGroup::end(int number) {
  const int parent = threads_[number]->parent;
  threads_[number]->registers = {};
  if (parent >= 0) --threads_[parent]->children;
}

/// Runs every thread that can run, until none can.
bool ThreadGroup::run_phase() {
  for (bool any = true; any;) {
    any = false;
    std::vector<int> order;
    for (const auto& t : threads_) {
      if (!t) continue;
      if (t->context.status == Status::Ready) order.push_back(t->context.number);
    }
    if (!machine_.code->serial_threads) {
      if (machine_.options.order == Order::Backward) std::reverse(order.begin(), order.end());
      if (machine_.options.order == Order::Random) {
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[machine_.random() % i]);
      }
    }
    for (int number : order) {
      any = true;
      Context& c = threads_[number]->context;
      if (c.preemptible) machine_.refuel(1 + machine_.random() % 32);
      run_context(c);
      if (machine_.stopped) return false;
      if (c.status == Status::Done)
        end(number);
      else if (c.status == Status::Joining)
        fork(number, c.next);
    }
  }
  return true;
}

/// Explicit barriers have to be met by all threads that have not ended, and none may have.
bool ThreadGroup::check_divergence() {
  const Context* first = nullptr;
  const Context* other = nullptr;
  bool ended = false;
  for (const auto& t : threads_) {
    if (!t) continue;
    const Context& c = t->context;
    if (c.status == Status::Done) ended = true;
    if (c.status != Status::AtBarrier || c.implicit_barrier) continue;
    if (!first)
      first = &c;
    else if (c.next != first->next)
      other = &c;
  }
  if (!first || (!ended && !other)) return true;
  return violate(*const_cast<Context*>(first), first->next - 1, first->next, ViolationKind::BarrierDivergence,
                 nullptr, {},
                 other ? "threads " + std::to_string(first->self.thread) + " and " +
                             std::to_string(other->self.thread) + " of a block wait at different barriers"
                       : "thread " + std::to_string(first->self.thread) +
                             " waits at a barrier that other threads of its block ended without") != nullptr;
}

/// Lets threads go on that wait. False when none does (or the run stops).
bool ThreadGroup::pass_barriers() {
  std::map<std::uint32_t, std::pair<bool, bool>> warps;  // some wait for the warp; all that live do
  for (const auto& t : threads_) {
    if (!t) continue;
    const Context& c = t->context;
    if (c.status == Status::Done || c.status == Status::Joining) continue;
    auto [at, fresh] = warps.try_emplace(c.self.thread / kWarp, false, true);
    at->second.first |= c.status == Status::AtWarpBarrier;
    at->second.second &= c.status == Status::AtWarpBarrier;
  }
  bool any = false;
  for (const auto& t : threads_) {
    if (!t) continue;
    Context& c = t->context;
    if (c.status != Status::AtWarpBarrier || !warps[c.self.thread / kWarp].second) continue;
    c.status = Status::Ready;
    ++c.self.warp_epoch;
    any = true;
  }
  if (any) {
    for (const auto& [warp, waits] : warps) machine_.report.barriers += waits.first && waits.second;
    return true;
  }
  bool barrier = false, stuck = false;
  for (const auto& t : threads_) {
    if (!t) continue;
    barrier |= t->context.status == Status::AtBarrier && !t->context.implicit_barrier;
    stuck |= t->context.status == Status::AtWarpBarrier;
    any |=
        t->context.status == Status::AtBarrier || (t->context.status == Status::Joining && t->children == 0);
  }
  if (stuck) {  // a part of a warp waits for the warp, the rest for the block or has ended
    for (const auto& t : threads_) {
      if (!t) continue;
      Context& c = t->context;
      if (c.status != Status::AtWarpBarrier) continue;
      if (!violate(c, c.next - 1, c.next, ViolationKind::BarrierDivergence, nullptr, {},
                   "a part of a warp waits at a warp barrier, another part elsewhere")) {
        return false;
      }
      c.status = Status::Ready;
      any = true;
      break;
    }
    return any;
  }
  if (!check_divergence()) return false;
  machine_.report.barriers += barrier;
  ++epoch_;
  for (const auto& t : threads_) {
    if (!t) continue;
    Context& c = t->context;
    if (c.status == Status::Joining && t->children == 0) {
      c.next += c.next->imm;
      forget_children(c.number);
    } else if (c.status != Status::AtBarrier) {
      continue;
    }
    c.status = Status::Ready;
    c.self.epoch = epoch_;
    c.self.warp_epoch = 0;
  }
  collect();
  return any;
}

void ThreadGroup::forget_children(int parent) {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i] || threads_[i]->parent != parent) continue;
    threads_[i] = nullptr;
    free_.push_back(static_cast<int>(i));
  }
}

/// Frees shared instances that no thread holds, and the books of threads that have ended.
void ThreadGroup::collect() {
  for (auto at = shared_.begin(); at != shared_.end();) {
    if (at->second->users == 0) {
      machine_.release(at->second);
      at = shared_.erase(at);
    } else {
      ++at;
    }
  }
}

Instance* ThreadGroup::shared_instance(Context& thread, const Instr* at, const AllocateInfo& info,
                                       std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  const int time = threads_[thread.number]->allocations[at]++;
  std::array<std::int64_t, 8> owner = thread.coordinates;
  for (std::size_t a = 0; a < owner.size(); ++a) {
    if (info.shared[a]) owner[a] = -1;
  }
  Instance*& instance = shared_[{at, time, owner}];
  if (!instance) instance = machine_.make_instance(*info.info, std::move(shape), std::move(strides), true);
  ++instance->users;
  return instance;
}

bool ThreadGroup::run(const Instr* loop) {
  epoch_ = outside_.self.epoch + 1;
  fork(-1, loop);
  do {
    if (!run_phase()) return false;
  } while (pass_barriers());
  if (machine_.stopped) return false;
  outside_.self.epoch = epoch_ + 1;
  return true;
}

namespace op {

/// dst: variable, a: extent, extra: the ThreadLoop, imm: to behind the matching thread_end.
const Instr* thread_begin(const Instr* p, Slot* r, Context& c) {
  Machine& m = *c.machine;
  const std::int64_t extent = r[p->a].i;
  const std::int64_t own = c.coordinates[axis_number(m.code->thread_loops[p->extra]->axis)];
  if (extent < 0 && !violate(c, p, p + 1, ViolationKind::NegativeExtent, nullptr, {},
                             "a loop of extent " + std::to_string(extent))) {
    return nullptr;
  }
  if (extent <= 0 || own >= extent) return p + p->imm;
  if (own >= 0) {
    r[p->dst].i = own;
    return p + 1;
  }
  if (c.group) {
    c.next = p;
    c.status = Status::Joining;
    return nullptr;
  }
  const Toucher before = c.self;
  if (c.self.kernel == 0) {
    c.self = {};
    c.self.kernel = ++m.kernels;
    c.self.block = ++m.blocks;
  }
  ThreadGroup group(c);
  if (!group.run(p)) return nullptr;
  if (before.kernel == 0) c.self = before;
  return p + p->imm;
}

const Instr* thread_end(const Instr* p, Slot*, Context& c) {
  if (c.end != p) return p + 1;
  c.status = Status::Done;
  return nullptr;
}

/// imm: 1 for the implicit barrier after a statement.
const Instr* barrier(const Instr* p, Slot*, Context& c) {
  if (!c.group) return p + 1;
  c.next = p + 1;
  c.implicit_barrier = p->imm;
  c.status = Status::AtBarrier;
  return nullptr;
}
const Instr* warp_barrier(const Instr* p, Slot*, Context& c) {
  if (!c.group) return p + 1;
  c.next = p + 1;
  c.status = Status::AtWarpBarrier;
  return nullptr;
}

}  // namespace op
}  // namespace lathe::interp
