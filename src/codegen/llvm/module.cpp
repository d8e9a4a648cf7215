// The functions of a module and what they share.

#include "codegen/llvm/module.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/target_machine.h"
#include "ir/visitor.h"
#include "support/error_codes/codegen.h"

namespace lathe::codegen::cpu {

ModuleContext::ModuleContext(::llvm::Module& m, const Features& f, const Options& o)
    : module(m), context(m.getContext()), features(f), options(o) {
  options.nnan = options.nnan || options.fast_math;
}

void ModuleContext::declare_buffers(const Program& program) {
  alias_.clear();
  std::vector<const BufferNode*> buffers;
  auto add = [&](const Buffer& buffer) {
    if (alias_.emplace(buffer.get(), AliasLists{}).second) buffers.push_back(buffer.get());
  };
  for (const Param& param : program->params)
    if (param.buffer) add(param.buffer);
  walk(program->body, [&](const Stmt& s) {
    if (const auto* allocate = s.as<Allocate>()) add(allocate->buffer);
    return true;
  });
  ::llvm::MDBuilder metadata(context);
  ::llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(program->name);
  std::vector<::llvm::Metadata*> scopes;
  for (const BufferNode* buffer : buffers)
    scopes.push_back(metadata.createAnonymousAliasScope(domain, buffer->name));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::vector<::llvm::Metadata*> others = scopes;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    alias_[buffers[i]] = {::llvm::MDNode::get(context, {scopes[i]}), ::llvm::MDNode::get(context, others)};
  }
}

void ModuleContext::mark_access(::llvm::Instruction* access, const Buffer& buffer) {
  const auto found = alias_.find(buffer.get());
  internal_check(found != alias_.end(), "a buffer is used that is neither a parameter nor allocated");
  access->setMetadata(::llvm::LLVMContext::MD_alias_scope, found->second.own);
  access->setMetadata(::llvm::LLVMContext::MD_noalias, found->second.others);
}

::llvm::FunctionCallee ModuleContext::hook(const char* name, ::llvm::FunctionType* type) {
  if (const ::llvm::Function* known = module.getFunction(name); known && !known->isDeclaration())
    throw UserError(code::C003,
                    "kernel \"" + std::string(name) +
                        "\": code of the same object calls a function of this name; rename the program");
  ::llvm::FunctionCallee callee = module.getOrInsertFunction(name, type);
  ::llvm::cast<::llvm::Function>(callee.getCallee())->setDoesNotThrow();
  return callee;
}

::llvm::Function* ModuleContext::new_function(const std::string& name, ::llvm::FunctionType* type,
                                              bool internal) {
  auto* function = ::llvm::Function::Create(
      type, internal ? ::llvm::Function::InternalLinkage : ::llvm::Function::ExternalLinkage, name, module);
  if (!internal && function->getName() != name)  // LLVM renames what collides
    throw UserError(
        code::C003,
        "kernel \"" + name + "\": code of the same object calls a function of this name; rename the program");
  function->setDoesNotThrow();
  if (!internal && options.hidden) function->setVisibility(::llvm::GlobalValue::HiddenVisibility);
  if (!options.tune.empty()) function->addFnAttr("tune-cpu", options.tune);
  if (features.wide) {
    function->addFnAttr("prefer-vector-width", "512");
    function->addFnAttr("min-legal-vector-width", "512");
  }
  return function;
}

::llvm::Constant* ModuleContext::text(const std::string& value) {
  ::llvm::Constant*& slot = texts_[value];
  if (!slot) {
    ::llvm::Constant* data = ::llvm::ConstantDataArray::getString(context, value);
    auto* global = new ::llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                              ::llvm::GlobalValue::PrivateLinkage, data, "text");
    global->setUnnamedAddr(::llvm::GlobalValue::UnnamedAddr::Global);
    slot = global;
  }
  return slot;
}

namespace {

/// Elements of a buffer whose shape is constant.
std::optional<std::int64_t> constant_elements(const Buffer& buffer) {
  std::int64_t elements = 1;
  for (const Expr& extent : buffer->shape) {
    const auto value = as_int(extent);
    if (!value || __builtin_mul_overflow(elements, *value, &elements)) return std::nullopt;
  }
  return elements;
}

void set_metadata(::llvm::LoadInst* load, unsigned kind, std::uint64_t value) {
  auto* type = ::llvm::Type::getInt64Ty(load->getContext());
  load->setMetadata(
      kind, ::llvm::MDNode::get(load->getContext(),
                                ::llvm::ConstantAsMetadata::get(::llvm::ConstantInt::get(type, value))));
}

/// Loads the address of a parameter, with what the argument checks guarantee about it.
::llvm::Value* load_buffer(ModuleContext& module, Builder& b, ::llvm::Value* buffers, int slot,
                           const Buffer& buffer) {
  ::llvm::Value* place =
      b.CreateConstInBoundsGEP1_64(b.getPtrTy(), buffers, static_cast<std::uint64_t>(slot));
  ::llvm::LoadInst* load = b.CreateLoad(b.getPtrTy(), place, buffer->name);
  load->setMetadata(::llvm::LLVMContext::MD_invariant_load, ::llvm::MDNode::get(module.context, {}));
  const auto elements = constant_elements(buffer);
  if (elements && *elements > 0) {
    load->setMetadata(::llvm::LLVMContext::MD_nonnull, ::llvm::MDNode::get(module.context, {}));
    set_metadata(load, ::llvm::LLVMContext::MD_align,
                 static_cast<std::uint64_t>(std::max(1, buffer->alignment)));
    // Lets a load move out of a loop or a guard that might not run.
    set_metadata(load, ::llvm::LLVMContext::MD_dereferenceable,
                 static_cast<std::uint64_t>(*elements) * static_cast<std::uint64_t>(buffer->dtype.bytes()));
  }
  return load;
}

}  // namespace

::llvm::Function* emit_kernel(ModuleContext& shared, const Program& program, const std::string& name) {
  shared.declare_buffers(program);
  auto* pointer = ::llvm::PointerType::getUnqual(shared.context);
  auto* type = ::llvm::FunctionType::get(::llvm::Type::getInt32Ty(shared.context), {pointer, pointer}, false);
  ::llvm::Function* function = shared.new_function(name, type, /*internal=*/false);
  for (::llvm::Argument& argument : function->args()) {
    argument.addAttr(::llvm::Attribute::NoAlias);
    argument.addAttr(::llvm::Attribute::ReadOnly);
  }
  Emitter emitter(shared, function, name);
  Builder& b = emitter.builder();
  int buffer_slot = 0, scalar_slot = 0;
  for (const Param& param : program->params) {
    if (param.buffer) {
      emitter.define(param.buffer.get(),
                     load_buffer(shared, b, function->getArg(0), buffer_slot++, param.buffer));
      continue;
    }
    ::llvm::Value* place = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(1),
                                                        static_cast<std::uint64_t>(scalar_slot++));
    ::llvm::Value* size = b.CreateLoad(b.getInt64Ty(), place, param.name());
    emitter.define(param.size.node(), b.CreateTrunc(size, value_type(shared.context, param.size.dtype())));
  }
  emitter.emit(program->body);
  emitter.finish();
  return function;
}

void check_module(const ::llvm::Module& module) {
  std::string problems;
  ::llvm::raw_string_ostream stream(problems);
  if (::llvm::verifyModule(module, &stream))
    throw InternalError("the emitted LLVM IR is malformed: " + stream.str());
}

}  // namespace lathe::codegen::cpu
