#include "tuner/search/schedule_template.h"

#include <algorithm>
#include <deque>
#include <set>

#include "ir/visitor.h"
#include "schedule/state.h"
#include "support/error_codes/tuner.h"

namespace lathe::tuner {
namespace {

constexpr std::size_t TriedOneByOne = 24;  // options of a decision with more are sampled
constexpr std::size_t MostListed = 4096;   // option lists kept of decisions that depend on earlier ones

bool is_tile(const std::string& op) { return op == "sample_perfect_tile" || op == "sample_tile"; }

const std::string& name_of(const HandleEntry& e) {
  return e.kind == HandleKind::Block ? static_cast<const LabelNode*>(e.node.get())->name
                                     : static_cast<const VarNode*>(e.node.get())->name;
}

std::optional<std::uint32_t> factor_handle(const VarNode* var) {
  if (var->name.size() < 2 || var->name[0] != 'f') return std::nullopt;
  std::uint32_t id = 0;
  for (char c : std::string_view(var->name).substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    id = id * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return id;
}

}  // namespace

std::string skeleton_of(const Trace& trace, bool choices) {
  Trace bare = trace;
  for (std::size_t step : bare.decisions()) {
    bare.steps[step].decision.clear();
    if (choices) continue;
    for (Arg& a : bare.steps[step].args) {
      if (a.get<ArgList>()) a = ArgList();
    }
  }
  return bare.to_json(true);
}

ScheduleTemplate::ScheduleTemplate(Program program, const Schedule& made)
    : program_(std::move(program)), trace_(made.trace()), skeleton_(skeleton_of(trace_)) {
  for (std::size_t step : trace_.decisions()) {
    const Instruction& s = trace_.steps[step];
    for (std::size_t c = 0; c < s.outputs.size(); ++c) {
      if (s.outputs[c].kind == HandleKind::Factor) factors_[s.outputs[c].id] = {open_.size(), c};
    }
    OpenStep open;
    open.step = step;
    open.fallback = s.decision;
    open_.push_back(std::move(open));
  }
  for (const Instruction& s : trace_.steps) {
    if (s.op != "require" || s.args.empty()) continue;
    if (const Expr* condition = s.args[0].get<Expr>()) requirements_.push_back(*condition);
  }
  read_recipes(made);
  name_open_steps(made);
}

void ScheduleTemplate::read_recipes(const Schedule& made) {
  std::map<const VarNode*, std::int64_t> original;
  walk(program_->body, [&](const Stmt& s) {
    if (const For* loop = s.as<For>()) {
      if (auto extent = as_int(loop->extent)) original[loop->var.node()] = *extent;
    }
    return true;
  });
  const std::vector<HandleEntry>& handles = made.state().handles;
  for (std::uint32_t id = 0; id < handles.size(); ++id) {
    if (handles[id].kind != HandleKind::Loop || !handles[id].node) continue;
    const VarNode* var = static_cast<const VarNode*>(handles[id].node.get());
    if (auto it = original.find(var); it != original.end()) {
      recipes_[id].kind = ExtentRecipe::Kind::Constant;
      recipes_[id].constant = it->second;
    }
  }
  for (const Instruction& s : trace_.steps) {
    if (s.op == "split" && s.args.size() > 1) {
      const LoopRef* loop = s.args[0].get<LoopRef>();
      const ArgList* factors = s.args[1].get<ArgList>();
      if (!loop || !factors) continue;
      for (std::size_t p = 0; p < s.outputs.size(); ++p) {
        ExtentRecipe& r = recipes_[s.outputs[p].id];
        r.kind = ExtentRecipe::Kind::SplitPart;
        r.loops = {loop->id()};
        r.factors.assign(factors->begin(), factors->end());
        r.position = p;
      }
    } else if (s.op == "fuse" && !s.args.empty() && s.outputs.size() == 1) {
      const ArgList* loops = s.args[0].get<ArgList>();
      if (!loops) continue;
      ExtentRecipe& r = recipes_[s.outputs[0].id];
      r.kind = ExtentRecipe::Kind::Fused;
      for (const Arg& a : *loops) {
        if (const LoopRef* l = a.get<LoopRef>()) r.loops.push_back(l->id());
      }
    }
  }
}

// A factor without a name is called after the loop that it makes: split(loop "j", {_, f}) makes j_1.
void ScheduleTemplate::name_open_steps(const Schedule& made) {
  const std::vector<HandleEntry>& handles = made.state().handles;
  std::map<std::uint32_t, std::string> block_of;
  auto inherit = [&](const Instruction& s, std::uint32_t from) {
    for (const Handle& h : s.outputs) block_of.emplace(h.id, block_of[from]);
  };
  std::vector<std::string> names(open_.size());
  for (const Instruction& s : trace_.steps) {
    const LoopRef* loop = s.args.empty() ? nullptr : s.args[0].get<LoopRef>();
    const BlockRef* block = s.args.empty() ? nullptr : s.args[0].get<BlockRef>();
    if (s.op == "get_loops" && block) {
      for (const Handle& h : s.outputs) block_of.emplace(h.id, name_of(handles[block->id()]));
    } else if (s.op == "split" && loop) {
      inherit(s, loop->id());
    } else if (s.op == "fuse" && !s.args.empty() && s.args[0].get<ArgList>()) {
      const Arg& first = s.args[0].get<ArgList>()->front();
      if (const LoopRef* l = first.get<LoopRef>()) inherit(s, l->id());
    }
    auto name = [&](std::size_t open, std::string text, const std::string& of) {
      if (!names[open].empty()) return;
      names[open] = std::move(text);
      open_[open].block = of;
    };
    for (std::size_t k = 0; k < open_.size(); ++k) {
      if (&trace_.steps[open_[k].step] != &s) continue;
      if (is_tile(s.op) && loop) name(k, name_of(handles[loop->id()]) + ".tile", block_of[loop->id()]);
      if (s.op == "sample_choice" && s.args.size() > 1) {
        if (const auto* given = s.args[1].get<std::string>()) {
          const std::size_t dot = given->find('.');
          const bool of_block = dot != std::string::npos;
          name(k, of_block ? given->substr(dot + 1) : *given, of_block ? given->substr(0, dot) : "");
        }
      }
      if (s.op == "sample_compute_location" && block) name(k, "at", name_of(handles[block->id()]));
    }
    if (s.op != "split" || !loop || s.args.size() < 2 || !s.args[1].get<ArgList>()) continue;
    const ArgList& factors = *s.args[1].get<ArgList>();
    for (std::size_t p = 0; p < factors.size(); ++p) {
      const Expr* e = factors[p].get<Expr>();
      if (!e) continue;
      for (const Var& v : free_vars(*e)) {
        const auto handle = factor_handle(v.node());
        const auto it = handle ? factors_.find(*handle) : factors_.end();
        if (it == factors_.end()) continue;
        name(it->second.open, name_of(handles[loop->id()]) + "_" + std::to_string(p), block_of[loop->id()]);
      }
    }
  }
  std::map<std::string, int> uses;
  for (std::size_t k = 0; k < open_.size(); ++k) {
    std::string text = names[k].empty() ? "choice" : names[k];
    if (!open_[k].block.empty()) text = open_[k].block + "." + text;
    const int use = ++uses[text];
    open_[k].name = use == 1 ? text : text + "#" + std::to_string(use);
  }
}

const std::vector<Decided>& ScheduleTemplate::options(std::size_t k,
                                                      const std::vector<Decided>& earlier) const {
  if (!open_[k].values.empty()) return open_[k].values;
  const std::vector<Decided> key(earlier.begin(), earlier.begin() + static_cast<std::ptrdiff_t>(k));
  if (auto it = listed_.find(key); it != listed_.end()) return it->second;
  if (listed_.size() >= MostListed) listed_.clear();
  std::vector<Decided>& result = listed_[key];

  const Instruction& s = trace_.steps[open_[k].step];
  const LoopRef* loop = s.args.empty() ? nullptr : s.args[0].get<LoopRef>();
  const std::optional<std::int64_t> known = loop ? extent(loop->id(), earlier) : std::nullopt;
  if (known && s.args.size() >= 3 && s.args[1].get<std::int64_t>() && s.args[2].get<std::int64_t>()) {
    OpenDecision open;
    open.extent = *known;
    open.factors = static_cast<int>(*s.args[1].get<std::int64_t>());
    open.max_innermost = *s.args[2].get<std::int64_t>();
    if (const ArgList* choices = s.args.size() > 3 ? s.args[3].get<ArgList>() : nullptr) {
      for (const Arg& a : *choices) {
        if (const std::int64_t* v = a.get<std::int64_t>()) open.choices.push_back(*v);
      }
    }
    result = list_options(open, s.op);
  } else {
    // Only a replay up to here can tell.
    Trace prefix;
    prefix.steps.assign(trace_.steps.begin(),
                        trace_.steps.begin() + static_cast<std::ptrdiff_t>(open_[k].step) + 1);
    for (std::size_t e = 0; e < k; ++e) prefix.steps[open_[e].step].decision = earlier[e];
    prefix.steps.back().decision.clear();
    Schedule asked(program_, [&](const Instruction&, const std::vector<Decided>& all) {
      result = all;
      return std::size_t{0};
    });
    try {
      asked.replay(prefix);
    } catch (const ScheduleError&) {
    }
  }
  if (result.empty()) result.push_back(open_[k].fallback);
  return result;
}

Trace ScheduleTemplate::with(const std::vector<Decided>& decisions) const {
  Trace trace = trace_;
  for (std::size_t k = 0; k < open_.size(); ++k) trace.steps[open_[k].step].decision = decisions[k];
  return trace;
}

bool ScheduleTemplate::meets_requirements(const std::vector<Decided>& decisions) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Expr& e) { return value(e, decisions).value_or(1) != 0; });
}

