#include "lathe/emit.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "codegen/llvm/compile.h"
#include "driver/c_header.h"
#include "driver/code_options.h"
#include "support/error_codes/codegen.h"

namespace lathe {
namespace {

void check_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!driver::is_c_identifier(name))
      throw UserError(code::C003,
                      "kernel \"" + name +
                          "\": a C function cannot have this name; nothing was written. Name the program by "
                          "letters, digits and underscores");
    for (const char* suffix : {"", "_dlpack", "_kernel"})
      if (!seen.insert(name + suffix).second)
        throw UserError(code::C003, "kernel \"" + name +
                                        "\": two functions of the object would be called \"" + name + suffix +
                                        "\"; nothing was written. Rename one of the programs");
  }
}

/// Writes beside the place and renames, so that nobody sees half a file.
void write_file(const std::string& path, const char* data, std::size_t size) {
  const std::string draft = path + ".part";
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file.write(data, static_cast<std::streamsize>(size));
  file.close();
  std::error_code problem;
  if (file) std::filesystem::rename(draft, path, problem);
  if (!file || problem) {
    std::error_code ignored;
    std::filesystem::remove(draft, ignored);
    throw UserError(code::C004, "file \"" + path + "\" cannot be written" +
                                    (problem ? ": " + problem.message() : std::string()) +
                                    "; does its folder exist, and may it be written?");
  }
}

}  // namespace

EmittedKernels emit_kernels(const std::vector<Program>& programs, const Target& target,
                            const std::string& module_name, const EmitOptions& options) {
  EmittedKernels out;
  for (const Program& program : programs) out.names.push_back(options.prefix + program->name);
  check_names(out.names);
  std::vector<codegen::cpu::ModuleKernel> kernels;
  std::vector<driver::HeaderKernel> declared;
  const codegen::cpu::Machine machine = driver::machine_for(target);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    kernels.push_back({out.names[i], programs[i], driver::lowered(programs[i], target, options.compile)});
    declared.push_back({out.names[i], programs[i]});
  }
  codegen::cpu::Options code_options = driver::codegen_options(target);
  code_options.hidden = options.hidden;
  codegen::cpu::ModuleObject object =
      codegen::cpu::compile_module(kernels, module_name, machine, code_options);
  out.object = std::move(object.bytes);
  out.needs = std::move(object.needs);
  out.header = driver::c_header(module_name, target, declared, out.needs);
  return out;
}

EmittedKernels emit_object(const std::vector<Program>& programs, const Target& target,
                           const std::string& path, const EmitOptions& options) {
  EmittedKernels out =
      emit_kernels(programs, target, std::filesystem::path(path).filename().string(), options);
  write_file(path + ".o", out.object.data(), out.object.size());
  write_file(path + ".h", out.header.data(), out.header.size());
  return out;
}

}  // namespace lathe
