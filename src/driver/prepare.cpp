#include "lathe/prepare.h"

#include <algorithm>

#include "codegen/llvm/compile.h"
#include "driver/c_kernels.h"
#include "driver/code_options.h"
#include "driver/shapes.h"
#include "schedule/prepare.h"
#include "support/error_codes/codegen.h"

namespace lathe {
namespace {

/// Nothing when a run-time size enters.
std::optional<std::int64_t> elements(const Buffer& buffer) {
  std::int64_t count = 1;
  for (const Expr& extent : buffer->shape) {
    const std::optional<std::int64_t> value = as_int(extent);
    if (!value) return std::nullopt;
    count *= *value;
  }
  return count;
}

/// A nest that makes the whole buffer zero.
Stmt zero_fill(const Buffer& buffer) {
  auto block = std::make_unique<Block>();
  block->label = make_label(buffer->name + "_padding");
  block->predicate = true_expr();
  BufferRegion all{buffer, {}};
  std::vector<Var> loops;
  std::vector<Expr> indices;
  for (const Expr& extent : buffer->shape) {
    const Var v("v" + std::to_string(loops.size())), loop("i" + std::to_string(loops.size()));
    block->iters.push_back({v, extent, IterKind::Spatial});
    block->bindings.push_back(loop);
    all.ranges.push_back({v, 1});
    indices.push_back(v);
    loops.push_back(loop);
  }
  block->writes = {all};
  block->body = make_stmt<Store>(buffer, cast(buffer->dtype, Expr(0)), indices);
  Stmt nest(block.release());
  for (std::size_t d = loops.size(); d-- > 0;)
    nest = make_stmt<For>(loops[d], buffer->shape[d], ForKind::Serial, nest);
  return nest;
}

Program preparing_program(const Program& scheduled, const std::vector<schedule::Preparation>& marked) {
  std::vector<Param> params;
  std::vector<Stmt> stmts;
  for (const Param& p : scheduled->params) {
    const bool read = std::any_of(marked.begin(), marked.end(),
                                  [&](const auto& m) { return m.constant.same_as(p.buffer); });
    if (p.role == ParamRole::Size || read) params.push_back(p);
  }
  for (const Param& p : scheduled->params)
    for (const schedule::Preparation& m : marked) {
      if (!m.constant.same_as(p.buffer)) continue;
      params.push_back({ParamRole::Output, m.prepared, {}});
      if (elements(m.prepared) != elements(m.constant) || !elements(m.prepared))
        stmts.push_back(zero_fill(m.prepared));
      stmts.push_back(schedule::without_mark(m.nest));
    }
  return Program(scheduled->name + "_prepare", std::move(params), {}, make_seq(std::move(stmts)));
}

Program calling_program(const Program& scheduled, const std::vector<schedule::Preparation>& marked) {
  std::vector<Param> params = scheduled->params;
  std::vector<Buffer> temps = scheduled->temps;
  for (const schedule::Preparation& m : marked) {
    for (Param& p : params)
      if (p.buffer.same_as(m.constant)) p.buffer = m.prepared;
    std::erase_if(temps, [&](const Buffer& b) { return b.same_as(m.prepared); });
  }
  const Seq* seq = scheduled->body.as<Seq>();
  std::vector<Stmt> stmts = seq ? seq->stmts : std::vector<Stmt>{scheduled->body};
  std::erase_if(stmts, [&](const Stmt& s) {
    return std::any_of(marked.begin(), marked.end(), [&](const auto& m) { return m.nest.same_as(s); });
  });
  return Program(scheduled->name, std::move(params), std::move(temps), make_seq(std::move(stmts)));
}

}  // namespace

PreparedProgram divide_prepared(const Program& scheduled) {
  const std::vector<schedule::Preparation> marked = schedule::preparations(scheduled);
  PreparedProgram out;
  out.kernel = scheduled;
  if (marked.empty()) return out;
  out.prepare = preparing_program(scheduled, marked);
  out.kernel = calling_program(scheduled, marked);
  std::size_t position = 0;
  for (const Param& p : scheduled->params) {
    if (!p.buffer) continue;
    if (std::any_of(marked.begin(), marked.end(),
                    [&](const auto& m) { return m.constant.same_as(p.buffer); }))
      out.constants.push_back(position);
    ++position;
  }
  return out;
}

std::vector<runtime::Tensor> PreparedKernel::prepare(const std::vector<runtime::Tensor*>& tensors,
                                                     const std::vector<std::int64_t>& sizes) const {
  std::vector<runtime::Tensor> prepared;
  if (!prepare_) return prepared;
  const VarMap values = driver::size_values(program_.prepare, sizes);
  for (const Param& p : program_.prepare->params)
    if (p.role == ParamRole::Output)
      prepared.emplace_back(p.buffer->dtype, driver::shape_for(p.buffer, values));
  std::vector<runtime::Tensor*> arguments;
  for (std::size_t at : program_.constants) arguments.push_back(at < tensors.size() ? tensors[at] : nullptr);
  for (runtime::Tensor& t : prepared) arguments.push_back(&t);
  (*prepare_)(arguments, sizes);
  return prepared;
}

void PreparedKernel::operator()(std::vector<runtime::Tensor*> tensors, std::vector<runtime::Tensor>& prepared,
                                const std::vector<std::int64_t>& sizes) const {
  for (std::size_t i = 0; i < program_.constants.size(); ++i)
    if (program_.constants[i] < tensors.size())
      tensors[program_.constants[i]] = i < prepared.size() ? &prepared[i] : nullptr;
  kernel_(tensors, sizes);
}

std::vector<void*> PreparedKernel::addresses(const std::vector<runtime::Tensor*>& tensors,
                                             std::vector<runtime::Tensor>& prepared) const {
  std::vector<void*> out;
  for (runtime::Tensor* tensor : tensors) out.push_back(tensor->data());
  for (std::size_t i = 0; i < program_.constants.size(); ++i)
    out.at(program_.constants[i]) = prepared.at(i).data();
  return out;
}

PreparedKernel compile_prepared(const Program& scheduled, const Target& target,
                                const CompileOptions& options) {
  verify(scheduled, target);
  PreparedKernel out;
  out.program_ = divide_prepared(scheduled);
  if (out.program_.prepare) out.prepare_ = compile(out.program_.prepare, target, options);
  out.kernel_ = compile(out.program_.kernel, target, options);
  return out;
}

std::vector<char> compile_prepared_object(const Program& scheduled, const Target& target,
                                          const CompileOptions& options) {
  verify(scheduled, target);
  const PreparedProgram divided = divide_prepared(scheduled);
  const std::vector<Expr> bytes = driver::prepared_bytes(divided);
  // The table: how many constants; then of each its tensor and bytes.
  std::vector<std::int64_t> table{static_cast<std::int64_t>(bytes.size())};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::optional<std::int64_t> count = as_int(bytes[i]);
    if (!count)
      throw UserError(code::C014, "\"" + scheduled->name + "\": a prepared constant needs " +
                                      to_string(bytes[i]) +
                                      " bytes, which is not known when the object is made");
    table.push_back(static_cast<std::int64_t>(divided.constants[i]));
    table.push_back(*count);
  }
  std::vector<Program> lowered{driver::lowered(divided.kernel, target, options)};
  if (divided.prepare) lowered.push_back(driver::lowered(divided.prepare, target, options));
  return codegen::cpu::compile_lowered(lowered, scheduled->name + "_prepared_constants", table,
                                       driver::machine_for(target), driver::codegen_options(target));
}

