#include "lathe/schedule.h"

#include <algorithm>
#include <charconv>

#include "ir/buffer_size.h"
#include "schedule/arguments.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/nesting.h"
#include "schedule/privacy.h"
#include "support/error_text.h"

namespace lathe {

using schedule::Edit;
using schedule::make_step;
using schedule::to_args;

namespace {

/// An error of a query, which is no step of the trace, or of a call that is none of this schedule's.
[[noreturn]] void refuse_query(Code code, std::string text, Site site) {
  throw ScheduleError(
      code, Message([=] { return text + "\n  at " + site.file_name() + ":" + std::to_string(site.line()); }));
}

/// A schedule that was moved from holds nothing.
template <class Pointer>
auto& held(const Pointer& state, Site site = Site::current()) {
  if (!state) refuse_query(code::S077, "this schedule was moved from, and holds no program any more", site);
  return *state;
}

/// An enumerator's word; a value that is none of the enumeration's is refused under this name.
template <std::size_t N, class Enum>
std::string word(const char* const (&names)[N], Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? names[at] : "?";
}

}  // namespace

Schedule::Schedule(Program program) : Schedule(std::move(program), Chooser()) {}

Schedule::Schedule(Program program, Chooser chooser) : state_(std::make_unique<State>()) {
  if (!program.defined())
    throw ScheduleError(code::S077, Message([] { return std::string("a schedule of an empty Program"); }));
  state_->original = program;
  state_->program = std::move(program);
  state_->chooser = std::move(chooser);
}

Schedule::Schedule(std::unique_ptr<State> state) : state_(std::move(state)) {}
Schedule::~Schedule() = default;
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;

Schedule Schedule::fork() const { return Schedule(std::make_unique<State>(held(state_))); }

const Program& Schedule::program() const { return held(state_).program; }
const Program& Schedule::original() const { return held(state_).original; }
const Trace& Schedule::trace() const { return *held(state_).trace; }

std::vector<Handle> Schedule::apply(Instruction step, Site site) {
  if (step.site.empty()) step.site = std::string(site.file_name()) + ":" + std::to_string(site.line());
  if (step.op.starts_with("sample_") && !next_decision_.empty())
    step.decision = std::exchange(next_decision_, {});
  return schedule::apply(held(state_, site), std::move(step), site);
}

namespace {

/// Of the buffers that the step makes or enlarges.
void need_addressable(const Edit& edit) {
  for (const Buffer& b : edit.temps()) {
    const bool is_old =
        std::ranges::any_of(edit.program()->temps, [&](const Buffer& o) { return o.same_as(b); });
    if (!is_old && !is_addressable(b->shape, b->dtype))
      edit.refuse(code::S078, "\"" + b->name + "\" would have 2^63 bytes or more", {}, "use smaller factors");
  }
}

}  // namespace

std::vector<Handle> schedule::apply(Schedule::State& state, Instruction step, Site site) {
  Edit edit(state, step, site);
  const schedule::Primitive* primitive = schedule::find_primitive(step.op);
  if (!primitive)
    edit.refuse(code::S004, "no primitive has this name", {}, "see docs/schedule.md for the list");
  if (const std::string why = schedule::unusable_argument(step); !why.empty())
    refuse_query(code::S003, why, site);
  schedule::need_outermost(edit);
  primitive->run(edit);
  need_addressable(edit);
  schedule::need_private_or_separate(edit);
  edit.set_body(schedule::with_outer_regions(edit.changed_body()));
  return edit.commit(state, std::move(step));
}

// ---- replay ------------------------------------------------------------------------------------------------------

namespace {

/// Translates the handle numbers of a trace into those of the schedule that replays it.
class Renumbering {
 public:
  explicit Renumbering(const std::vector<HandleEntry>& handles) : handles_(handles) {}

  std::vector<std::pair<std::uint32_t, std::uint32_t>> map;

  std::uint32_t at(std::uint32_t id) const {
    for (auto it = map.rbegin(); it != map.rend(); ++it) {
      if (it->first == id) return it->second;
    }
    return id == LoopRef().id() ? id : UINT32_MAX - 1;  // an unknown handle: the primitive refuses it
  }

