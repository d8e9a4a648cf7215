#include "interp/compiler.h"

#include <algorithm>

#include "interp/kinds.h"
#include "ir/visitor.h"
#include "support/error_codes/interp.h"

namespace lathe::interp {
namespace {

/// Constants get registers from here on until all others are numbered; then they go behind those.
constexpr std::uint32_t kConstants = std::uint32_t{1} << 30;

bool has_blocks(const Stmt& body) {
  bool found = false;
  walk(body, [&](const Stmt& s) {
    found = found || s.kind() == StmtKind::Block;
    return !found;
  });
  return found;
}

}  // namespace

Compiler::Compiler(const Program& program, const std::vector<std::int64_t>& sizes, const Options& options)
    : program_(program),
      sizes_(sizes),
      options_(options),
      scopes_(scopes_of(program)),
      loop_vars_(program->body) {
  blocks_ = has_blocks(program->body);
  synchronized_ =
      options.threads == Threads::Synchronized || (options.threads == Threads::Automatic && !blocks_);
  shadow_ = options.check_initialized || options.check_rewrites || options.check_races;
}

Bytecode Compiler::compile() {
  std::size_t next_size = 0;
  for (const Param& p : program_->params) {
    if (p.role == ParamRole::Size) {
      vars_[p.size.node()] = index_constant(sizes_.at(next_size++));
      defined_.insert(p.size.node());
      continue;
    }
    BufferInfo& info = buffer_info(p.buffer);
    info.read_only = p.role == ParamRole::Input || p.role == ParamRole::Constant;
    info.output = p.role == ParamRole::Output;
    const std::uint32_t reg = new_register();
    buffer_registers_[p.buffer.get()] = reg;
    code_.buffer_register.push_back(reg);
  }
  find_writers();
  walk(program_->body, [&](const Stmt& s) {
    if (const For* loop = s.as<For>()) {
      has_parallel_ = has_parallel_ || loop->for_kind == ForKind::Parallel ||
                      loop->for_kind == ForKind::ThreadBound ||
                      (loop->for_kind == ForKind::Vectorized && blocks_);
    }
    if (const Allocate* a = s.as<Allocate>()) {  // has its place already
      for (auto& [where, buffers] : scopes_) {
        std::erase_if(buffers, [&](const Buffer& b) { return b.same_as(a->buffer); });
      }
    }
    return true;
  });
  open_tally();
  for (const Buffer& b : scopes_[nullptr]) allocate(b);
  stmt(program_->body);
  for (const Buffer& b : scopes_[nullptr]) free_buffer(b);
  emit(op::end);
  place_constants();
  return std::move(code_);
}

Compiler::Operand Compiler::constant(DataType t, Slot value, std::optional<std::int64_t> known) {
  // f64, the other floats and the rest differ in how a register is read, so they do not share.
  const int shelf = t == f64 ? 0 : t.is_float() ? 1 : 2;
  std::int64_t bits = 0;
  if (shelf == 1)
    std::memcpy(&bits, &value.f, sizeof value.f);
  else
    std::memcpy(&bits, &value, sizeof value);
  auto [at, fresh] = constants_.try_emplace({shelf, bits}, kNone);
  if (fresh) {
    at->second = kConstants + static_cast<std::uint32_t>(constant_values_.size());
    constant_values_.push_back(value);
  }
  return {at->second, known, {}};
}

void Compiler::place_constants() {
  const std::uint32_t first = most_registers_;
  code_.registers.assign(first, Slot{.i = 0});
  code_.registers.insert(code_.registers.end(), constant_values_.begin(), constant_values_.end());
  auto place = [&](std::uint32_t& reg) {
    if (reg != kNone && reg >= kConstants) reg = reg - kConstants + first;
  };
  for (Instr& i : code_.instrs) {
    for (std::uint32_t* reg : {&i.dst, &i.a, &i.b, &i.c}) place(*reg);
  }
  for (const auto& access : code_.accesses) {
    for (std::uint32_t& reg : access->index) place(reg);
    place(access->mask);
  }
  for (const auto& allocation : code_.allocations) {
    for (std::uint32_t& reg : allocation->shape) place(reg);
    for (std::uint32_t& reg : allocation->strides) place(reg);
  }
  for (const auto& call : code_.externs) {
    for (auto& [reg, type] : call->args) place(reg);
  }
  for (ScopeInfo& scope : code_.scopes) place(scope.reg);
}

std::uint32_t Compiler::new_register(int lanes) {
  const std::uint32_t first = registers_;
  registers_ += static_cast<std::uint32_t>(lanes);
  most_registers_ = std::max(most_registers_, registers_);
  if (registers_ >= kConstants) refuse("more values than the interpreter has registers");
  return first;
}

Instr& Compiler::emit(Fn fn) {
  code_.instrs.emplace_back();
  code_.instrs.back().fn = fn;
  code_.scope_of.push_back(scope_);
  return code_.instrs.back();
}
std::size_t Compiler::emit_jump(Fn fn, std::uint32_t a, int lanes) {
  Instr& i = emit(fn);
  i.a = a;
  i.lanes = static_cast<std::uint32_t>(lanes);
  return here() - 1;
}
void Compiler::land(std::size_t jump) {
  code_.instrs[jump].imm = static_cast<std::int64_t>(here()) - static_cast<std::int64_t>(jump);
}

void Compiler::open_tally(bool iteration) {
  if (!options_.count) return;
  tally_ = static_cast<int>(code_.tallies.size());
  code_.tallies.emplace_back();
  code_.tallies.back().iterations = iteration;
  emit(op::count).imm = tally_;
}

BufferInfo& Compiler::buffer_info(const Buffer& buffer) {
  BufferInfo*& info = infos_[buffer.get()];
  if (!info) {
    code_.buffers.push_back(std::make_unique<BufferInfo>());
    info = code_.buffers.back().get();
    info->buffer = buffer;
    info->name = buffer->name;
    info->dtype = buffer->dtype;
    info->strided = !buffer->strides.empty();
    if (info->strided && buffer->strides.size() != buffer->shape.size()) {
      refuse("\"" + buffer->name + "\" has " + std::to_string(buffer->strides.size()) + " strides for " +
             std::to_string(buffer->rank()) + " dimensions");
    }
    info->id = static_cast<int>(code_.buffers.size()) - 1;
  }
  return *info;
}

std::uint32_t Compiler::buffer_register(const Buffer& buffer) {
  auto at = buffer_registers_.find(buffer.get());
  if (at == buffer_registers_.end()) {
    refuse("buffer \"" + buffer->name +
           "\" is accessed where it has no memory: it is neither a parameter nor an "
           "intermediate of the program, nor allocated around the access");
  }
  return at->second;
}

void Compiler::refuse(const std::string& what) {
  throw UserError(code::I006, "program \"" + program_->name + "\" cannot be interpreted: " + what);
}

void Compiler::push_scope(const Var& var, std::uint32_t reg) {
  code_.scopes.push_back({scope_, var.name(), reg});
  scope_ = static_cast<int>(code_.scopes.size()) - 1;
}

}  // namespace lathe::interp