PreparedCode link_prepared(const std::string& name, const Target& target, const std::vector<char>& object) {
  driver::check_runs_here(target);
  const codegen::cpu::LoadedCode code = codegen::cpu::load(object, name + "_kernel");
  PreparedCode out;
  out.kernel_ = code.function();
  const auto* table = static_cast<const std::int64_t*>(code.find(name + "_prepared_constants"));
  for (std::int64_t i = 0; i < table[0]; ++i)
    out.constants_.push_back(
        {static_cast<std::size_t>(table[1 + 2 * i]), runtime::Tensor(u8, {table[2 + 2 * i]})});
  if (table[0] > 0) out.prepare_ = reinterpret_cast<lathe_kernel>(code.find(name + "_prepare_kernel"));
  out.code_ = std::make_shared<codegen::cpu::LoadedCode>(code);
  return out;
}

std::int32_t PreparedCode::prepare(std::vector<void*>& addresses) {
  if (!prepare_) return LATHE_OK;
  std::vector<void*> arguments;
  for (const Constant& c : constants_) arguments.push_back(addresses.at(c.tensor));
  for (Constant& c : constants_) {
    arguments.push_back(c.memory.data());
    addresses[c.tensor] = c.memory.data();
  }
  return prepare_(arguments.data(), nullptr);
}

PreparedKernel compile_prepared(const Schedule& schedule, const Target& target,
                                const CompileOptions& options) {
  return compile_prepared(schedule.program(), target, options);
}

}  // namespace lathe