std::vector<std::uint32_t> ScheduleTemplate::loops_with_recipes() const {
  std::vector<std::uint32_t> loops;
  for (const auto& [handle, recipe] : recipes_) {
    if (recipe.kind != ExtentRecipe::Kind::Unknown) loops.push_back(handle);
  }
  return loops;
}

std::optional<std::int64_t> ScheduleTemplate::factor(std::uint32_t handle,
                                                     const std::vector<Decided>& decisions) const {
  auto it = factors_.find(handle);
  if (it == factors_.end() || it->second.open >= decisions.size()) return std::nullopt;
  const Decided& d = decisions[it->second.open];
  return it->second.component < d.size() ? std::optional(d[it->second.component]) : std::nullopt;
}

std::optional<std::int64_t> ScheduleTemplate::extent(std::uint32_t loop,
                                                     const std::vector<Decided>& decisions) const {
  auto it = recipes_.find(loop);
  if (it == recipes_.end()) return std::nullopt;
  const ExtentRecipe& r = it->second;
  switch (r.kind) {
    case ExtentRecipe::Kind::Unknown: return std::nullopt;
    case ExtentRecipe::Kind::Constant: return r.constant;
    case ExtentRecipe::Kind::Fused: {
      std::int64_t product = 1;
      for (std::uint32_t part : r.loops) {
        const auto e = extent(part, decisions);
        if (!e || __builtin_mul_overflow(product, *e, &product)) return std::nullopt;
      }
      return product;
    }
    case ExtentRecipe::Kind::SplitPart: {
      std::int64_t others = 1;
      for (std::size_t p = 0; p < r.factors.size(); ++p) {
        const Arg& a = r.factors[p];
        if (a.get<Inferred>()) continue;
        std::optional<std::int64_t> f;
        if (const std::int64_t* v = a.get<std::int64_t>()) f = *v;
        if (const Expr* e = a.get<Expr>()) f = value(*e, decisions);
        if (!f || *f < 1) return std::nullopt;
        if (p == r.position) return f;
        if (__builtin_mul_overflow(others, *f, &others)) return std::nullopt;
      }
      const auto whole = extent(r.loops[0], decisions);
      if (!whole) return std::nullopt;
      return (*whole + others - 1) / others;
    }
  }
  return std::nullopt;
}

