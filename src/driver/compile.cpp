#include "lathe/compile.h"

#include <algorithm>
#include <functional>

#include "driver/code_options.h"
#include "driver/shapes.h"
#include "support/error_codes/codegen.h"
#include "support/error_codes/te.h"

namespace lathe {

struct Kernel::State {
  Program program;
  Target target;
  std::vector<char> object;
  codegen::cpu::LoadedCode code;
};

namespace driver {

lower::Options lower_options(const Target& target, const CompileOptions& options) {
  lower::Options out;
  // Without the instruction a fused multiply-add takes twenty.
  out.form_fma = options.optimize && target.options.contract && (!target.is_cpu() || target.cpu().fma());
  out.partition = out.vectorize = out.unroll = options.optimize;
  out.on_pass = options.on_pass;
  return out;
}

codegen::cpu::Machine machine_for(const Target& target) {
  if (!target.is_cpu()) {
    throw TargetError(code::C010, "code for \"" + target.name +
                                      "\" cannot be generated: only CPU targets are supported here");
  }
  return {target.cpu().triple(), target.cpu().microarchitecture, target.cpu().llvm_features()};
}

codegen::cpu::Machine least_machine_for(const Target& target) {
  codegen::cpu::Machine machine = machine_for(target);
  machine.cpu = target.cpu().arch == "x86_64" ? "x86-64" : "generic";
  return machine;
}

codegen::cpu::Options codegen_options(const Target& target) {
  codegen::cpu::Options out;
  out.nnan = target.options.nnan;
  out.fast_math = target.options.fast_math;
  return out;
}

void check_runs_here(const Target& target) {
  const CpuTarget here = Target::host().cpu();
  for (const std::string& feature : target.cpu().features) {
    if (!here.has(feature)) {
      throw TargetError(code::C010,
                        "this machine cannot run code for \"" + target.name + "\": it has no " + feature);
    }
  }
}

Program lowered(const Program& program, const Target& target, const CompileOptions& options) {
  verify(program, target);
  return lower::lower(program, target, lower_options(target, options));
}

}  // namespace driver

std::vector<char> compile_object(const Program& program, const Target& target,
                                 const CompileOptions& options) {
  const codegen::cpu::Machine machine = driver::machine_for(target);
  return codegen::cpu::compile_lowered(driver::lowered(program, target, options), machine,
                                       driver::codegen_options(target));
}

Kernel link(const Program& program, const Target& target, std::vector<char> object) {
  if (!program.defined()) throw UserError(code::D012, "link: an empty Program");
  driver::check_runs_here(target);
  auto state = std::make_shared<Kernel::State>();
  state->program = program;
  state->target = target;
  state->code = codegen::cpu::load(object, codegen::cpu::kernel_symbol(program));
  state->object = std::move(object);
  Kernel kernel;
  kernel.function_ = state->code.function();
  kernel.state_ = std::move(state);
  return kernel;
}

Kernel compile(const Program& program, const Target& target, const CompileOptions& options) {
  return link(program, target, compile_object(program, target, options));
}

Kernel compile(const Schedule& schedule, const Target& target, const CompileOptions& options) {
  verify(schedule, target);
  return compile(schedule.program(), target, options);
}

const Program& Kernel::program() const { return state_->program; }
const Target& Kernel::target() const { return state_->target; }
const std::string& Kernel::name() const { return state_->program->name; }
const std::vector<char>& Kernel::object() const { return state_->object; }

// ---- calls -------------------------------------------------------------------------------------------------------

namespace {

void check_tensor(const Program& program, const Param& param, const runtime::Tensor* tensor,
                  const VarMap& sizes) {
  auto wrong = [&](const std::string& what) {
    return UserError(code::C012,
                     "kernel \"" + program->name + "\", parameter \"" + param.name() + "\": " + what);
  };
  if (!tensor) throw wrong("no tensor was given");
  const DLDataType want_type = runtime::stored_as(param.buffer->dtype), have_type = tensor->type();
  const std::vector<std::int64_t> want = driver::shape_for(param.buffer, sizes);
  const runtime::Tensor expected = runtime::Tensor::view(nullptr, want_type, want);
  const bool same_type = want_type.code == have_type.code && want_type.bits == have_type.bits &&
                         want_type.lanes == have_type.lanes;
  if (!same_type || tensor->shape() != want) {
    throw wrong("expected " + runtime::to_string(expected) + ", got " + runtime::to_string(*tensor));
  }
}

/// A kernel may read its operands again after it wrote an output (docs/semantics.md: parameters do not overlap).
void check_overlap(const Program& program, const std::vector<const Param*>& params,
                   const std::vector<runtime::Tensor*>& tensors) {
  const auto begin = [](const runtime::Tensor* t) { return static_cast<const char*>(t->data()); };
  for (std::size_t out = 0; out < params.size(); ++out) {
    if (params[out]->role != ParamRole::Output && params[out]->role != ParamRole::InOut) continue;
    for (std::size_t other = 0; other < params.size(); ++other) {
      const runtime::Tensor *a = tensors[out], *b = tensors[other];
      if (out == other || a->bytes() == 0 || b->bytes() == 0) continue;
      const std::less_equal<> before;
      if (before(begin(a) + a->bytes(), begin(b)) || before(begin(b) + b->bytes(), begin(a))) continue;
      throw UserError(code::C012, "kernel \"" + program->name + "\", parameter \"" + params[out]->name() +
                                      "\": shares memory with \"" + params[other]->name() +
                                      "\"; give the kernel an output of its own");
    }
  }
}

}  // namespace

void Kernel::operator()(const std::vector<runtime::Tensor*>& tensors,
                        const std::vector<std::int64_t>& sizes) const {
  const Program& p = program();
  std::vector<const Param*> buffers;
  const VarMap values = driver::size_values(p, sizes);
  std::size_t size_count = 0;
  for (const Param& param : p->params) {
    if (param.role == ParamRole::Size)
      ++size_count;
    else
      buffers.push_back(&param);
  }
  if (tensors.size() != buffers.size() || sizes.size() != size_count) {
    throw UserError(code::C012, "kernel \"" + p->name + "\" takes " + std::to_string(buffers.size()) +
                                    " tensors and " + std::to_string(size_count) + " sizes, not " +
                                    std::to_string(tensors.size()) + " and " + std::to_string(sizes.size()));
  }
  for (std::int64_t s : sizes) {
    if (s < 0)
      throw UserError(code::C012, "kernel \"" + p->name + "\": size " + std::to_string(s) + " is negative");
  }
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check_tensor(p, *buffers[i], tensors[i], values);
    addresses.push_back(tensors[i]->data());
  }
  check_overlap(p, buffers, tensors);
  if (function_(addresses.data(), sizes.data()) != LATHE_OK) {
    throw UserError(code::C013, "kernel \"" + p->name + "\" failed: " + lathe_last_error());
  }
}

// ---- looking inside ------------------------------------------------------------------------------------------------

Program lower_until(const Program& program, const Target& target, const std::string& pass,
                    const CompileOptions& options) {
  verify(program, target);
  Program p = program;
  std::string names;
  for (const lower::Pass& each : lower::passes(target)) {
    p = each.run(p, target, driver::lower_options(target, options));
    if (pass == each.name) return p;
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  if (!pass.empty())
    throw UserError(code::C011, "no lowering pass is called \"" + pass + "\"\n  passes: " + names);
  return p;
}

std::vector<std::pair<std::string, std::string>> lowering_passes(const Target& target) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const lower::Pass& each : lower::passes(target)) out.emplace_back(each.name, each.summary);
  return out;
}

std::string llvm_ir(const Program& program, const Target& target, const CompileOptions& options) {
  return codegen::cpu::llvm_ir(driver::lowered(program, target, options), driver::machine_for(target),
                               driver::codegen_options(target));
}

std::string assembly(const Program& program, const Target& target, const CompileOptions& options) {
  return codegen::cpu::assembly(driver::lowered(program, target, options), driver::machine_for(target),
                                driver::codegen_options(target));
}

}  // namespace lathe
