// Memory, fuel and violations of a run.

#include <algorithm>

#include "interp/kinds.h"
#include "support/error_codes/interp.h"
#include "support/shape_text.h"

namespace lathe::interp {
namespace {

std::string bytes_text(std::int64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits + " B";
}

/// Elements of the shape, or -1 when that is more than memory can hold.
std::int64_t elements(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t n = 1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t reach;
    if (strides.empty() ? __builtin_mul_overflow(n, shape[d], &n)
                        : __builtin_mul_overflow(shape[d] - 1, strides[d], &reach) ||
                              __builtin_add_overflow(n, reach, &n)) {
      return -1;
    }
  }
  return n < (std::int64_t{1} << 48) ? n : -1;
}

}  // namespace

void Machine::check_memory(std::int64_t n, std::int64_t bytes_each, const std::string& what) const {
  const bool countable = n >= 0 && n < (std::int64_t{1} << 48);
  if (countable && bytes_alive + n * bytes_each <= options.memory_limit) return;
  throw UserError(code::I003,
                  what + ": needs " + (countable ? bytes_text(n * bytes_each) : "more than 2^48 elements") +
                      ", " + bytes_text(bytes_alive) + " are in use, and the interpreter's limit is " +
                      bytes_text(options.memory_limit) +
                      " (shadows of checks included); use smaller sizes, switch checks off, or raise "
                      "Options::memory_limit");
}

Instance* Machine::make_instance(const BufferInfo& info, std::vector<std::int64_t> shape,
                                 std::vector<std::int64_t> strides, bool temp) {
  const std::int64_t n = elements(shape, strides);
  const std::int64_t per_element = (temp ? info.dtype.bytes() : 0) + (track_state ? 1 : 0) +
                                   (track_touched ? static_cast<std::int64_t>(sizeof(Touched)) : 0);
  check_memory(n, per_element, "buffer \"" + info.name + "\" of shape " + shape_text(shape));
  Instance* b;
  auto& waiting = pool[info.id];
  if (!waiting.empty() && waiting.back()->capacity >= n) {
    b = waiting.back();
    waiting.pop_back();
  } else {
    owned.push_back(std::make_unique<Instance>());
    b = owned.back().get();
    b->place = owned.size() - 1;
    b->info = &info;
    b->capacity = n;
    if (temp) b->memory = std::make_unique<char[]>(std::max<std::int64_t>(n * info.dtype.bytes(), 1));
    if (track_state) b->state_memory = std::make_unique<char[]>(std::max<std::int64_t>(n, 1));
    if (track_touched) b->touched = std::make_unique<Touched[]>(std::max<std::int64_t>(n, 1));
  }
  b->temp = temp;
  b->size = n;
  b->shape = std::move(shape);
  b->strides = std::move(strides);
  for (std::size_t d = 0; d < b->extents.size() && d < b->shape.size(); ++d) b->extents[d] = b->shape[d];
  b->data = b->memory.get();
  b->state = reinterpret_cast<std::uint8_t*>(b->state_memory.get());
  if (temp) std::memset(b->data, 0xff, n * info.dtype.bytes());
  if (track_state) std::memset(b->state, 0, n);
  if (track_touched) std::fill_n(b->touched.get(), n, Touched{});
  b->users = 0;
  b->root = nullptr;
  bytes_alive += n * per_element;
  BufferCounts& counts = report.buffers[info.id];
  alive_of[info.id] += b->bytes();
  counts.peak_bytes = std::max(counts.peak_bytes, alive_of[info.id]);
  if (temp) {
    ++counts.instances;
    temp_bytes_alive += b->bytes();
    report.peak_bytes = std::max<std::uint64_t>(report.peak_bytes, temp_bytes_alive);
  }
  return b;
}

void Machine::release(Instance* instance) {
  if (!instance) return;
  for (auto& [coordinates, own] : instance->per_thread) release(own);
  instance->per_thread.clear();
  const std::int64_t per_element = (instance->temp ? instance->info->dtype.bytes() : 0) +
                                   (track_state ? 1 : 0) +
                                   (track_touched ? static_cast<std::int64_t>(sizeof(Touched)) : 0);
  bytes_alive -= instance->size * per_element;
  alive_of[instance->info->id] -= instance->bytes();
  if (instance->temp) temp_bytes_alive -= instance->bytes();
  constexpr std::int64_t kLarge = std::int64_t{1} << 20;
  if (instance->capacity < kLarge) {
    pool[instance->info->id].push_back(instance);
    return;
  }
  const std::size_t place = instance->place;
  std::swap(owned[place], owned.back());
  owned[place]->place = place;
  owned.pop_back();
}

void Machine::refuel(std::uint64_t steps) {
  steps_left += fuel;
  if (steps_left == 0) {
    throw UserError(code::I004,
                    "the program was stopped after " + std::to_string(options.step_limit) +
                        " loop iterations; raise Options::step_limit if it is meant to run that long");
  }
  fuel = std::min(steps, steps_left);
  steps_left -= fuel;
}

const Instr* violate(Context& c, const Instr* at, const Instr* next, ViolationKind kind,
                     const BufferInfo* buffer, std::vector<std::int64_t> indices, std::string detail) {
  Machine& m = *c.machine;
  Report& report = m.report;
  ++report.violation_count;
  if (m.options.fail_fast) {
    m.stopped = true;
    c.status = Status::Stopped;
    next = nullptr;
  }
  if (static_cast<int>(report.violations.size()) >= m.options.max_violations && !report.violations.empty())
    return next;
  Violation v;
  v.kind = kind;
  v.indices = std::move(indices);
  if (buffer) v.buffer = buffer->name;
  const Bytecode& code = *m.code;
  if (at >= code.instrs.data() && at < code.instrs.data() + code.instrs.size()) {
    for (int s = code.scope_of[at - code.instrs.data()]; s >= 0; s = code.scopes[s].parent) {
      v.loops.emplace_back(code.scopes[s].name, c.registers[code.scopes[s].reg].i);
    }
    std::reverse(v.loops.begin(), v.loops.end());
  }
  v.text = spelling(kind);
  v.text += ": ";
  if (buffer) v.text += buffer->name + shape_text(v.indices) + " ";
  v.text += detail;
  if (!v.loops.empty()) {
    v.text += ", at ";
    for (std::size_t i = 0; i < v.loops.size(); ++i) {
      v.text += (i ? ", " : "") + v.loops[i].first + " = " + std::to_string(v.loops[i].second);
    }
  }
  report.violations.push_back(std::move(v));
  return next;
}

}  // namespace lathe::interp
