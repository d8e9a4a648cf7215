#include "tuner/features/cpu_draft.h"

#include <algorithm>
#include <cmath>

namespace lathe::tuner {
namespace {

constexpr double Line = 64;
// Cycles an operation, of a vector or a scalar.
constexpr double AddOrMultiply = 0.5, Compare = 0.5, Divide = 5, Math = 12, Whole = 0.5, WholeDivide = 8,
                 Other = 1;
constexpr double MultiplyAddLatency = 4;
constexpr double LoadsPerCycle = 2, BytesPerCycleL2 = 24, BytesPerCycleL3 = 10, BytesPerCycleMemory = 5;
constexpr double ParallelLaunch = 15000, LoopTurn = 1.5;
constexpr double Overlap = 0.3;  // what of the smaller parts shows

double ceil_div(double a, double b) { return std::ceil(a / b); }

double cycles_of(const OperationCounts& n) {
  return (n.float_multiply_add + n.float_add + n.float_multiply) * AddOrMultiply + n.float_compare * Compare +
         n.float_divide * Divide + n.float_math * Math +
         (n.int_add + n.int_multiply + n.int_compare + n.logic + n.select) * Whole +
         n.int_divide * WholeDivide + (n.convert + n.other) * Other;
}

// Vectors that the body has for one scalar operation of the statement.
double body_operations(const StatementView& s, double lanes) {
  double product = 1;
  for (std::size_t l = s.body; l < s.loops.size(); ++l) {
    const double extent = static_cast<double>(s.extents[l]);
    product *= static_cast<int>(l) == s.vector_loop ? ceil_div(extent, lanes) : extent;
  }
  return product;
}

// Instructions that load or store an access once a body.
double body_accesses(const StatementView& s, const AccessView& a, double lanes) {
  const double elements = a.elements[s.body];
  if (s.vector_loop < 0 || static_cast<std::size_t>(s.vector_loop) < s.body) return elements;
  const std::int64_t stride = std::abs(a.stride[s.vector_loop]);
  if (stride == 0) return elements;  // broadcasts
  if (stride == 1)
    return std::max(1.0,
                    elements / std::max(1.0, std::min(lanes, static_cast<double>(s.extents[s.vector_loop]))));
  return 1.5 * elements;  // gathered one by one
}

}  // namespace

CpuModel::CpuModel(const Target& target) {
  if (!target.is_cpu()) return;
  const CpuTarget& cpu = target.cpu();
  lanes_bits = static_cast<double>(cpu.vector_bits);
  registers = static_cast<double>(cpu.vector_registers);
  cores = static_cast<double>(std::max<std::int64_t>(1, cpu.cores));
  l1 = static_cast<double>(std::max<std::int64_t>(1024, cpu.l1_bytes));
  l2 = static_cast<double>(std::max(cpu.l2_bytes, 2 * cpu.l1_bytes));
  l3 = static_cast<double>(std::max(cpu.last_level_bytes(), 2 * cpu.l2_bytes));
}

double traffic(const StatementView& s, double capacity) {
  // The largest inner nest whose lines fit.
  std::size_t fits = s.loops.size();
  while (fits > 0) {
    double footprint = 0;
    for (const AccessView& a : s.accesses) footprint += a.lines[fits - 1] * Line;
    if (footprint > 0.75 * capacity) break;
    --fits;
  }
  double bytes = 0;
  for (const AccessView& a : s.accesses) {
    // Loops right outside that do not move the access find its lines still there.
    std::size_t level = fits;
    while (level > 0 && a.stride[level - 1] == 0 && a.lines[level - 1] * Line <= 0.5 * capacity) --level;
    const double once = a.lines[level] * Line * s.iterations(0, level);
    bytes += std::max(once, a.lines[0] * Line) * (a.written && a.read ? 2 : 1);
  }
  return bytes;
}

StatementCost cost(const StatementView& s, const CpuModel& cpu) {
  StatementCost c;
  const double lanes = std::max(1.0, cpu.lanes_bits / s.bits), iterations = s.iterations();
  if (iterations == 0) return c;
  const double bodies = s.iterations(0, s.body), width = body_operations(s, s.vector_loop < 0 ? 1 : lanes);
  c.arithmetic = bodies * width * std::max(cycles_of(s.operations), 0.25);

  const AccessView& result = s.accesses[0];
  c.accumulators = 1;
  for (std::size_t l = s.body; l < s.loops.size(); ++l) {
    if (result.stride[l] == 0) continue;
    const double extent = static_cast<double>(s.extents[l]);
    c.accumulators *= static_cast<int>(l) == s.vector_loop ? ceil_div(extent, lanes) : extent;
  }
  double loads = 0;
  for (const AccessView& a : s.accesses) {
    // A result that the loop round the body does not move stays in registers.
    const bool kept = a.written && s.body > 0 && a.stride[s.body - 1] == 0 && c.accumulators <= cpu.registers;
    if (!kept) loads += body_accesses(s, a, lanes) * (a.read && a.written ? 2 : 1);
  }
  if (s.reduction) {
    const double chains = std::max(1.0, c.accumulators);
    c.arithmetic = std::max(c.arithmetic, bodies * (width / chains) * MultiplyAddLatency);
    if (c.accumulators > cpu.registers - 1) loads += 2 * (c.accumulators - cpu.registers + 2);
  }
  c.loads = bodies * loads / LoadsPerCycle;
  c.loads_per_operation = loads / std::max(1.0, width);
  c.overhead = bodies * LoopTurn * (s.guarded && s.useful < 1 ? 2 : 1);
  c.second_level = traffic(s, cpu.l1) / BytesPerCycleL2;
  c.third_level = traffic(s, cpu.l2) / BytesPerCycleL3;
  c.memory = traffic(s, cpu.l3) / BytesPerCycleMemory;

  const double parts[] = {c.arithmetic, c.loads, c.overhead, c.second_level, c.third_level, c.memory};
  double sum = 0, most = 0;
  for (double part : parts) {
    sum += part;
    most = std::max(most, part);
  }
  c.cycles = most + Overlap * (sum - most);
  for (const LoopView& l : s.loops) {
    if (l.kind == ForKind::Parallel) c.parallel *= static_cast<double>(l.extent);
  }
  if (c.parallel > 1) {
    c.parallel_speed = c.parallel / ceil_div(c.parallel, cpu.cores);
    c.cycles = c.cycles / c.parallel_speed + ParallelLaunch;
  }
  return c;
}

double cost(const ProgramView& program, const CpuModel& cpu) {
  double sum = 0;
  for (const StatementView& s : program.statements) sum += cost(s, cpu).cycles;
  return sum;
}

}  // namespace lathe::tuner
