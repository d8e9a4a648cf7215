#include "tuner/measure/roofline.h"

#include <algorithm>
#include <vector>

#include "ir/visitor.h"
#include "lathe/runtime/timer.h"

namespace lathe::tuner {
namespace {

double operations_in(const Expr& value) {
  double count = 0;
  walk(value, [&](const Expr& e) {
    if (!e.dtype().is_float()) return true;
    const Call* call = e.as<Call>();
    if (e.as<Binary>()) count += 1;
    if (call) count += call->op == Intrinsic::Fma ? 2 : 1;
    return true;
  });
  return count;
}

}  // namespace

Work work_of(const Program& program) {
  Work work;
  walk(program->body, [&](const Stmt& s) {
    const Block* block = s.as<Block>();
    if (!block) return true;
    double points = 1;
    for (const IterVar& i : block->iters) points *= static_cast<double>(as_int(i.extent).value_or(0));
    walk(block->body, [&](const Stmt& inner) {
      if (const Store* store = inner.as<Store>()) work.operations += points * operations_in(store->value);
      return true;
    });
    return false;
  });
  for (const Param& p : program->params) {
    if (!p.buffer.defined()) continue;
    double size = 1;
    for (const Expr& e : p.buffer->shape) size *= static_cast<double>(as_int(e).value_or(0));
    work.bytes += size * p.buffer->dtype.bits / 8;
    if (p.buffer->dtype.is_float()) work.bits = std::max(work.bits, static_cast<int>(p.buffer->dtype.bits));
  }
  return work;
}

Machine measure_machine(const Target& target) {
  Machine machine;
  // A multiplication takes three cycles on every core of the last decade, the `or` before it one.
  constexpr double Steps = 300'000, Cycles = 4;
  double fastest = 1;
  for (int round = 0; round < 5; ++round) {
    volatile std::uint64_t seed = 3;
    std::uint64_t x = seed;
    const runtime::Timer timer;
    for (int i = 0; i < Steps; ++i) x *= x | 1;
    seed = x;
    fastest = std::min(fastest, timer.seconds());
  }
  machine.clock = Cycles * Steps / fastest;

  const auto bytes = static_cast<std::size_t>(
      std::clamp<std::int64_t>(2 * target.cpu().last_level_bytes(), 32 << 20, 256 << 20));
  std::vector<std::uint64_t> memory(bytes / 8, 1);
  double read = 1;
  for (int round = 0; round < 2; ++round) {
    volatile std::uint64_t sink = 0;
    std::uint64_t sum = 0;
    const runtime::Timer timer;
    for (std::uint64_t v : memory) sum += v;
    sink = sum;
    (void)sink;
    read = std::min(read, timer.seconds());
  }
  machine.bandwidth = static_cast<double>(bytes) / read;
  return machine;
}

double roofline_seconds(const Work& work, const Target& target, const Machine& machine, int threads) {
  const CpuTarget& cpu = target.cpu();
  const double lanes = static_cast<double>(cpu.lanes(work.bits)), flops = cpu.fma() ? 4 : 2;
  const double arithmetic = work.operations / (machine.clock * lanes * flops * std::max(1, threads));
  const bool fits = work.bytes < static_cast<double>(cpu.last_level_bytes());
  return std::max(arithmetic, fits ? 0 : work.bytes / machine.bandwidth);
}

}  // namespace lathe::tuner
