#pragma once
// One step in the making.
//
// A primitive is a function `void run_<name>(Edit&)` in a file of its own. It reads its operands from the step, checks
// every condition, and only then hands the new program and the outputs to the Edit. Schedule::apply commits the Edit when
// the function returns; when it throws, nothing has happened. Calls from C++ and replays of a trace take the same way.
//
// Adding a primitive: write run_<name> in src/schedule/<name>.cpp, list it in primitives.def, declare the method in
// lathe/schedule.h, and let the method build its Instruction with the arguments in the order of the C++ call: printing
// a trace as C++ and as JSON then works by itself.

#include "ir/printer.h"
#include "schedule/state.h"
#include "schedule/tree.h"
#include "support/error_codes/schedule.h"

namespace lathe::schedule {

/// A place in the loop nest and what to say there: "<-- here".
struct Mark {
  const StmtNode* place;
  std::string note;
};

class Edit {
 public:
  /// Both outlive the Edit.
  Edit(const Schedule::State& before, const Instruction& step, Site site);
  Edit(const Schedule::State&, Instruction&&, Site) = delete;

  const Instruction& step() const { return step_; }
  Site site() const { return site_; }
  const Schedule::State& before() const { return before_; }
  const Program& program() const { return before_.program; }
  const Stmt& body() const { return before_.program->body; }

  // Operands, by position. Each throws a ScheduleError when the handle is stale, of another kind, or not of this schedule.
  Path loop(std::size_t arg) const;                ///< from the root to the For
  Path block(std::size_t arg) const;               ///< from the root to the Block
  std::vector<Path> loops(std::size_t arg) const;  ///< a list of loops
  std::int64_t integer(std::size_t arg) const;     ///< a literal, or an expression over factors
  std::optional<std::int64_t> integer_or_inferred(const Arg& arg) const;
  const std::string& text(std::size_t arg) const;    ///< a string
  const std::string& symbol(std::size_t arg) const;  ///< an enumerator
  const Arg& arg(std::size_t arg) const;
  std::size_t arg_count() const { return step_.args.size(); }
  Path loop_of(const Arg& arg) const;
  Path block_of(const Arg& arg) const;
  /// An expression over factors with their values put in.
  Expr decided(const Expr& e) const;

  // The result.
  void set_body(Stmt body) { body_ = std::move(body); }
  const Stmt& changed_body() const { return body_; }
  void add_temp(Buffer buffer) { temps_.push_back(std::move(buffer)); }
  void remove_temp(const Buffer& buffer);
  void replace_temp(const Buffer& old_buffer, Buffer fresh);
  /// Replaces a parameter's buffer (same role).
  void replace_param(const Buffer& old_buffer, Buffer fresh);
  const std::vector<Buffer>& temps() const { return temps_; }
  /// The outputs, in order. A loop or block that already has a handle keeps it.
  void output(const Var& loop);
  void output(const Label& block);
  void output(std::int64_t factor_value, const std::string& name);
  void output_no_loop();  ///< an undefined LoopRef
  void consume(const Var& loop) { consumed_.push_back(loop.node()); }
  void consume(const Label& block) { consumed_.push_back(block.get()); }
  void decide(std::vector<std::int64_t> decision, OpenDecision open);

  /// Throws the ScheduleError: the call, the broken condition, the caller's line, the nest with the marked places, the way out.
  [[noreturn]] void refuse(Code code, std::string condition, std::vector<Mark> marks = {},
                           std::string way_out = {}) const;

  /// Puts the result into `state` and returns the handles defined.
  std::vector<Handle> commit(Schedule::State& state, Instruction step);

 private:
  struct Output {
    HandleKind kind;
    Ref<Node> node;
    std::int64_t value = 0;
  };
  const HandleEntry& entry(std::uint32_t id, HandleKind kind) const;

  const Schedule::State& before_;
  const Instruction& step_;
  Site site_;
  Stmt body_;
  std::vector<Buffer> temps_;
  std::vector<Param> params_;
  bool params_changed_ = false;
  std::vector<std::pair<Buffer, Buffer>> replaced_;
  std::vector<Output> outputs_;
  std::vector<const Node*> consumed_;
  std::vector<std::int64_t> decision_;
  std::optional<OpenDecision> open_;
};

/// A primitive's name and function.
struct Primitive {
  const char* name;
  void (*run)(Edit&);
};
const Primitive* find_primitive(const std::string& name);
const std::vector<Primitive>& primitives();

/// Takes a step, or throws its ScheduleError and leaves the state as it was.
std::vector<Handle> apply(Schedule::State& state, Instruction step, Site site);

/// The step as the user wrote it: `split(loop "i", {_, 8})`; with the names of a printed program, if given.
std::string describe_call(const Instruction& step, const std::vector<HandleEntry>& handles,
                          Names* names = nullptr);
/// The loop nest on the way to the marked places, one line a loop or block, with the notes.
std::string outline(const Stmt& root, const std::vector<Mark>& marks);

/// Builds the arguments of a step from C++ values.
template <class... T>
Instruction make_step(std::string op, T&&... args) {
  Instruction step;
  step.op = std::move(op);
  (step.args.push_back(Arg(std::forward<T>(args))), ...);
  return step;
}
ArgList to_args(const std::vector<LoopRef>& loops);
ArgList to_args(const std::vector<std::int64_t>& values);

}  // namespace lathe::schedule
