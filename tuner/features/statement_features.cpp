#include "tuner/features/statement_features.h"

#include <algorithm>
#include <cmath>

#include "lathe/digest.h"

namespace lathe::tuner {
namespace {

// Raised when the meaning of a column changes and its name does not.
constexpr std::uint64_t Meaning = 1;
constexpr std::size_t Accesses = 5, CurvePoints = 10;

/// Fills a row from left to right, or lists the names.
class Writer {
 public:
  explicit Writer(std::span<float> row) : row_(row) {}
  explicit Writer(std::vector<std::string>& names) : names_(&names) {}

  void number(const std::string& name, double value) { put(name, value); }
  void magnitude(const std::string& name, double value) {
    put(name, std::copysign(std::log2(1 + std::abs(value)), value));
  }
  void flag(const std::string& name, bool value) { put(name, value ? 1 : 0); }
  bool listing() const { return names_ != nullptr; }

 private:
  void put(const std::string& name, double value) {
    if (names_) {
      names_->push_back(name);
    } else {
      row_[next_++] = std::isfinite(value) ? static_cast<float>(value) : 0;
    }
  }
  std::span<float> row_;
  std::vector<std::string>* names_ = nullptr;
  std::size_t next_ = 0;
};

// A column's name is built for listing only: half of the time would go into strings.
#define LATHE_NAME(text) (w.listing() ? std::string(text) : std::string())

void operations(Writer& w, const StatementView& s) {
  const OperationCounts& n = s.operations;
  const double times = s.iterations();
  w.magnitude("float_multiply_add", n.float_multiply_add * times);
  w.magnitude("float_add", n.float_add * times);
  w.magnitude("float_multiply", n.float_multiply * times);
  w.magnitude("float_divide", n.float_divide * times);
  w.magnitude("float_compare", n.float_compare * times);
  w.magnitude("float_math", n.float_math * times);
  w.magnitude("int_add", n.int_add * times);
  w.magnitude("int_multiply", n.int_multiply * times);
  w.magnitude("int_divide", n.int_divide * times);
  w.magnitude("int_compare", n.int_compare * times);
  w.magnitude("logic", n.logic * times);
  w.magnitude("select", n.select * times);
  w.magnitude("convert", n.convert * times);
  w.magnitude("other", n.other * times);
}

void annotated(Writer& w, const StatementView& s, ForKind kind, const char* name) {
  double count = 0, product = 1, innermost = 0, position = 0;
  bool moves_result = false;
  for (std::size_t l = 0; l < s.loops.size(); ++l) {
    if (s.loops[l].kind != kind) continue;
    ++count;
    innermost = static_cast<double>(s.extents[l]);
    product *= innermost;
    position = static_cast<double>(l + 1) / static_cast<double>(s.loops.size());
    moves_result = s.accesses[0].stride[l] != 0;
  }
  const std::string prefix = LATHE_NAME(name);
  w.number(LATHE_NAME(prefix + ".loops"), count);
  w.magnitude(LATHE_NAME(prefix + ".product"), count > 0 ? product : 0);
  w.magnitude(LATHE_NAME(prefix + ".innermost"), innermost);
  w.number(LATHE_NAME(prefix + ".position"), position);
  w.flag(LATHE_NAME(prefix + ".moves_result"), moves_result);
}

void nest(Writer& w, const StatementView& s, const CpuModel& cpu) {
  const double lanes = std::max(1.0, cpu.lanes_bits / s.bits);
  double vector = 1, reduce = 1, outer = 1;
  if (s.vector_loop >= 0) vector = static_cast<double>(s.extents[s.vector_loop]);
  for (std::size_t l = 0; l < s.loops.size(); ++l) {
    if (s.accesses[0].stride[l] == 0) reduce *= static_cast<double>(s.extents[l]);
  }
  outer = s.iterations(0, s.body);
  w.number("loops", static_cast<double>(s.loops.size()));
  w.magnitude("iterations", s.iterations());
  w.magnitude("iterations.reduce", reduce);
  w.magnitude("bodies", outer);
  w.magnitude("body", s.iterations(s.body, s.loops.size()));
  w.number("vector.fill", s.vector_loop < 0 ? 0 : vector / (std::ceil(vector / lanes) * lanes));
  w.magnitude("around_body", s.body > 0 ? static_cast<double>(s.extents[s.body - 1]) : 0);
  w.flag("around_body.reduces", s.body > 0 && s.accesses[0].stride[s.body - 1] == 0);
  w.flag("reduction", s.reduction);
  w.flag("guarded", s.guarded);
  w.number("useful", s.useful);
  w.number("bits", s.bits / 32.0);
}

void hardware(Writer& w, const StatementView& s, const StatementCost& c, const CpuModel& cpu) {
  const double ops = std::max(1.0, s.operations.all() * s.iterations());
  w.magnitude("accumulators", c.accumulators);
  w.magnitude("spilled", std::max(0.0, c.accumulators - cpu.registers));
  w.number("loads_per_operation", c.loads_per_operation);
  w.magnitude("cycles.arithmetic", c.arithmetic);
  w.magnitude("cycles.loads", c.loads);
  w.magnitude("cycles.overhead", c.overhead);
  w.magnitude("cycles.second_level", c.second_level);
  w.magnitude("cycles.third_level", c.third_level);
  w.magnitude("cycles.memory", c.memory);
  w.magnitude("cycles", c.cycles);
  w.number("bound.loads", c.loads / (c.loads + c.arithmetic + 1));
  w.number("bound.second_level", c.second_level / (c.second_level + c.arithmetic + 1));
  w.number("bound.third_level", c.third_level / (c.third_level + c.arithmetic + 1));
  w.number("bound.memory", c.memory / (c.memory + c.arithmetic + 1));
  w.number("cycles_per_operation", std::log2(1e-3 + c.cycles / ops));
  w.magnitude("parallel.trips", c.parallel > 1 ? c.parallel : 0);
  w.number("parallel.fill", c.parallel_speed / cpu.cores);
  w.magnitude("parallel.grain", c.parallel > 1 ? s.iterations() / c.parallel : 0);
}

/// Operations a byte touched, at ten places from the innermost loop outwards.
void curve(Writer& w, const StatementView& s) {
  const double per_iteration = std::max(1.0, s.operations.all());
  const std::size_t depth = s.loops.size();
  for (std::size_t p = 0; p < CurvePoints; ++p) {
    const std::size_t level = depth - depth * p / (CurvePoints - 1);
    double bytes = 0;
    for (const AccessView& a : s.accesses) bytes += a.elements[level] * static_cast<double>(a.element_bytes);
    w.magnitude(LATHE_NAME("intensity." + std::to_string(p)),
                per_iteration * s.iterations(level, depth) / std::max(1.0, bytes));
  }
}

struct Reuse {
  bool loop = false, serial = false;  // over a loop that does not move the access; between statements
  double iterations = 0, bytes = 0, count = 0;
};

/// The innermost loop with more than one iteration that does not move the access.
Reuse reuse_of(const StatementView& s, const AccessView& a) {
  Reuse reuse;
  reuse.serial = a.read && a.written;
  for (std::size_t l = s.loops.size(); l-- > 0;) {
    if (s.extents[l] <= 1 || a.stride[l] != 0) continue;
    reuse.loop = true;
    reuse.count = static_cast<double>(s.extents[l]);
    reuse.iterations = s.iterations(l + 1, s.loops.size());
    for (const AccessView& other : s.accesses) {
      reuse.bytes += other.elements[l + 1] * static_cast<double>(other.element_bytes);
    }
    break;
  }
  return reuse;
}

void access(Writer& w, const StatementView& s, const AccessView* a, std::size_t number, const CpuModel& cpu) {
  const std::string prefix = LATHE_NAME("access" + std::to_string(number));
  static const AccessView none = [] {
    AccessView empty;
    static const BufferNode buffer;
    empty.buffer = &buffer;
    return empty;
  }();
  const bool present = a != nullptr;
  const AccessView& v = present ? *a : none;
  const double size = static_cast<double>(v.element_bytes);
  const double bytes = present ? s.iterations() * size : 0, unique = present ? v.elements[0] * size : 0;
  const double unique_lines = present ? v.lines[0] : 0;
  const double lines = present ? v.lines[s.body] * s.iterations(0, s.body) : 0;
  const Reuse reuse = present ? reuse_of(s, v) : Reuse();
  const double count = std::max(1.0, reuse.count);
  const std::size_t depth = s.loops.size();
  const std::int64_t innermost = present && depth > 0 ? v.stride[depth - 1] : 0;
  const std::int64_t vector = present && s.vector_loop >= 0 ? std::abs(v.stride[s.vector_loop]) : 0;
  w.flag(LATHE_NAME(prefix + ".read"), v.read);
  w.flag(LATHE_NAME(prefix + ".written"), v.written);
  w.flag(LATHE_NAME(prefix + ".local"), present && v.local());
  w.magnitude(LATHE_NAME(prefix + ".bytes"), bytes);
  w.magnitude(LATHE_NAME(prefix + ".unique_bytes"), unique);
  w.magnitude(LATHE_NAME(prefix + ".lines"), lines);
  w.magnitude(LATHE_NAME(prefix + ".unique_lines"), unique_lines);
  w.flag(LATHE_NAME(prefix + ".reuse.loop"), reuse.loop);
  w.flag(LATHE_NAME(prefix + ".reuse.update"), reuse.serial);
  w.magnitude(LATHE_NAME(prefix + ".reuse.iterations"), reuse.iterations);
  w.magnitude(LATHE_NAME(prefix + ".reuse.bytes"), reuse.bytes);
  w.magnitude(LATHE_NAME(prefix + ".reuse.count"), reuse.count);
  w.flag(LATHE_NAME(prefix + ".reuse.in_l1"), reuse.loop && reuse.bytes <= 0.75 * cpu.l1);
  w.flag(LATHE_NAME(prefix + ".reuse.in_l2"), reuse.loop && reuse.bytes <= 0.75 * cpu.l2);
  w.magnitude(LATHE_NAME(prefix + ".bytes_per_reuse"), bytes / count);
  w.magnitude(LATHE_NAME(prefix + ".unique_bytes_per_reuse"), unique / count);
  w.magnitude(LATHE_NAME(prefix + ".lines_per_reuse"), lines / count);
  w.magnitude(LATHE_NAME(prefix + ".unique_lines_per_reuse"), unique_lines / count);
  w.magnitude(LATHE_NAME(prefix + ".stride"), static_cast<double>(innermost));
  w.flag(LATHE_NAME(prefix + ".vector.same"), present && s.vector_loop >= 0 && vector == 0);
  w.flag(LATHE_NAME(prefix + ".vector.contiguous"), vector == 1);
  w.magnitude(LATHE_NAME(prefix + ".vector.stride"), static_cast<double>(vector));
}

void fill(Writer& w, const StatementView& s, const ProgramView& program, const CpuModel& cpu) {
  operations(w, s);
  annotated(w, s, ForKind::Vectorized, "vectorised");
  annotated(w, s, ForKind::Unrolled, "unrolled");
  annotated(w, s, ForKind::Parallel, "parallel");
  nest(w, s, cpu);
  hardware(w, s, cost(s, cpu), cpu);
  curve(w, s);
  w.magnitude("temporary_bytes", program.temporary_bytes);
  w.magnitude("largest_local_bytes", program.largest_local_bytes);
  w.number("statements", static_cast<double>(program.statements.size()));
  // The written access first, then the reads by traffic.
  std::vector<const AccessView*> order;
  for (const AccessView& a : s.accesses) order.push_back(&a);
  std::stable_sort(order.begin() + 1, order.end(),
                   [](const AccessView* a, const AccessView* b) { return a->elements[0] > b->elements[0]; });
  for (std::size_t i = 0; i < Accesses; ++i) access(w, s, i < order.size() ? order[i] : nullptr, i, cpu);
}

StatementView empty_statement() {
  static const BufferNode buffer;
  StatementView s;
  AccessView result;
  result.buffer = &buffer;
  result.elements = result.lines = {1};
  s.accesses.push_back(result);
  return s;
}

}  // namespace

const std::vector<std::string>& statement_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    Writer writer(list);
    fill(writer, empty_statement(), {}, CpuModel(Target{}));
    return list;
  }();
  return names;
}

std::uint64_t statement_feature_set() {
  std::string all;
  for (const std::string& name : statement_feature_names()) all += name + "\n";
  return digest_of(all).low + Meaning;
}

void add_features(const ProgramView& program, const CpuModel& cpu, FeatureTable& table) {
  for (const StatementView& s : program.statements) {
    Writer writer(table.add_row());
    fill(writer, s, program, cpu);
  }
  table.end_program();
}

}  // namespace lathe::tuner
