#pragma once
// The LLVM headers that emission needs, and the places where versions 16 to 22 differ. Only files of this
// folder include LLVM.

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#include <llvm/Support/Host.h>
#endif

namespace lathe::codegen::cpu {

using Builder = ::llvm::IRBuilder<>;

#if LLVM_VERSION_MAJOR >= 18
inline constexpr auto kAggressive = ::llvm::CodeGenOptLevel::Aggressive;
inline constexpr auto kObjectFile = ::llvm::CodeGenFileType::ObjectFile;
inline constexpr auto kAssemblyFile = ::llvm::CodeGenFileType::AssemblyFile;
#else
inline constexpr auto kAggressive = ::llvm::CodeGenOpt::Aggressive;
inline constexpr auto kObjectFile = ::llvm::CGFT_ObjectFile;
inline constexpr auto kAssemblyFile = ::llvm::CGFT_AssemblyFile;
#endif

inline void set_triple(::llvm::Module& module, const std::string& triple) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(::llvm::Triple(triple));
#else
  module.setTargetTriple(triple);
#endif
}

inline void lifetime_start(Builder& b, ::llvm::AllocaInst* memory, [[maybe_unused]] std::uint64_t bytes) {
#if LLVM_VERSION_MAJOR >= 22
  b.CreateLifetimeStart(memory);
#else
  b.CreateLifetimeStart(memory, b.getInt64(bytes));
#endif
}
inline void lifetime_end(Builder& b, ::llvm::AllocaInst* memory, [[maybe_unused]] std::uint64_t bytes) {
#if LLVM_VERSION_MAJOR >= 22
  b.CreateLifetimeEnd(memory);
#else
  b.CreateLifetimeEnd(memory, b.getInt64(bytes));
#endif
}

}  // namespace lathe::codegen::cpu