// Conditions and factors over decisions: integer arithmetic and comparisons.
std::optional<std::int64_t> ScheduleTemplate::value(const Expr& e,
                                                    const std::vector<Decided>& decisions) const {
  if (auto literal = as_int(e)) return literal;
  if (const VarNode* var = e.as<VarNode>()) {
    const auto handle = factor_handle(var);
    return handle ? factor(*handle, decisions) : std::nullopt;
  }
  if (const Not* n = e.as<Not>()) {
    const auto a = value(n->a, decisions);
    return a ? std::optional<std::int64_t>(*a == 0) : std::nullopt;
  }
  const Binary* b = e.as<Binary>();
  if (!b) return std::nullopt;
  const auto x = value(b->a, decisions), y = value(b->b, decisions);
  if (!x || !y) return std::nullopt;
  std::int64_t r = 0;
  switch (b->op) {
    case BinaryOp::Add: return __builtin_add_overflow(*x, *y, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::Sub: return __builtin_sub_overflow(*x, *y, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::Mul: return __builtin_mul_overflow(*x, *y, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::FloorDiv:
      if (*y <= 0 || *x < 0) return std::nullopt;
      return *x / *y;
    case BinaryOp::FloorMod:
      if (*y <= 0 || *x < 0) return std::nullopt;
      return *x % *y;
    case BinaryOp::Min: return std::min(*x, *y);
    case BinaryOp::Max: return std::max(*x, *y);
    case BinaryOp::Eq: return *x == *y;
    case BinaryOp::Ne: return *x != *y;
    case BinaryOp::Lt: return *x < *y;
    case BinaryOp::Le: return *x <= *y;
    case BinaryOp::Gt: return *x > *y;
    case BinaryOp::Ge: return *x >= *y;
    case BinaryOp::And: return *x != 0 && *y != 0;
    case BinaryOp::Or: return *x != 0 || *y != 0;
    default: return std::nullopt;
  }
}

// ---- discovery ---------------------------------------------------------------------------------------------------

namespace {

/// One run of a rule under given answers.
struct Run {
  std::optional<Schedule> schedule;  ///< nothing when the rule threw
  std::string refusal;               ///< then: why
  std::vector<std::size_t> answers;  ///< as taken
  std::vector<std::size_t> options;  ///< how many there were to choose from
};

Run run(const Program& program, const Rule& rule, const std::vector<std::size_t>& answers) {
  Run result;
  Schedule s(program, [&](const Instruction&, const std::vector<Decided>& options) {
    const std::size_t at = result.answers.size();
    const std::size_t pick = at < answers.size() ? std::min(answers[at], options.size() - 1) : 0;
    result.answers.push_back(pick);
    result.options.push_back(options.size());
    return pick;
  });
  try {
    rule(s);
    result.schedule = std::move(s);
  } catch (const ScheduleError& error) {
    result.refusal = error.what();
  }
  return result;
}

class Discovery {
 public:
  explicit Discovery(const Program& program) : program_(program) {}

  void explore(const Rule& rule, int most_runs) {
    runs_left_ += most_runs;
    std::deque<std::vector<std::size_t>> starts{{}};
    std::set<std::size_t> varied;  // templates whose single answers were tried
    while (!starts.empty() && runs_left_ > 0) {
      const std::vector<std::size_t> start = std::move(starts.front());
      starts.pop_front();
      const Run base = try_answers(rule, start);
      if (!base.schedule) continue;
      const std::size_t home = note(*base.schedule);
      if (!varied.insert(home).second) continue;
      for (std::size_t at = 0; at < base.options.size(); ++at) {
        for (std::size_t pick : picks(base.options[at])) {
          if (pick == base.answers[at] || runs_left_ <= 0) continue;
          std::vector<std::size_t> answers = base.answers;
          answers[at] = pick;
          const Run other = try_answers(rule, answers);
          if (!other.schedule) continue;
          const std::size_t there = note(*other.schedule);
          if (there != home && varied.count(there) == 0) starts.push_back(answers);
        }
      }
    }
  }

  std::vector<ScheduleTemplate> finish() {
    if (templates_.empty()) {
      throw UserError(code::U023,
                      "no rule schedules the program \"" + program_->name + "\"" +
                          (refusal_.empty() ? "" : "; the first refusal was\n" + refusal_ + "\n"));
    }
    for (std::size_t t = 0; t < templates_.size(); ++t) {
      for (std::size_t k = 0; k < templates_[t].open().size(); ++k) set_options(t, k);
    }
    return std::move(templates_);
  }

 private:
  Run try_answers(const Rule& rule, const std::vector<std::size_t>& answers) {
    --runs_left_;
    Run result = run(program_, rule, answers);
    if (refusal_.empty()) refusal_ = result.refusal;
    return result;
  }

  static std::vector<std::size_t> picks(std::size_t options) {
    std::vector<std::size_t> result;
    if (options <= TriedOneByOne) {
      for (std::size_t i = 0; i < options; ++i) result.push_back(i);
    } else {
      for (std::size_t i = 0; i < 4; ++i) result.push_back((2 * i + 1) * options / 8);
    }
    return result;
  }

  /// The schedule's template, with the decisions seen noted.
  std::size_t note(const Schedule& s) {
    const std::string skeleton = skeleton_of(s.trace());
    std::size_t t = 0;
    while (t < templates_.size() && templates_[t].skeleton() != skeleton) ++t;
    if (t == templates_.size()) {
      templates_.emplace_back(program_, s);
      seen_.emplace_back(templates_.back().open().size());
    }
    const std::vector<OpenStep>& open = templates_[t].open();
    for (std::size_t k = 0; k < open.size(); ++k) seen_[t][k].insert(s.trace().steps[open[k].step].decision);
    return t;
  }

  // The decisions seen to lead here, where all were tried; else everything, as far as it does not depend on others.
  void set_options(std::size_t t, std::size_t k) {
    ScheduleTemplate& made = templates_[t];
    OpenStep& open = made.open()[k];
    const Instruction& step = made.trace().steps[open.step];
    const std::set<Decided>& seen = seen_[t][k];
    if (!is_tile(step.op)) {
      open.values.assign(seen.begin(), seen.end());
      return;
    }
    // Of a loop of the program itself, the options are always the same.
    std::vector<Decided> none(k);
    const LoopRef* loop = step.args[0].get<LoopRef>();
    if (!loop || !made.extent(loop->id(), none)) return;
    std::vector<Decided> all = made.options(k, none);
    if (all.size() <= TriedOneByOne) {
      std::erase_if(all, [&](const Decided& d) { return seen.count(d) == 0; });
    }
    std::sort(all.begin(), all.end());
    open.values = std::move(all);
  }

  const Program& program_;
  int runs_left_ = 0;
  std::string refusal_;  ///< the first one
  std::vector<ScheduleTemplate> templates_;
  std::vector<std::vector<std::set<Decided>>> seen_;
};

}  // namespace

std::vector<ScheduleTemplate> discover(const Program& program, const std::vector<Rule>& rules,
                                       int most_runs) {
  Discovery discovery(program);
  // A share for each, and what one leaves for the next: none is shut out by a rule with many decisions.
  const int share = std::max(1, most_runs / std::max(1, static_cast<int>(rules.size())));
  for (const Rule& rule : rules) discovery.explore(rule, share);
  return discovery.finish();
}

}  // namespace lathe::tuner
