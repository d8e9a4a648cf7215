// Well-formedness: what every program satisfies, in block form and lowered,
// scheduled or not. Whether a program computes anything sensible is not asked
// here.

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/buffer_size.h"
#include "ir/printer.h"
#include "ir/type_rules.h"
#include "ir/visitor.h"

namespace lathe {
namespace {

/// Is every part that must be there there? Asked first, so that the rest may
/// look at all of them.
class Completeness {
 public:
  bool of(const Program& p) const {
    auto complete = [this](const Buffer& b) { return of(b); };
    for (const Param& x : p->params) {
      if (x.buffer.defined() ? !of(x.buffer) : !x.size.defined()) return false;
    }
    return std::all_of(p->temps.begin(), p->temps.end(), complete) && of(p->body);
  }

 private:
  template <class T>
  bool all(const std::vector<T>& parts) const {
    return std::all_of(parts.begin(), parts.end(), [this](const T& x) { return of(x); });
  }
  bool optional(const Expr& e) const { return !e.defined() || of(e); }
  bool optional(const Stmt& s) const { return !s.defined() || of(s); }
  bool of(const Buffer& b) const { return b.defined() && all(b->shape) && all(b->strides); }
  bool of(const Var& v) const { return v.defined(); }
  bool of(const Range& r) const { return of(r.min) && of(r.extent); }
  bool of(const BufferRegion& r) const { return r.buffer.defined() && all(r.ranges); }
  bool of(const IterVar& i) const { return i.var.defined() && of(i.extent); }
  bool of(const Reducer& r) const { return all(r->a) && all(r->b) && all(r->result) && all(r->identity); }

  bool of(const Expr& e) const {
    if (!e.defined()) return false;
    if (const Binary* n = e.as<Binary>()) return of(n->a) && of(n->b);
    if (const Not* n = e.as<Not>()) return of(n->a);
    if (const Cast* n = e.as<Cast>()) return of(n->a);
    if (const Select* n = e.as<Select>()) return of(n->condition) && of(n->if_true) && of(n->if_false);
    if (const Load* n = e.as<Load>()) return n->buffer.defined() && all(n->indices) && optional(n->mask);
    if (const Call* n = e.as<Call>()) return all(n->args);
    if (const Ramp* n = e.as<Ramp>()) return of(n->base) && of(n->stride);
    if (const Broadcast* n = e.as<Broadcast>()) return of(n->value);
    return true;
  }
  bool of(const Stmt& s) const {
    if (!s.defined()) return false;
    switch (s.kind()) {
#define X(name) \
  case StmtKind::name: return of(*s.as<name>());
      LATHE_STMT_KINDS(X)
#undef X
    }
    return false;
  }
  bool of(const For& n) const { return n.var.defined() && of(n.extent) && of(n.body); }
  bool of(const Block& n) const {
    return n.label.defined() && all(n.iters) && all(n.bindings) && of(n.predicate) && all(n.reads) &&
           all(n.writes) && optional(n.init) && of(n.body) && (!n.reducer.defined() || of(n.reducer));
  }
  bool of(const Store& n) const {
    return n.buffer.defined() && all(n.indices) && of(n.value) && optional(n.mask);
  }
  bool of(const Seq& n) const { return all(n.stmts); }
  bool of(const If& n) const { return of(n.condition) && of(n.then_case) && optional(n.else_case); }
  bool of(const Let& n) const { return n.var.defined() && of(n.value) && of(n.body); }
  bool of(const Allocate& n) const { return of(n.buffer) && of(n.body); }
  bool of(const Evaluate& n) const { return of(n.value); }
};

class Checker {
 public:
  explicit Checker(const Program& program) : program_(program), names_(program) {}

  std::vector<std::string> run() {
    parameters();
    stmt(program_->body);
    for (const Label& l : partners_) {
      if (!blocks_.count(l.get()))
        report("the partner " + l->name + " of a block is no block of the program");
    }
    return std::move(problems_);
  }

 private:
  static constexpr std::size_t kMaxProblems = 20;
  void report(std::string problem) {
    if (problems_.size() < kMaxProblems) problems_.push_back(where_ + std::move(problem));
  }
  void report_if(const std::optional<std::string>& problem) {
    if (problem) report(*problem);
  }
  std::string quoted(const std::string& name) { return "\"" + name + "\""; }

  // ---- definitions

  /// Makes the variable visible. Its node may be defined once in a program, for
  /// it is an identity.
  void define(const Var& v, const char* what) {
    if (!is_valid_type(v.dtype())) report("variable " + quoted(v.name()) + " has no valid type");
    if (!defined_.insert(v.get()).second) {
      report("variable " + quoted(names_.of(v)) + " of " + what + " is defined twice");
    }
    visible_.insert(v.node());
  }
  void hide(const Var& v) { visible_.erase(v.node()); }

