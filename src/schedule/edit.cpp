#include "schedule/edit.h"

#include <algorithm>

namespace lathe::schedule {

Edit::Edit(const Schedule::State& before, const Instruction& step, Site site)
    : before_(before),
      step_(step),
      site_(site),
      body_(before.program->body),
      temps_(before.program->temps),
      params_(before.program->params) {}

// ---- operands ----------------------------------------------------------------------------------------------------

namespace {

const char* kind_name(HandleKind kind) {
  static const char* const names[] = {"loop", "block", "factor"};
  return names[static_cast<int>(kind)];
}

std::string name_of(const HandleEntry& e) {
  return e.kind == HandleKind::Block ? static_cast<const LabelNode*>(e.node.get())->name
                                     : static_cast<const VarNode*>(e.node.get())->name;
}

}  // namespace

const HandleEntry& Edit::entry(std::uint32_t id, HandleKind kind) const {
  const auto& handles = before_.handles;
  if (id >= handles.size()) {
    refuse(code::S001,
           std::string("the ") + kind_name(kind) + " handle is empty or belongs to another schedule", {},
           "take handles from this schedule's block(), loops() and primitives");
  }
  const HandleEntry& e = handles[id];
  if (e.kind != kind) {
    refuse(code::S001, std::string("the handle is a ") + kind_name(e.kind) + ", not a " + kind_name(kind));
  }
  if (e.consumed_by >= 0) {
    const Instruction& by = before_.trace->steps[e.consumed_by];
    refuse(code::S002,
           std::string(kind_name(kind)) + " \"" + name_of(e) + "\" was consumed by " +
               describe_call(by, handles) + (by.site.empty() ? "" : " at " + by.site),
           {}, "use what that call returned");
  }
  return e;
}

const Arg& Edit::arg(std::size_t i) const {
  if (i >= step_.args.size()) {
    refuse(code::S003, "argument " + std::to_string(i + 1) + " is missing", {},
           "a trace must give every argument of the primitive");
  }
  return step_.args[i];
}

Path Edit::loop_of(const Arg& a) const {
  const LoopRef* ref = a.get<LoopRef>();
  if (!ref) refuse(code::S003, "an argument is not a loop");
  const HandleEntry& e = entry(ref->id(), HandleKind::Loop);
  Path path = path_to_loop(body(), static_cast<const VarNode*>(e.node.get()));
  if (path.empty()) refuse(code::S002, "loop \"" + name_of(e) + "\" is no longer in the program");
  return path;
}

Path Edit::block_of(const Arg& a) const {
  const BlockRef* ref = a.get<BlockRef>();
  if (!ref) refuse(code::S003, "an argument is not a block");
  const HandleEntry& e = entry(ref->id(), HandleKind::Block);
  Path path = path_to_block(body(), static_cast<const LabelNode*>(e.node.get()));
  if (path.empty()) refuse(code::S002, "block \"" + name_of(e) + "\" is no longer in the program");
  return path;
}

Path Edit::loop(std::size_t i) const { return loop_of(arg(i)); }
Path Edit::block(std::size_t i) const { return block_of(arg(i)); }

std::vector<Path> Edit::loops(std::size_t i) const {
  const ArgList* list = arg(i).get<ArgList>();
  if (!list) refuse(code::S003, "argument " + std::to_string(i + 1) + " is not a list of loops");
  std::vector<Path> out;
  for (const Arg& a : *list) out.push_back(loop_of(a));
  return out;
}

Expr Edit::decided(const Expr& e) const {
  VarMap values;
  for (const HandleEntry& h : before_.handles) {
    if (h.kind == HandleKind::Factor)
      values.emplace(static_cast<const VarNode*>(h.node.get()), make_index(h.value));
  }
  return arith::simplify(substitute(e, values));
}

std::optional<std::int64_t> Edit::integer_or_inferred(const Arg& a) const {
  if (a.get<Inferred>()) return std::nullopt;
  if (const std::int64_t* v = a.get<std::int64_t>()) return *v;
  if (const Expr* e = a.get<Expr>()) {
    if (std::optional<std::int64_t> v = as_int(decided(*e))) return v;
    refuse(code::S003, "the value " + to_string(*e) + " is not a constant", {},
           "use literals and sampled factors");
  }
  refuse(code::S003, "an argument is not an integer");
}

std::int64_t Edit::integer(std::size_t i) const {
  std::optional<std::int64_t> v = integer_or_inferred(arg(i));
  if (!v) refuse(code::S003, "argument " + std::to_string(i + 1) + " cannot be inferred");
  return *v;
}

const std::string& Edit::text(std::size_t i) const {
  const std::string* s = arg(i).get<std::string>();
  if (!s) refuse(code::S003, "argument " + std::to_string(i + 1) + " is not a string");
  return *s;
}

const std::string& Edit::symbol(std::size_t i) const {
  const Symbol* s = arg(i).get<Symbol>();
  if (!s) refuse(code::S003, "argument " + std::to_string(i + 1) + " is not an enumerator");
  return s->text;
}

// ---- result ------------------------------------------------------------------------------------------------------

void Edit::remove_temp(const Buffer& buffer) {
  std::erase_if(temps_, [&](const Buffer& b) { return b.same_as(buffer); });
}

void Edit::replace_temp(const Buffer& old_buffer, Buffer fresh) {
  for (Buffer& b : temps_) {
    if (b.same_as(old_buffer)) b = fresh;
  }
  replaced_.emplace_back(old_buffer, std::move(fresh));
}

void Edit::replace_param(const Buffer& old_buffer, Buffer fresh) {
  for (Param& p : params_) {
    if (p.buffer.same_as(old_buffer)) {
      p.buffer = fresh;
      params_changed_ = true;
    }
  }
  replaced_.emplace_back(old_buffer, std::move(fresh));
}

void Edit::output(const Var& loop) { outputs_.push_back({HandleKind::Loop, Ref<Node>(loop.node())}); }
void Edit::output(const Label& block) { outputs_.push_back({HandleKind::Block, Ref<Node>(block.get())}); }
void Edit::output_no_loop() { outputs_.push_back({HandleKind::Loop, {}}); }
void Edit::output(std::int64_t value, const std::string& name) {
  outputs_.push_back({HandleKind::Factor, Ref<Node>(Var(name).node()), value});
}

void Edit::decide(std::vector<std::int64_t> decision, OpenDecision open) {
  decision_ = std::move(decision);
  open_ = std::move(open);
}

std::vector<Handle> Edit::commit(Schedule::State& state, Instruction step) {
  const int number = static_cast<int>(state.trace->steps.size());
  for (const Node* node : consumed_) {
    for (HandleEntry& e : state.handles) {
      if (e.node.get() == node && e.consumed_by < 0) e.consumed_by = number;
    }
  }
  std::vector<Handle> defined;
  for (const Output& o : outputs_) {
    if (!o.node) {
      defined.push_back({o.kind, LoopRef().id()});
      continue;
    }
    std::size_t id = 0;
    while (id < state.handles.size() && state.handles[id].node.get() != o.node.get()) ++id;
    if (id == state.handles.size()) state.handles.push_back({o.kind, o.node, o.value, -1});
    defined.push_back({o.kind, static_cast<std::uint32_t>(id)});
  }
  if (!body_.same_as(state.program->body) || params_changed_ ||
      temps_.size() != state.program->temps.size() ||
      !std::equal(temps_.begin(), temps_.end(), state.program->temps.begin(),
                  [](const Buffer& a, const Buffer& b) { return a.same_as(b); })) {
    state.program = Program(state.program->name, params_, temps_, body_);
  }
  state.replaced.insert(state.replaced.end(), replaced_.begin(), replaced_.end());
  if (open_) {
    open_->step = state.trace->steps.size();
    state.open.push_back(std::move(*open_));
    step.decision = decision_;
  }
  step.outputs = defined;
  state.trace.write().steps.push_back(std::move(step));
  return defined;
}

// ---- errors ------------------------------------------------------------------------------------------------------

void Edit::refuse(Code code, std::string condition, std::vector<Mark> marks, std::string way_out) const {
  // Everything that the text needs is kept alive by references; nothing is rendered here.
  throw ScheduleError(code, Message([step = step_, handles = before_.handles, root = body(), site = site_,
                                     condition = std::move(condition), marks = std::move(marks),
                                     way_out = std::move(way_out)] {
                        std::string text = describe_call(step, handles) + ": " + condition + "\n  at " +
                                           (step.site.empty() ? std::string(site.file_name()) + ":" +
                                                                    std::to_string(site.line())
                                                              : step.site);
                        if (!marks.empty()) text += "\n" + outline(root, marks);
                        if (!way_out.empty()) text += "\n  " + way_out;
                        return text;
                      }));
}

ArgList to_args(const std::vector<LoopRef>& loops) {
  ArgList list;
  for (LoopRef l : loops) list.push_back(Arg(l));
  return list;
}

ArgList to_args(const std::vector<std::int64_t>& values) {
  ArgList list;
  for (std::int64_t v : values) list.push_back(Arg(v));
  return list;
}

}  // namespace lathe::schedule
