// program: collects the computes that the outputs need. Programs from files, whose regions are somebody else's.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "arith/block_access.h"
#include "ir/json_format.h"
#include "ir/visitor.h"
#include "support/error_codes/files.h"
#include "support/error_codes/te.h"
#include "te/nodes.h"

namespace lathe {
namespace {

/// Hands out names, each once.
class NameSpace {
 public:
  void take(const std::string& name) { next_suffix_.emplace(name, 1); }
  std::string unused(const std::string& wanted) {
    const std::string base = wanted.empty() ? "t" : wanted;
    std::string name = base;
    while (!next_suffix_.emplace(name, 1).second) name = base + "_" + std::to_string(next_suffix_[base]++);
    return name;
  }

 private:
  std::unordered_map<std::string, int> next_suffix_;  ///< of every name handed out
};

class ProgramBuilder {
 public:
  ProgramBuilder(std::string name, Site site) : name_(std::move(name)), site_(site) {}

  void add_input(const ProgramInput& input) {
    if (input.size.defined()) return add_size(input.size);
    const TensorBuffer* t = known(input.tensor, "an input");
    if (t->compute.defined()) {
      fail(code::D009, "the input " + quote(t->name) + " is computed; inputs are placeholders and sizes");
    }
    if (!listed_.insert(t).second) fail(code::D009, "the input " + quote(t->name) + " is listed twice");
    params_.push_back({t->role, input.tensor.buffer(), {}});
  }

  void add_output(const Tensor& output) {
    const TensorBuffer* t = known(output, "an output");
    if (listed_.count(t)) {
      const bool is_input = !t->compute.defined();
      fail(code::D009, "the output " + quote(t->name) +
                           (is_input ? " is also an input; copy it with a compute" : " is listed twice"));
    }
    if (!t->compute.defined()) {
      fail(code::D009, "the output " + quote(t->name) + " is a placeholder; copy it with a compute");
    }
    listed_.insert(t);
    params_.push_back({ParamRole::Output, output.buffer(), {}});
  }

  Program build() {
    for (const Param& p : params_) {
      if (p.role == ParamRole::Output) continue;
      if (p.buffer.defined()) check_sizes(p.buffer->shape, p.buffer->name);
    }

    for (std::size_t i = 0; i < params_.size(); ++i) {
      if (params_[i].role == ParamRole::Output) need(params_[i].buffer);
    }
    name_buffers();
    std::vector<Stmt> nests;
    for (const Compute* c : order_) nests.push_back(nest(*c));
    BufferMap renamed(renamed_.begin(), renamed_.end());
    std::vector<Param> params = params_;
    for (Param& p : params) {
      if (p.buffer.defined()) p.buffer = current(p.buffer);
    }
    std::vector<Buffer> temps;
    for (const Buffer& b : temps_) temps.push_back(current(b));
    return Program(name_, std::move(params), std::move(temps),
                   replace_buffers(make_seq(std::move(nests)), renamed));
  }

 private:
  [[noreturn]] void fail(Code code, const std::string& text) const {
    refuse(code, "program " + quote(name_) + ": " + text, site_);
  }

  const TensorBuffer* known(const Tensor& tensor, const char* what) const {
    if (!tensor.defined()) fail(code::D012, std::string(what) + " is an empty Tensor");
    const TensorBuffer* t = tensor_buffer(tensor.buffer().get());
    if (!t) {
      fail(code::D009, std::string(what) + ", " + quote(tensor.name()) +
                           ", is a bare buffer; tensors are made by placeholder and compute");
    }
    return t;
  }

  void add_size(const Var& size) {
    if (!is_size(size.node())) {
      fail(code::D009, "the input " + quote(size.name()) + " is a variable, but not made by size(…)");
    }
    for (const Param& p : params_) {
      if (p.role != ParamRole::Size) continue;
      if (p.size.same_as(size)) fail(code::D009, "the size " + quote(size.name()) + " is listed twice");
      if (p.size.name() == size.name()) {
        fail(code::D009, "two sizes are called " + quote(size.name()) + "; give them different names");
      }
    }
    sizes_.insert(size.node());
    params_.push_back({ParamRole::Size, {}, size});
  }

  void check_sizes(const std::vector<Expr>& exprs, const std::string& user) const {
    for (const Expr& e : exprs) {
      walk(e, [&](const Expr& x) {
        const VarNode* v = x.as<VarNode>();
        if (v && is_size(v) && !sizes_.count(v)) {
          fail(code::D008, "the size " + quote(v->name) + " is used by " + quote(user) +
                               " but is not a parameter; add it to the inputs");
        }
        return true;
      });
    }
  }

  /// Appends the compute of `buffer`, and before it the computes of what it reads. An explicit stack, because
  /// a chain of computes may be longer than ours.
  void need(const Buffer& buffer) {
    struct Frame {
      const Compute* compute;
      std::vector<Buffer> reads;
      std::size_t next = 0;
    };
    std::vector<Frame> stack;
    auto enter = [&](const Buffer& b) {
      const TensorBuffer* t = tensor_buffer(b.get());
      outputs_[t->compute.get()][t->output] = b;
      if (!seen_.insert(t->compute.get()).second) return;
      stack.push_back({t->compute.get(), reads_of(*t->compute)});
    };
    enter(buffer);
    while (!stack.empty()) {
      if (stack.back().next == stack.back().reads.size()) {
        order_.push_back(stack.back().compute);
        stack.pop_back();
        continue;
      }
      const Buffer read = stack.back().reads[stack.back().next++];
      const TensorBuffer* t = tensor_buffer(read.get());
      const std::string& reader = stack.back().compute->name;
      if (!t)
        fail(code::D008,
             quote(reader) + " reads " + quote(read->name) + ", which is a bare buffer, not a tensor");
      if (t->compute.defined()) {
        enter(read);
      } else if (!listed_.count(t)) {
        fail(code::D008, "the placeholder " + quote(t->name) + " is used by " + quote(reader) +
                             " but is not a parameter; add it to the inputs");
      }
    }
  }