  void declare(const Buffer& b) {
    if (!declared_.insert(b.get()).second) report("buffer " + quoted(names_.of(b)) + " is declared twice");
    buffers_.insert(b.get());
  }
  void declaration(const Buffer& b) {
    if (!b.defined()) return;
    report_if(type_problem(b));
    for (const Expr& e : b->shape) expr(e, "an extent of a buffer");
    if (!is_addressable(b->shape, b->dtype))
      report("buffer " + quoted(names_.of(b)) + " has 2^63 bytes or more");
    for (const Expr& e : b->strides) expr(e, "a stride of a buffer");
  }

  void parameters() {
    std::unordered_set<std::string> taken;
    for (const Param& p : program_->params) {
      const bool is_size = p.role == ParamRole::Size;
      if (p.size.defined() != is_size || p.buffer.defined() == is_size) {
        report(std::string("a parameter of role ") + spelling(p.role) + " has a " +
               (is_size ? "buffer" : "size") + ", or lacks its own part");
        continue;
      }
      if (!taken.insert(p.name()).second) report("two parameters are called " + quoted(p.name()));
      if (!is_size) {
        declare(p.buffer);
        if (p.role == ParamRole::Input || p.role == ParamRole::Constant) read_only_.insert(p.buffer.get());
        continue;
      }
      define(p.size, "a size");
      sizes_.insert(p.size.node());
      if (p.size.dtype() != index_type) report("the size " + quoted(p.name()) + " is not of index_type");
    }
    for (const Buffer& b : program_->temps) declare(b);
    for (const Param& p : program_->params) declaration(p.buffer);
    for (const Buffer& b : program_->temps) declaration(b);
  }

  // ---- uses

  /// Checks every node of `e`: types, variables, buffers. `what` says what the
  /// expression is.
  void expr(const Expr& e, const std::string& what) {
    const std::size_t before = problems_.size();
    walk(e, [&](const Expr& x) {
      if (problems_.size() != before) return false;
      if (const auto problem = type_problem(x)) report(what + ": " + *problem);
      if (const VarNode* v = x.as<VarNode>(); v && !visible_.count(v)) {
        report(what + " uses variable " + quoted(names_.of(v)) + " where it is not defined");
      }
      if (const Load* l = x.as<Load>()) use(l->buffer, what);
      return true;
    });
  }
  void use(const Buffer& b, const std::string& what) {
    if (!buffers_.count(b.get()))
      report(what + " uses buffer " + quoted(names_.of(b)) + ", which is not declared there");
  }
  void index(const Expr& e, const std::string& what) {
    expr(e, what);
    if (e.dtype() != index_type) report(what + " has type " + e.dtype().str() + ", not index");
  }
  void condition(const Expr& e, const std::string& what) {
    expr(e, what);
    if (e.dtype() != boolean) report(what + " has type " + e.dtype().str() + ", not bool");
  }

  // ---- statements

  void stmt(const Stmt& s) {
    switch (s.kind()) {
#define X(name) \
  case StmtKind::name: return node(*s.as<name>());
      LATHE_STMT_KINDS(X)
#undef X
    }
  }

  void node(const For& n) {
    const std::string what = "loop " + quoted(names_.of(n.var));
    expr(n.extent, "the extent of " + what);
    // Lowering narrows loops to 32 bits, so the two need only agree.
    if (!n.var.dtype().is_integral() || n.var.dtype().is_vector() || n.extent.dtype() != n.var.dtype()) {
      report(what + " has type " + n.var.dtype().str() + " and an extent of type " + n.extent.dtype().str());
    }
    if (const auto extent = as_int(n.extent); extent && *extent < 0) {
      report(what + " has the negative extent " + std::to_string(*extent));
    }
    if ((n.for_kind == ForKind::ThreadBound) != (n.axis != ThreadAxis::None)) {
      report(what + " is bound to a thread axis in kind or in axis alone");
    }
    define(n.var, "a loop");
    stmt(n.body);
    hide(n.var);
  }

  void node(const Block& n) {
    const std::string outer = where_;
    const std::string what = "block " + quoted(names_.of(n.label));
    where_ += what + ": ";
    block_header(n);
    // The body sees the block's own variables and the sizes, nothing of the
    // loops around.
    const std::unordered_set<const VarNode*> around = std::exchange(visible_, sizes_);
    for (const IterVar& i : n.iters) define(i.var, "the block");
    regions(n.reads, "the read region");
    regions(n.writes, "the write region");
    if (n.init.defined()) init(n);
    stmt(n.body);
    visible_ = around;
    where_ = outer;
  }