  Arg operator()(const Arg& arg) const {
    if (const LoopRef* l = arg.get<LoopRef>()) return Arg(LoopRef(at(l->id())));
    if (const BlockRef* b = arg.get<BlockRef>()) return Arg(BlockRef(at(b->id())));
    if (const Expr* e = arg.get<Expr>()) return Arg(factors(*e, {}));
    if (const IndexMap* m = arg.get<IndexMap>()) {
      IndexMap out = *m;
      for (Expr& e : out.to) e = factors(e, m->from);
      return Arg(std::move(out));
    }
    if (const ArgList* list = arg.get<ArgList>()) {
      ArgList out;
      for (const Arg& a : *list) out.push_back((*this)(a));
      return Arg(std::move(out));
    }
    return arg;
  }

 private:
  /// Factors are variables named f<id>; `own` are not, whatever their names.
  Expr factors(const Expr& e, const std::vector<Var>& own) const {
    VarMap values;
    for (const Var& v : free_vars(e)) {
      std::uint32_t recorded = 0;
      const char *digits = v.name().data() + 1, *end = v.name().data() + v.name().size();
      if (v.name().size() < 2 || v.name()[0] != 'f' || std::from_chars(digits, end, recorded).ptr != end)
        continue;
      if (std::ranges::any_of(own, [&](const Var& o) { return o.same_as(v); })) continue;
      const std::uint32_t id = at(recorded);
      if (id < handles_.size() && handles_[id].kind == HandleKind::Factor) {
        values.emplace(v.node(), Var(static_cast<const VarNode*>(handles_[id].node.get())));
      }
    }
    return substitute(e, values);
  }

