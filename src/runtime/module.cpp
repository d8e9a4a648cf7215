#include "lathe/runtime/module.h"

#include <dlfcn.h>

#include <vector>

#include "lathe/error.h"
#include "support/error_codes/runtime.h"

namespace lathe::runtime {

void Kernel::operator()(std::initializer_list<Tensor*> tensors,
                        std::initializer_list<std::int64_t> scalars) const {
  std::vector<void*> buffers;
  buffers.reserve(tensors.size());
  for (Tensor* tensor : tensors) buffers.push_back(tensor->data());
  const std::int32_t code = function_(buffers.data(), scalars.begin());
  if (code != LATHE_OK) {
    throw UserError(code::X008, "kernel \"" + name_ + "\" failed with code " + std::to_string(code) + ": " +
                                    lathe_last_error());
  }
}

Module Module::open(const std::string& path) {
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    const char* why = dlerror();
    std::string text = "module \"" + path + "\": " + (why == nullptr ? "cannot be loaded" : why);
    if (text.find("undefined symbol: lathe_runtime_abi_") != std::string::npos)
      throw UserError(code::X006,
                      text + "; it was built for another runtime ABI than " +
                          std::to_string(lathe_runtime_abi()) +
                          ", or finds no runtime: link the program with ENABLE_EXPORTS (-rdynamic)");
    if (text.find("undefined symbol: lathe_") != std::string::npos) {
      text +=
          "; link the program with ENABLE_EXPORTS (-rdynamic), or the module with the shared lathe::runtime";
    }
    throw UserError(code::X005, text);
  }
  std::shared_ptr<void> handle(loaded, [](void* library) { dlclose(library); });
  const auto* abi = static_cast<const std::int32_t*>(dlsym(loaded, LATHE_MODULE_ABI_SYMBOL));
  if (abi == nullptr) {
    throw UserError(code::X006, "module \"" + path +
                                    "\": is no module of Lathe's kernels (it does not export " +
                                    LATHE_MODULE_ABI_SYMBOL + ")");
  }
  if (*abi != lathe_runtime_abi()) {
    throw UserError(code::X006, "module \"" + path + "\": was built for runtime ABI " + std::to_string(*abi) +
                                    ", this runtime has " + std::to_string(lathe_runtime_abi()) +
                                    "; build it again with this Lathe");
  }
  return Module(path, std::move(handle));
}

void* Module::symbol(const std::string& name) const { return dlsym(handle_.get(), name.c_str()); }

bool Module::has(const std::string& name) const { return symbol(name + "_kernel") != nullptr; }

Kernel Module::kernel(const std::string& name) const {
  void* found = symbol(name + "_kernel");
  if (found == nullptr)
    throw UserError(code::X007, "module \"" + path_ + "\": has no kernel \"" + name + "\"");
  return Kernel(name, reinterpret_cast<lathe_kernel>(found), handle_);
}

std::span<const RuntimeSymbol> runtime_symbols() {
  // Naming them here also makes a static link keep them for modules that are loaded later.
  static const RuntimeSymbol symbols[] = {
      {"lathe_check_overlap", reinterpret_cast<void*>(&lathe_check_overlap)},
      {"lathe_check_scalar", reinterpret_cast<void*>(&lathe_check_scalar)},
      {"lathe_check_tensor", reinterpret_cast<void*>(&lathe_check_tensor)},
      {"lathe_cpu_features", reinterpret_cast<void*>(&lathe_cpu_features)},
      {"lathe_last_error", reinterpret_cast<void*>(&lathe_last_error)},
      {"lathe_last_error_code", reinterpret_cast<void*>(&lathe_last_error_code)},
      {"lathe_num_threads", reinterpret_cast<void*>(&lathe_num_threads)},
      {"lathe_parallel_launch", reinterpret_cast<void*>(&lathe_parallel_launch)},
      {"lathe_runtime_abi", reinterpret_cast<void*>(&lathe_runtime_abi)},
      {"lathe_runtime_abi_1", const_cast<std::int32_t*>(&LATHE_RUNTIME_ABI_SYMBOL)},
      {"lathe_set_error", reinterpret_cast<void*>(&lathe_set_error)},
      {"lathe_workspace_alloc", reinterpret_cast<void*>(&lathe_workspace_alloc)},
      {"lathe_workspace_free", reinterpret_cast<void*>(&lathe_workspace_free)},
  };
  return symbols;
}

}  // namespace lathe::runtime