  void block_header(const Block& n) {
    if (!blocks_.insert(n.label.get()).second) report("the label stands at two blocks");
    if (!block_names_.insert(n.label->name).second)
      report("another block is called " + quoted(n.label->name) + ", too");
    if (n.partner.defined()) partners_.push_back(n.partner);
    if (n.bindings.size() != n.iters.size()) {
      report("there are " + std::to_string(n.iters.size()) + " iteration variables, but " +
             std::to_string(n.bindings.size()) + " bindings");
    }
    for (const Expr& b : n.bindings) index(b, "a binding");
    for (const IterVar& i : n.iters) {
      index(i.extent, "the extent of an iteration variable");
      if (i.var.dtype() != index_type) {
        report("iteration variable " + quoted(names_.of(i.var)) + " is not of index_type");
      }
      const auto extent = as_int(i.extent);
      if (extent && *extent < 0)
        report("an iteration variable has the negative extent " + std::to_string(*extent));
    }
    condition(n.predicate, "the predicate");
    if (n.init.defined() && !n.reducer.defined()) report("it has an init, but no reducer");
    if (n.reducer.defined()) reducer(n.reducer);
  }

  void reducer(const Reducer& r) {
    report_if(type_problem(r));
    const std::unordered_set<const VarNode*> around = visible_;
    for (const std::vector<Var>* all : {&r->a, &r->b}) {
      for (const Var& v : *all) visible_.insert(v.node());
    }
    for (const Expr& e : r->result) expr(e, "the reducer's result");
    for (const Expr& e : r->identity) expr(e, "the reducer's identity");
    visible_ = around;
  }

  void regions(const std::vector<BufferRegion>& all, const std::string& what) {
    for (const BufferRegion& r : all) {
      use(r.buffer, what);
      if (static_cast<int>(r.ranges.size()) != r.buffer->rank()) {
        report(what + " of " + quoted(names_.of(r.buffer)) + " has " + std::to_string(r.ranges.size()) +
               " ranges for " + std::to_string(r.buffer->rank()) + " dimensions");
      }
      for (const Range& range : r.ranges) {
        index(range.min, what + "'s minimum");
        index(range.extent, what + "'s extent");
      }
    }
  }

  /// Runs once for all values of the reduce variables, so it cannot mention
  /// them.
  void init(const Block& n) {
    for (const IterVar& i : n.iters) {
      if (i.kind == IterKind::Reduce) hide(i.var);
    }
    const std::string outer = where_;
    where_ += "init: ";
    stmt(n.init);
    where_ = outer;
    for (const IterVar& i : n.iters) {
      visible_.insert(i.var.node());
    }
  }

  void node(const Store& n) {
    const std::string what = "a store to " + quoted(names_.of(n.buffer));
    use(n.buffer, what);
    if (read_only_.count(n.buffer.get())) report(what + ", which is an input");
    const std::size_t before = problems_.size();
    for (const Expr& i : n.indices) expr(i, what);
    expr(n.value, what);
    if (n.mask.defined()) expr(n.mask, what);
    if (problems_.size() == before) report_if(type_problem(n));
  }
  void node(const Seq& n) {
    for (const Stmt& s : n.stmts) stmt(s);
  }
  void node(const If& n) {
    condition(n.condition, "the condition of an if");
    stmt(n.then_case);
    if (n.else_case.defined()) stmt(n.else_case);
  }
  void node(const Let& n) {
    expr(n.value, "the value of a let");
    if (n.var.dtype() != n.value.dtype()) {
      report("let " + quoted(names_.of(n.var)) + " has type " + n.var.dtype().str() +
             " and a value of type " + n.value.dtype().str());
    }
    define(n.var, "a let");
    stmt(n.body);
    hide(n.var);
  }
  void node(const Allocate& n) {
    declare(n.buffer);
    declaration(n.buffer);
    stmt(n.body);
    buffers_.erase(n.buffer.get());
  }
  void node(const Evaluate& n) {
    expr(n.value, "an evaluated expression");
    if (n.value.kind() != ExprKind::Call) report("an evaluated expression is no call");
  }

  const Program& program_;
  Names names_;
  std::string where_;
  std::vector<std::string> problems_;
  std::unordered_set<const void*> defined_, declared_, blocks_;
  std::unordered_set<std::string> block_names_;
  std::unordered_set<const VarNode*> visible_, sizes_;
  std::unordered_set<const BufferNode*> buffers_, read_only_;
  std::vector<Label> partners_;
};

}  // namespace

std::vector<std::string> well_formed(const Program& program) {
  if (!program.defined()) return {"the program is undefined"};
  if (!Completeness().of(program)) return {"a part of the program is undefined"};
  return Checker(program).run();
}

}  // namespace lathe
