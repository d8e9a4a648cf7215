// Object code into this process, through JITLink. One LLJIT serves the process; every object has a symbol
// table of its own, so kernels of one name do not collide and each can be released alone.

#if __has_include(<llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>)  // LLVM 20 moved it
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#endif
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>

#include <atomic>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/target_machine.h"
#include "lathe/error.h"
#include "lathe/runtime/module.h"
#include "support/error_codes/codegen.h"

namespace lathe::codegen::cpu {
namespace {

namespace orc = ::llvm::orc;

std::string text_of(::llvm::Error error) { return ::llvm::toString(std::move(error)); }

template <class T>
T checked(::llvm::Expected<T> value, const char* what) {
  if (!value) throw InternalError(std::string(what) + ": " + text_of(value.takeError()));
  return std::forward<T>(*value);
}

/// The process's linker. Loaded code keeps it alive, so that the order in which statics die does not matter.
class Linker {
 public:
  Linker() {
    host_machine();  // initialises LLVM's targets
    jit_ = checked(orc::LLJITBuilder().create(), "the JIT linker does not start");
    host_ = &checked<orc::JITDylib&>(jit_->createJITDylib("host"), "the JIT linker has no host library");
    orc::SymbolMap hooks;
    auto add = [&](std::string_view text, void* address) {
      const ::llvm::StringRef name(text.data(), text.size());
#if LLVM_VERSION_MAJOR >= 17
      hooks[jit_->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                            ::llvm::JITSymbolFlags::Exported};
#else
      hooks[jit_->mangleAndIntern(name)] =
          ::llvm::JITEvaluatedSymbol::fromPointer(address, ::llvm::JITSymbolFlags::Exported);
#endif
    };
    for (const runtime::RuntimeSymbol& symbol : runtime::runtime_symbols()) add(symbol.name, symbol.address);
    ::llvm::cantFail(host_->define(orc::absoluteSymbols(std::move(hooks))));
    // libm, and functions that the user's programs call by name.
    host_->addGenerator(checked(
        orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit_->getDataLayout().getGlobalPrefix()),
        "the symbols of this process cannot be read"));
  }

  orc::JITDylib& new_library() {
    const std::string name = "kernel" + std::to_string(count_.fetch_add(1));
    orc::JITDylib& library =
        checked<orc::JITDylib&>(jit_->createJITDylib(name), "no symbol table for a kernel");
    library.addToLinkOrder(*host_);
    return library;
  }

  orc::LLJIT& jit() { return *jit_; }

 private:
  std::unique_ptr<orc::LLJIT> jit_;
  orc::JITDylib* host_ = nullptr;
  std::atomic<std::uint64_t> count_{0};
};

std::shared_ptr<Linker> process_linker() {
  static const auto linker = std::make_shared<Linker>();
  return linker;
}

/// One kernel's memory and symbols.
struct Loaded {
  Loaded(std::shared_ptr<Linker> l) : linker(std::move(l)), library(&linker->new_library()) {}
  ~Loaded() { ::llvm::consumeError(linker->jit().getExecutionSession().removeJITDylib(*library)); }
  std::shared_ptr<Linker> linker;
  orc::JITDylib* library;
};

}  // namespace

LoadedCode load(const std::vector<std::vector<char>>& objects, const std::string& name) {
  auto loaded = std::make_shared<Loaded>(process_linker());
  orc::LLJIT& jit = loaded->linker->jit();
  for (const std::vector<char>& object : objects) {
    auto buffer =
        ::llvm::MemoryBuffer::getMemBufferCopy(::llvm::StringRef(object.data(), object.size()), name);
    if (auto error = jit.addObjectFile(*loaded->library, std::move(buffer)))
      throw UserError(code::C006,
                      "kernel \"" + name + "\": its object does not load: " + text_of(std::move(error)));
  }
  LoadedCode code;
  code.memory_ = std::move(loaded);
  return code;
}

void* LoadedCode::find(const std::string& symbol) const {
  const Loaded& loaded = *static_cast<const Loaded*>(memory_.get());
  auto address = loaded.linker->jit().lookup(*loaded.library, symbol);
  if (!address)
    throw UserError(code::C002,
                    "kernel \"" + symbol + "\": it calls a function that this process does not have: " +
                        text_of(address.takeError()) +
                        "; link the library that defines it, or load it with dlopen(…, RTLD_GLOBAL)");
  return address->toPtr<void*>();
}

LoadedCode load(const std::vector<char>& object, const std::string& symbol) {
  LoadedCode code = load(std::vector<std::vector<char>>{object}, symbol);
  code.function_ = reinterpret_cast<KernelFunction>(code.find(symbol));
  return code;
}

}  // namespace lathe::codegen::cpu
