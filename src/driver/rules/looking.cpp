#include <algorithm>

#include "arith/analyzer.h"
#include "driver/rules/rule.h"
#include "ir/visitor.h"
#include "schedule/tree.h"

namespace lathe::rules {

Context::Context(const Target& target, const RuleOptions& options)
    : options_(options),
      lanes_(target.is_cpu() ? std::max<std::int64_t>(1, target.cpu().lanes(32)) : 4),
      registers_(target.is_cpu() ? target.cpu().vector_registers : 16),
      cores_(target.is_cpu() ? target.cpu().cores : 1),
      second_level_bytes_(target.is_cpu() ? target.cpu().l2_bytes : 256 << 10),
      last_level_bytes_(target.is_cpu() ? target.cpu().last_level_bytes() : 1 << 20) {}

std::int64_t Context::lanes(const Block& block) const {
  return std::max<std::int64_t>(1, lanes_ * 4 / std::max(4, block.writes[0].buffer->dtype.bytes()));
}

Expr Context::choose(Schedule& s, std::int64_t best, std::vector<std::int64_t> others,
                     const std::string& name) const {
  if (!open()) return Expr(best);
  std::erase(others, best);
  others.insert(others.begin(), best);
  return s.sample_choice(others, name);
}

bool attempt(Schedule& s, const std::function<void(Schedule&)>& step) {
  Schedule trial = s.fork();
  try {
    step(trial);
  } catch (const ScheduleError&) {
    return false;
  }
  s = std::move(trial);
  return true;
}

bool alive(const Schedule& s, BlockRef b) {
  try {
    s.get(b);
    return true;
  } catch (const ScheduleError&) {
    return false;
  }
}

std::vector<const For*> loops_round(const Schedule& s, BlockRef b) {
  std::vector<const For*> loops;
  for (const Stmt& each :
       schedule::loops_on(schedule::path_to_block(s.program()->body, s.get(b).label.get())))
    loops.push_back(each.as<For>());
  return loops;
}

std::int64_t extent(const Schedule& s, LoopRef l) { return s.extent(l).value_or(1 << 20); }

std::vector<LoopRef> own_loops(Schedule& s, BlockRef b) {
  const std::vector<LoopRef> loops = s.loops(b);
  return {loops.end() - static_cast<std::ptrdiff_t>(s.get(b).iters.size()), loops.end()};
}

std::size_t loop_count(const Schedule& s, BlockRef b) { return loops_round(s, b).size(); }

std::vector<BlockRef> consumers_of(const Schedule& s, BlockRef b) { return s.fork().consumers(b); }

double bytes_of(const Buffer& buffer) {
  double bytes = buffer->dtype.bytes();
  for (const Expr& e : buffer->shape) bytes *= static_cast<double>(as_int(e).value_or(1));
  return bytes;
}

double iterations(const Schedule& s, BlockRef b) {
  double product = 1;
  for (const For* l : loops_round(s, b)) product *= static_cast<double>(as_int(l->extent).value_or(1 << 20));
  return product;
}

bool writes_output(const Schedule& s, BlockRef b) {
  const Block& block = s.get(b);
  return std::ranges::any_of(s.program()->params, [&](const Param& p) {
    return std::ranges::any_of(block.writes,
                               [&](const BufferRegion& w) { return p.buffer.same_as(w.buffer); });
  });
}

bool is_constant(const Schedule& s, const Buffer& buffer) {
  return std::ranges::any_of(s.program()->params, [&](const Param& p) {
    return p.role == ParamRole::Constant && p.buffer.same_as(buffer);
  });
}

bool has_loop_of_kind(const Schedule& s, BlockRef b, ForKind kind) {
  return std::ranges::any_of(loops_round(s, b), [&](const For* l) { return l->for_kind == kind; });
}

std::int64_t value_of(const Schedule& s, const Expr& factor) {
  if (const std::optional<std::int64_t> value = as_int(factor)) return *value;
  const std::string& name = factor.as<VarNode>()->name;  // "f7": the handle's number
  return s.value(Factor(static_cast<std::uint32_t>(std::stoul(name.substr(1))), Var(factor.as<VarNode>())));
}

std::vector<std::size_t> spatial_variables(const Block& block) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == IterKind::Spatial) out.push_back(i);
  }
  return out;
}

bool mentions(const BufferRegion& access, const Var& var) {
  return std::ranges::any_of(access.ranges, [&](const Range& r) { return lathe::mentions(r.min, var); });
}

}  // namespace lathe::rules
