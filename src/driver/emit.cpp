#include "lathe/emit.h"

#include <filesystem>

#include "codegen/llvm/compile.h"
#include "driver/c_header.h"
#include "driver/code_options.h"
#include "driver/files.h"
#include "support/error_codes/codegen.h"

namespace lathe {
EmittedKernels emit_kernels(const std::vector<Program>& programs, const Target& target,
                            const std::string& module_name, const EmitOptions& options) {
  EmittedKernels out;
  std::vector<driver::CKernel> shown;
  for (const Program& program : programs) {
    verify(program, target);
    const PreparedProgram divided = divide_prepared(program);
    for (driver::CKernel& kernel :
         driver::c_kernels(options.prefix + program->name, divided, driver::prepared_bytes(divided)))
      shown.push_back(std::move(kernel));
  }
  for (const driver::CKernel& kernel : shown) out.names.push_back(kernel.name);
  driver::check_names(out.names);
  std::vector<codegen::cpu::ModuleKernel> kernels;
  const codegen::cpu::Machine machine = driver::machine_for(target);
  for (const driver::CKernel& kernel : shown)
    kernels.push_back(
        {kernel.name, kernel.name, kernel.shown, driver::lowered(kernel.scheduled, target, options.compile)});
  codegen::cpu::Options code_options = driver::codegen_options(target);
  code_options.hidden = options.hidden;
  codegen::cpu::ModuleObject object =
      codegen::cpu::compile_module(kernels, module_name, machine, code_options);
  out.object = std::move(object.bytes);
  out.needs = std::move(object.needs);
  out.header = driver::c_header(module_name, "the target \"" + target.name + "\"", shown, out.needs);
  return out;
}

EmittedKernels emit_object(const std::vector<Program>& programs, const Target& target,
                           const std::string& path, const EmitOptions& options) {
  EmittedKernels out =
      emit_kernels(programs, target, std::filesystem::path(path).filename().string(), options);
  driver::write_file(path + ".o", {out.object.data(), out.object.size()});
  driver::write_file(path + ".h", out.header);
  return out;
}

}  // namespace lathe