  /// The buffers that a compute reads, in order of first appearance; checks its sizes on the way.
  std::vector<Buffer> reads_of(const Compute& c) const {
    std::vector<Expr> all = c.shape;
    all.insert(all.end(), c.values.begin(), c.values.end());
    if (!c.reduction.empty()) {
      const ReductionSpec& r = c.reduction[0];
      all.insert(all.end(), r.options.initial.begin(), r.options.initial.end());
      for (const Axis& a : r.axes) all.push_back(a.extent());
    }
    check_sizes(all, c.name);
    std::vector<Buffer> reads;
    std::unordered_set<const BufferNode*> seen;
    for (const Expr& e : all) {
      walk(e, [&](const Expr& x) {
        const Load* l = x.as<Load>();
        if (l && seen.insert(l->buffer.get()).second) reads.push_back(l->buffer);
        return true;
      });
    }
    return reads;
  }

  /// Fills in the tensors of a compute that nothing refers to, and makes all names different.
  void name_buffers() {
    for (const Param& p : params_) {
      if (p.role == ParamRole::Size) names_.take(p.size.name());
    }
    for (const Param& p : params_) {
      if (p.buffer.defined()) name_buffer(p.buffer);
    }
    for (const Compute* c : order_) {
      auto& outputs = outputs_[c];
      for (int i = 0; i < static_cast<int>(c->values.size()); ++i) {
        Buffer& b = outputs[i];
        if (!b.defined()) b = make_tensor_buffer(Ref<Compute>(c), i);
        if (listed_.count(tensor_buffer(b.get()))) continue;
        temps_.push_back(b);
        name_buffer(b);
      }
    }
  }

  void name_buffer(const Buffer& buffer) {
    const std::string name = names_.unused(buffer->name);
    if (name == buffer->name) return;
    const TensorBuffer* t = tensor_buffer(buffer.get());
    auto* copy = new TensorBuffer;
    copy->name = name;
    copy->dtype = t->dtype;
    copy->shape = t->shape;
    copy->role = t->role;
    copy->compute = t->compute;
    copy->output = t->output;
    copy->site = t->site;
    copy->original = t->original.defined() ? t->original : buffer;
    renamed_.emplace(buffer.get(), Buffer(copy));
  }

  Buffer current(const Buffer& b) const {
    const auto at = renamed_.find(b.get());
    return at == renamed_.end() ? b : at->second;
  }

  Stmt nest(const Compute& c) {
    std::vector<Buffer> outputs;
    for (const auto& [i, b] : outputs_.at(&c)) outputs.push_back(b);
    const Label label(new ComputeLabel(labels_.unused(c.name), Ref<Compute>(&c)));
    return build_block(c, outputs, label);
  }

  std::string name_;
  Site site_;
  std::vector<Param> params_;
  std::vector<Buffer> temps_;
  std::unordered_set<const BufferNode*> listed_;
  std::unordered_set<const VarNode*> sizes_;
  std::unordered_set<const Compute*> seen_;
  std::vector<const Compute*> order_;
  std::unordered_map<const Compute*, std::map<int, Buffer>> outputs_;
  std::unordered_map<const BufferNode*, Buffer> renamed_;
  NameSpace names_, labels_;
};

}  // namespace

Program program(std::string name, std::vector<ProgramInput> inputs, std::vector<Tensor> outputs, Site site) {
  if (outputs.empty()) refuse(code::D009, "program " + quote(name) + " has no outputs", site);
  ProgramBuilder builder(std::move(name), site);
  for (const ProgramInput& i : inputs) builder.add_input(i);
  for (const Tensor& o : outputs) builder.add_output(o);
  return builder.build();
}

Label label_of(const Program& program, const Tensor& tensor) {
  const TensorBuffer* t = tensor.defined() ? tensor_buffer(tensor.buffer().get()) : nullptr;
  Label found;
  if (!program.defined() || !t || !t->compute.defined()) return found;
  walk(program->body, [&](const Stmt& s) {
    const Block* b = s.as<Block>();
    const auto* label = b ? dynamic_cast<const ComputeLabel*>(b->label.get()) : nullptr;
    if (label && label->compute.same_as(t->compute)) found = b->label;
    return !found.defined();
  });
  return found;
}

Buffer buffer_of(const Program& program, const Tensor& tensor) {
  if (!program.defined() || !tensor.defined()) return {};
  auto stands_for = [&](const Buffer& b) {
    return b.defined() && same_tensor(b.get(), tensor.buffer().get());
  };
  for (const Param& p : program->params) {
    if (stands_for(p.buffer)) return p.buffer;
  }
  for (const Buffer& b : program->temps) {
    if (stands_for(b)) return b;
  }
  return {};
}

Program program_from_json(const std::string& text) {
  Program program = read_program_json(text);
  if (const std::optional<std::string> problem = arith::undeclared_access(program))
    throw UserError(code::F003, "program JSON: " + *problem);
  return program;
}

}  // namespace lathe
