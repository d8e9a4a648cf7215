#include "schedules/tiling.h"

#include <algorithm>

namespace lathe::library {

Registers registers_of(const Target& target, DataType dtype) {
  if (!target.is_cpu()) return {4, 16};
  return {std::max<std::int64_t>(1, target.cpu().lanes(dtype.bits)), target.cpu().vector_registers};
}

Expr choose(Schedule& s, Choices choices, std::int64_t value, std::vector<std::int64_t> others) {
  if (choices == Choices::Fixed) return Expr(value);
  std::erase(others, value);
  others.insert(others.begin(), value);
  return s.sample_choice(others);
}

bool computes_nothing(Schedule& s) {
  const std::vector<LoopRef> loops = s.loops(s.blocks().back());
  return std::any_of(loops.begin(), loops.end(), [&](LoopRef l) { return s.extent(l) == 0; });
}

void reduce_in_lanes(Schedule& s, BlockRef block, LoopRef last, const Expr& lanes) {
  const std::vector<LoopRef> loops = s.loops(block);
  auto [o, v] = s.split(last, {_, lanes});
  const BlockRef partial = s.rfactor(block, v, s.get(block).writes[0].buffer->rank());
  if (loops.size() > 1) s.reverse_compute_at(block, loops[loops.size() - 2]);
  s.set_scope(partial, Scope::Local);
  s.vectorize(v);
}

void parallelize(Schedule& s, BlockRef block, std::size_t count) {
  const std::vector<LoopRef> loops = s.loops(block);
  const std::vector<LoopRef> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(count));
  s.parallel(count == 1 ? outer[0] : s.fuse(outer));
}

}  // namespace lathe::library
