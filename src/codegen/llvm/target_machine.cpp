#include "codegen/llvm/target_machine.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

#include "lathe/error.h"
#include "support/error_codes/codegen.h"

namespace lathe::codegen::cpu {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
#ifdef LATHE_STATIC_LLVM
    ::llvm::InitializeNativeTarget();
    ::llvm::InitializeNativeTargetAsmPrinter();
    ::llvm::InitializeNativeTargetAsmParser();
#else
    ::llvm::InitializeAllTargetInfos();
    ::llvm::InitializeAllTargets();
    ::llvm::InitializeAllTargetMCs();
    ::llvm::InitializeAllAsmPrinters();
#endif
  });
}

const ::llvm::Target& find_target(const Machine& machine) {
  std::string error;
#if LLVM_VERSION_MAJOR >= 22
  const ::llvm::Triple triple(::llvm::Triple::normalize(machine.triple));
#else
  const std::string triple = ::llvm::Triple::normalize(machine.triple);
#endif
  const ::llvm::Target* found = ::llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    throw TargetError(code::C001, "target: no code generator for the triple \"" + machine.triple +
                                      "\"; this build of LLVM says: " + error);
  return *found;
}

}  // namespace

Machine host_machine() {
  initialize_llvm();
  Machine machine{::llvm::sys::getProcessTriple(), ::llvm::sys::getHostCPUName().str(), {}};
#if LLVM_VERSION_MAJOR >= 19
  const ::llvm::StringMap<bool> features = ::llvm::sys::getHostCPUFeatures();
#else
  ::llvm::StringMap<bool> features;
  ::llvm::sys::getHostCPUFeatures(features);
#endif
  std::vector<std::string> sorted;
  for (const auto& feature : features)
    sorted.push_back((::llvm::Twine(feature.getValue() ? "+" : "-") + feature.getKey()).str());
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& feature : sorted)
    machine.features += (machine.features.empty() ? "" : ",") + feature;
  return machine;
}

std::unique_ptr<::llvm::TargetMachine> make_target_machine(const Machine& machine) {
  initialize_llvm();
  const ::llvm::Target& target = find_target(machine);
  const std::string triple = ::llvm::Triple::normalize(machine.triple);
#if LLVM_VERSION_MAJOR >= 21
  const ::llvm::Triple parsed(triple);
  std::unique_ptr<::llvm::MCSubtargetInfo> names(target.createMCSubtargetInfo(parsed, "", ""));
#else
  const std::string& parsed = triple;
  std::unique_ptr<::llvm::MCSubtargetInfo> names(target.createMCSubtargetInfo(parsed, "", ""));
#endif
  if (names && !machine.cpu.empty() && !names->isCPUStringValid(machine.cpu))
    throw TargetError(code::C001, "target: LLVM " LLVM_VERSION_STRING " knows no CPU \"" + machine.cpu +
                                      "\" for " + triple + "; `llc -mtriple=" + triple +
                                      " -mcpu=help` lists those it knows");
  ::llvm::TargetOptions options;
  std::unique_ptr<::llvm::TargetMachine> made(target.createTargetMachine(
      parsed, machine.cpu, machine.features, options, ::llvm::Reloc::PIC_, std::nullopt, kAggressive));
  internal_check(made != nullptr, "LLVM made no target machine");
  return made;
}

Features features_of(const ::llvm::TargetMachine& target) {
  const ::llvm::MCSubtargetInfo& info = *target.getMCSubtargetInfo();
  const ::llvm::Triple& triple = target.getTargetTriple();
  Features f;
  f.x86 = triple.isX86();
  if (f.x86) {
    f.fma = info.checkFeatures("+fma");
    f.f16c = info.checkFeatures("+f16c");
    f.round = info.checkFeatures("+sse4.1");
    f.wide = info.checkFeatures("+avx512f");
    f.vector_bytes = f.wide ? 64 : info.checkFeatures("+avx") ? 32 : 16;
  } else if (triple.isAArch64()) {
    f.fma = f.f16c = f.round = true;
  }
  return f;
}

namespace {

/// What is left to do after our lowering: temporaries into registers, common addresses, loads and addresses that loops
/// repeat. Everything of O3 that looks for loops to transform, functions to inline or vectors to form finds nothing here and
/// takes half of the time.
::llvm::FunctionPassManager pipeline() {
  ::llvm::FunctionPassManager passes;
  passes.addPass(::llvm::SROAPass(::llvm::SROAOptions::ModifyCFG));
  passes.addPass(::llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(::llvm::InstCombinePass());
  passes.addPass(::llvm::SimplifyCFGPass());
  passes.addPass(::llvm::createFunctionToLoopPassAdaptor(::llvm::LICMPass(::llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true));
  passes.addPass(::llvm::SROAPass(::llvm::SROAOptions::ModifyCFG));
  passes.addPass(::llvm::GVNPass());
  passes.addPass(::llvm::InstCombinePass());
  passes.addPass(::llvm::SimplifyCFGPass());
  return passes;
}

}  // namespace

void optimize(::llvm::Module& module, ::llvm::TargetMachine& target) {
  ::llvm::LoopAnalysisManager loops;
  ::llvm::FunctionAnalysisManager functions;
  ::llvm::CGSCCAnalysisManager components;
  ::llvm::ModuleAnalysisManager modules;
  ::llvm::PassBuilder passes(&target);
  // A kernel needs nothing but its four hooks: without library functions, no loop becomes a call of memset or
  // memcpy.
  ::llvm::TargetLibraryInfoImpl library(target.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return ::llvm::TargetLibraryAnalysis(library); });
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  ::llvm::ModulePassManager all;
  all.addPass(::llvm::createModuleToFunctionPassAdaptor(pipeline()));
  all.run(module, modules);
}

namespace {

template <class FileType>
void run_code_generator(::llvm::Module& module, ::llvm::TargetMachine& target, FileType type,
                        ::llvm::SmallVectorImpl<char>& out) {
  ::llvm::raw_svector_ostream stream(out);
  ::llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
    throw InternalError("LLVM cannot write this kind of file for the target");
  passes.run(module);
}

}  // namespace

std::vector<char> emit_object(::llvm::Module& module, ::llvm::TargetMachine& target) {
  ::llvm::SmallVector<char, 0> bytes;
  run_code_generator(module, target, kObjectFile, bytes);
  return {bytes.begin(), bytes.end()};
}

std::string emit_assembly(::llvm::Module& module, ::llvm::TargetMachine& target) {
  ::llvm::SmallVector<char, 0> text;
  run_code_generator(module, target, kAssemblyFile, text);
  return {text.begin(), text.end()};
}

}  // namespace lathe::codegen::cpu