  const std::vector<HandleEntry>& handles_;
};

}  // namespace

void Schedule::replay(const Trace& trace, Site site) {
  Schedule trial = fork();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> map;
  for (std::size_t number = 0; number < trace.steps.size(); ++number) {
    const Instruction& recorded = trace.steps[number];
    auto failed = [&](Code code, Message why) {
      return ScheduleError(code, Message([number, of = trace.steps.size(), why = std::move(why)] {
                             return "step " + std::to_string(number + 1) + " of " + std::to_string(of) +
                                    " of the trace: " + why();
                           }));
    };
    Renumbering renumber(trial.state_->handles);
    renumber.map = map;
    Instruction step = recorded;
    step.outputs.clear();
    for (Arg& a : step.args) a = renumber(a);
    std::vector<Handle> outputs;
    try {
      outputs = trial.apply(std::move(step), site);
    } catch (const ScheduleError& error) {
      throw failed(error.code(), [error] { return text_without_code(error); });
    }
    if (outputs.size() != recorded.outputs.size()) {
      throw failed(code::S005, [op = recorded.op, have = outputs.size(), want = recorded.outputs.size()] {
        return op + " defines " + std::to_string(have) + " handles, the trace expects " +
               std::to_string(want) + "; the trace was made for another program or another version";
      });
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) map.emplace_back(recorded.outputs[i].id, outputs[i].id);
  }
  *this = std::move(trial);
}

// ---- queries -----------------------------------------------------------------------------------------------------

namespace {

std::vector<LoopRef> as_loops(const std::vector<Handle>& handles) {
  std::vector<LoopRef> out;
  for (const Handle& h : handles) out.push_back(LoopRef(h.id));
  return out;
}
std::vector<BlockRef> as_blocks(const std::vector<Handle>& handles) {
  std::vector<BlockRef> out;
  for (const Handle& h : handles) out.push_back(BlockRef(h.id));
  return out;
}

/// The handle that `node` already has.
std::optional<std::uint32_t> known_handle(const Schedule::State& state, const Node* node) {
  for (std::size_t id = 0; id < state.handles.size(); ++id) {
    if (state.handles[id].node.get() == node && state.handles[id].consumed_by < 0)
      return static_cast<std::uint32_t>(id);
  }
  return std::nullopt;
}

std::string block_names(const Program& program) {
  std::string names;
  schedule::for_each_block(program->body, [&](const Block& b, const Stmt&) {
    names += (names.empty() ? "" : ", ") + b.name();
    return true;
  });
  return names;
}

}  // namespace

std::vector<BlockRef> Schedule::blocks(Site site) {
  std::vector<BlockRef> out;
  std::int64_t position = 0;
  std::vector<std::pair<std::int64_t, Label>> all;
  schedule::for_each_block(held(state_, site).program->body, [&](const Block& b, const Stmt&) {
    all.emplace_back(position++, b.label);
    return true;
  });
  for (auto& [at, label] : all) {
    if (auto id = known_handle(held(state_), label.get())) {
      out.push_back(BlockRef(*id));
      continue;
    }
    Instruction step = make_step("get_block", at);
    step.comment = label->name;
    out.push_back(as_blocks(apply(std::move(step), site))[0]);
  }
  return out;
}

BlockRef Schedule::block(const std::string& name, Site site) {
  std::int64_t position = -1, found = -1;
  const LabelNode* label = nullptr;
  schedule::for_each_block(held(state_, site).program->body, [&](const Block& b, const Stmt&) {
    ++position;
    if (b.name() == name && !label) {
      found = position;
      label = b.label.get();
    }
    return true;
  });
  if (!label) {
    refuse_query(
        code::S006,
        "block(\"" + name + "\"): the program has no block of this name\n  blocks: " + block_names(program()),
        site);
  }
  if (auto id = known_handle(held(state_), label)) return BlockRef(*id);
  Instruction step = make_step("get_block", found);
  step.comment = name;
  return as_blocks(apply(std::move(step), site))[0];
}

namespace {

/// The buffer that holds the tensor now: another than the tensor's own when it had to be renamed, and after primitives that
/// store it differently.
Buffer buffer_for(const Schedule::State& state, const Tensor& tensor, const char* primitive, Site site) {
  if (!tensor.defined()) refuse_query(code::S006, std::string(primitive) + ": the Tensor is empty", site);
  const Buffer renamed = buffer_of(state.original, tensor);
  Buffer buffer = renamed.defined() ? renamed : tensor.buffer();
  for (const auto& [before, after] : state.replaced) {
    if (before.same_as(buffer)) buffer = after;
  }
  return buffer;
}

}  // namespace

BlockRef Schedule::block(const Tensor& tensor, Site site) {
  const Buffer buffer = buffer_for(held(state_), tensor, "block", site);
  // The last writer: of a decomposed reduction the update, of a cached write the store.
  std::string name;
  schedule::for_each_block(held(state_, site).program->body, [&](const Block& b, const Stmt&) {
    for (const BufferRegion& w : b.writes) {
      if (w.buffer.same_as(buffer)) name = b.name();
    }
    return true;
  });
  if (name.empty()) {
    refuse_query(code::S006,
                 "block(tensor \"" + tensor.buffer()->name +
                     "\"): no block of the program writes it\n  blocks: " + block_names(program()),
                 site);
  }
  return block(name, site);
}

std::vector<LoopRef> Schedule::loops(BlockRef block, Site site) {
  const Instruction step = make_step("get_loops", block);
  Edit edit(held(state_, site), step, site);
  std::vector<LoopRef> out;
  for (const Stmt& s : schedule::loops_on(edit.block(0))) {
    if (auto id = known_handle(held(state_), s.as<For>()->var.node()))
      out.push_back(LoopRef(*id));
    else
      return as_loops(apply(make_step("get_loops", block), site));
  }
  return out;
}

void Schedule::check_count(std::size_t have, std::size_t want, BlockRef block, Site site) const {
  if (have == want) return;
  refuse_query(code::S007,
               "loops<" + std::to_string(want) + ">(block \"" + name(block) + "\"): the block lies in " +
                   std::to_string(have) + " loops",
               site);
}

std::vector<BlockRef> Schedule::producers(BlockRef block, Site site) {
  const Label label = get(block, site).label;
  std::vector<BlockRef> out;
  for (BlockRef other : blocks(site)) {
    if (schedule::feeds(get(other), get(block))) out.push_back(other);
  }
  return out;
}

std::vector<BlockRef> Schedule::consumers(BlockRef block, Site site) {
  std::vector<BlockRef> out;
  for (BlockRef other : blocks(site)) {
    if (schedule::feeds(get(block, site), get(other))) out.push_back(other);
  }
  return out;
}

std::vector<LoopRef> Schedule::legal_compute_at(BlockRef block, Site site) {
  std::vector<LoopRef> out;
  std::vector<LoopRef> candidates;
  for (BlockRef consumer : consumers(block, site)) {
    if (consumer == block) continue;
    for (LoopRef loop : loops(consumer, site)) {
      if (std::find(candidates.begin(), candidates.end(), loop) == candidates.end())
        candidates.push_back(loop);
    }
  }
  for (LoopRef loop : candidates) {
    if (can([&](Schedule& s) { s.compute_at(block, loop, site); })) out.push_back(loop);
  }
  return out;
}

std::string Schedule::name(LoopRef loop, Site site) const { return get(loop, site).var.name(); }
std::string Schedule::name(BlockRef block, Site site) const { return get(block, site).name(); }

const For& Schedule::get(LoopRef loop, Site site) const {
  const Instruction step = make_step("get", loop);
  return *Edit(held(state_, site), step, site).loop(0).back().as<For>();
}

const Block& Schedule::get(BlockRef block, Site site) const {
  const Instruction step = make_step("get", block);
  return *Edit(held(state_, site), step, site).block(0).back().as<Block>();
}

std::int64_t Schedule::value(const Factor& factor, Site site) const {
  const std::vector<HandleEntry>& handles = held(state_).handles;
  if (factor.id() >= handles.size() || handles[factor.id()].node.get() != factor.get()) {
    refuse_query(code::S001, "value: the factor is empty or belongs to another schedule", site);
  }
  return handles[factor.id()].value;
}

std::optional<std::int64_t> Schedule::extent(LoopRef loop, Site site) const {
  return as_int(get(loop, site).extent);
}

// ---- the primitives' C++ spelling -----------------------------------------------------------------------------------
// Each makes the Instruction with the arguments in the order of the call.

std::vector<LoopRef> Schedule::split_list(LoopRef loop, const std::vector<SplitFactor>& factors, Tail tail,
                                          Site site) {
  ArgList list;
  for (const SplitFactor& f : factors) {
    if (!f.value.defined())
      list.push_back(Arg(Inferred{}));
    else if (auto v = as_int(f.value))
      list.push_back(Arg(*v));
    else
      list.push_back(Arg(f.value));
  }
  static const char* const tails[] = {"Tail::Guard", "Tail::Peel", "Tail::Pad"};
  return as_loops(apply(make_step("split", loop, std::move(list), Symbol{word(tails, tail)}), site));
}

LoopRef Schedule::fuse(const std::vector<LoopRef>& loops, Site site) {
  return as_loops(apply(make_step("fuse", to_args(loops)), site))[0];
}
void Schedule::reorder(const std::vector<LoopRef>& order, Site site) {
  apply(make_step("reorder", to_args(order)), site);
}
void Schedule::parallel(LoopRef loop, Site site) { apply(make_step("parallel", loop), site); }
void Schedule::vectorize(LoopRef loop, Site site) { apply(make_step("vectorize", loop), site); }
void Schedule::unroll(LoopRef loop, Site site) { apply(make_step("unroll", loop), site); }
void Schedule::bind(LoopRef loop, ThreadAxis axis, Site site) {
  static const char* const axes[] = {"None",    "BlockX",  "BlockY",  "BlockZ",
                                     "ThreadX", "ThreadY", "ThreadZ", "VThread"};
  apply(make_step("bind", loop, Symbol{"ThreadAxis::" + word(axes, axis)}), site);
}
void Schedule::annotate(LoopRef loop, const std::string& key, std::int64_t value, Site site) {
  apply(make_step("annotate", loop, key, value), site);
}
void Schedule::annotate(BlockRef block, const std::string& key, std::int64_t value, Site site) {
  apply(make_step("annotate", block, key, value), site);
}
void Schedule::partition(LoopRef loop, Site site) { apply(make_step("partition", loop), site); }

namespace {
Symbol scope_symbol(Scope scope) {
  static const char* const names[] = {"Global", "Shared", "Local", "Fragment"};
  return Symbol{"Scope::" + word(names, scope)};
}
}  // namespace

void Schedule::compute_at(BlockRef block, LoopRef loop, Site site) {
  apply(make_step("compute_at", block, loop), site);
}
void Schedule::reverse_compute_at(BlockRef block, LoopRef loop, Site site) {
  apply(make_step("reverse_compute_at", block, loop), site);
}
void Schedule::compute_inline(BlockRef block, Site site) { apply(make_step("compute_inline", block), site); }
void Schedule::reverse_compute_inline(BlockRef block, Site site) {
  apply(make_step("reverse_compute_inline", block), site);
}

BlockRef Schedule::cache_read(BlockRef block, int buffer, Scope scope, Site site) {
  return as_blocks(apply(make_step("cache_read", block, std::int64_t{buffer}, scope_symbol(scope)), site))[0];
}
BlockRef Schedule::cache_read(BlockRef block, const Tensor& tensor, Scope scope, Site site) {
  return cache_read(
      block,
      schedule::read_position(get(block, site), buffer_for(held(state_), tensor, "cache_read", site),
                              "cache_read", site),
      scope, site);
}
BlockRef Schedule::cache_read(BlockRef block, int buffer, Scope scope, int access, Site site) {
  return as_blocks(
      apply(make_step("cache_read", block, std::int64_t{buffer}, scope_symbol(scope), std::int64_t{access}),
            site))[0];
}
BlockRef Schedule::cache_read(BlockRef block, const Tensor& tensor, Scope scope, int access, Site site) {
  return cache_read(
      block,
      schedule::read_position(get(block, site), buffer_for(held(state_), tensor, "cache_read", site),
                              "cache_read", site),
      scope, access, site);
}
BlockRef Schedule::cache_write(BlockRef block, Scope scope, Site site) {
  return as_blocks(apply(make_step("cache_write", block, scope_symbol(scope)), site))[0];
}
BlockRef Schedule::cache_write(BlockRef block, Scope scope, LoopRef at, Site site) {
  return as_blocks(apply(make_step("cache_write", block, scope_symbol(scope), at), site))[0];
}
void Schedule::set_scope(BlockRef block, Scope scope, Site site) {
  apply(make_step("set_scope", block, scope_symbol(scope)), site);
}

BlockRef Schedule::rfactor(BlockRef block, LoopRef loop, int axis, Site site) {
  return as_blocks(apply(make_step("rfactor", block, loop, std::int64_t{axis}), site))[0];
}
BlockRef Schedule::decompose_reduction(BlockRef block, LoopRef loop, Site site) {
  return as_blocks(apply(make_step("decompose_reduction", block, loop), site))[0];
}

std::vector<BlockRef> Schedule::pad_einsum(BlockRef block, const std::vector<Expr>& multiples, Site site) {
  ArgList list;
  for (const Expr& m : multiples) {
    const std::optional<std::int64_t> value = as_int(m);
    list.push_back(value ? Arg(*value) : Arg(m));
  }
  return as_blocks(apply(make_step("pad_einsum", block, list), site));
}

BlockRef Schedule::transform_layout(BlockRef block, int buffer, const IndexMap& map, Site site) {
  const std::vector<BlockRef> copy =
      as_blocks(apply(make_step("transform_layout", block, std::int64_t{buffer}, map), site));
  return copy.empty() ? BlockRef() : copy[0];
}
BlockRef Schedule::transform_layout(BlockRef block, const Tensor& tensor,
                                    const std::function<std::vector<Expr>(const std::vector<Var>&)>& map,
                                    Site site) {
  const Buffer buffer = buffer_for(held(state_), tensor, "transform_layout", site);
  IndexMap index_map;
  for (int i = 0; i < buffer->rank(); ++i) index_map.from.push_back(Var("i" + std::to_string(i)));
  index_map.to = map(index_map.from);
  const Block& b = get(block, site);
  const bool written = std::any_of(b.writes.begin(), b.writes.end(),
                                   [&](const BufferRegion& w) { return w.buffer.same_as(buffer); });
  return transform_layout(block, written ? -1 : schedule::read_position(b, buffer, "transform_layout", site),
                          index_map, site);
}
void Schedule::prepare(BlockRef block, Site site) { apply(make_step("prepare", block), site); }
void Schedule::store_hint(BlockRef block, bool non_temporal, Site site) {
  apply(make_step("store_hint", block, std::int64_t{non_temporal}), site);
}
void Schedule::assume_aligned(const std::string& parameter, std::int64_t bytes, Site site) {
  apply(make_step("assume_aligned", parameter, bytes), site);
}
void Schedule::math(BlockRef block, MathMode mode, Site site) {
  static const char* const modes[] = {"MathMode::Exact", "MathMode::Contract", "MathMode::Fast"};
  apply(make_step("math", block, Symbol{word(modes, mode)}), site);
}
void Schedule::prefetch(BlockRef block, int buffer, LoopRef loop, int distance, Site site) {
  apply(make_step("prefetch", block, std::int64_t{buffer}, loop, std::int64_t{distance}), site);
}
void Schedule::prefetch(BlockRef block, const Tensor& tensor, LoopRef loop, int distance, Site site) {
  prefetch(block,
           schedule::read_position(get(block, site), buffer_for(held(state_), tensor, "prefetch", site),
                                   "prefetch", site),
           loop, distance, site);
}
BlockRef Schedule::blockize(LoopRef loop, Site site) {
  return as_blocks(apply(make_step("blockize", loop), site))[0];
}
void Schedule::tensorize(LoopRef loop, const std::string& intrinsic, Site site) {
  apply(make_step("tensorize", loop, intrinsic), site);
}

namespace {
Factor as_factor(const Schedule::State& state, const Handle& h) {
  return Factor(h.id, Var(static_cast<const VarNode*>(state.handles[h.id].node.get())));
}
}  // namespace

std::vector<Factor> Schedule::sample_perfect_tile(LoopRef loop, int n, std::int64_t max_innermost,
                                                  Site site) {
  std::vector<Factor> out;
  for (const Handle& h :
       apply(make_step("sample_perfect_tile", loop, std::int64_t{n}, max_innermost), site)) {
    out.push_back(as_factor(held(state_), h));
  }
  return out;
}
std::vector<Factor> Schedule::sample_tile(LoopRef loop, int n, std::int64_t max_innermost,
                                          const std::vector<std::int64_t>& choices, Site site) {
  std::vector<Factor> out;
  for (const Handle& h :
       apply(make_step("sample_tile", loop, std::int64_t{n}, max_innermost, to_args(choices)), site)) {
    out.push_back(as_factor(held(state_), h));
  }
  return out;
}
Factor Schedule::sample_choice(const std::vector<std::int64_t>& choices, const std::string& name, Site site) {
  Instruction step = make_step("sample_choice", to_args(choices));
  if (!name.empty()) step.args.emplace_back(name);
  return as_factor(held(state_), apply(std::move(step), site)[0]);
}
LoopRef Schedule::sample_compute_location(BlockRef block, Site site) {
  return as_loops(apply(make_step("sample_compute_location", block), site))[0];
}
void Schedule::require(const Expr& condition, Site site) { apply(make_step("require", condition), site); }

std::array<LoopRef, 4> Schedule::tile(LoopRef x, LoopRef y, std::int64_t x_factor, std::int64_t y_factor,
                                      Site site) {
  auto [xo, xi] = split(x, {_, x_factor}, Tail::Guard, site);
  auto [yo, yi] = split(y, {_, y_factor}, Tail::Guard, site);
  reorder({xo, yo, xi, yi}, site);
  return {xo, yo, xi, yi};
}

std::vector<std::vector<std::int64_t>> decision_options(const Schedule& schedule, std::size_t index) {
  for (const OpenDecision& open : schedule.state().open) {
    if (open.step == index) return list_options(open, schedule.trace().steps[index].op);
  }
  return {};
}

}  // namespace lathe
