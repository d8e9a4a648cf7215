#include "driver/c_kernels.h"

#include "arith/analyzer.h"

namespace lathe::driver {
namespace {

/// The parameters that `prepare` writes, or that the kernel reads in the constants' places.
std::vector<std::size_t> prepared_positions(const PreparedProgram& program, bool in_kernel) {
  std::vector<std::size_t> out;
  const std::vector<Param>& params = (in_kernel ? program.kernel : program.prepare)->params;
  std::size_t buffer = 0, next = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i].buffer) continue;
    if (in_kernel ? next < program.constants.size() && buffer == program.constants[next]
                  : params[i].role == ParamRole::Output) {
      out.push_back(i);
      ++next;
    }
    ++buffer;
  }
  return out;
}

/// The program with these parameters as bytes.
Program opaque(const Program& program, const std::vector<std::size_t>& positions,
               const std::vector<std::string>& names, const std::vector<Expr>& bytes) {
  std::vector<Param> params = program->params;
  for (std::size_t i = 0; i < positions.size(); ++i)
    params[positions[i]].buffer = Buffer(names[i], u8, {bytes[i]});
  return Program(program->name, std::move(params), {}, program->body);
}

}  // namespace

std::vector<Expr> prepared_bytes(const PreparedProgram& program) {
  std::vector<Expr> out;
  if (!program.prepare) return out;
  for (std::size_t at : prepared_positions(program, /*in_kernel=*/false)) {
    const Buffer& buffer = program.prepare->params[at].buffer;
    Expr bytes = make_index(buffer->dtype.bytes());
    for (const Expr& extent : buffer->shape) bytes = arith::mul(bytes, extent);
    out.push_back(arith::simplify(bytes));
  }
  return out;
}

std::vector<CKernel> c_kernels(const std::string& name, const PreparedProgram& program,
                               const std::vector<Expr>& bytes) {
  std::vector<CKernel> out;
  std::vector<std::string> names;
  if (program.prepare) {
    for (const Param& p : program.prepare->params)
      if (p.role == ParamRole::Constant) names.push_back(p.name() + "_prepared");
    out.push_back({name + "_prepare",
                   opaque(program.prepare, prepared_positions(program, /*in_kernel=*/false), names, bytes),
                   program.prepare, true});
  }
  out.push_back({name, opaque(program.kernel, prepared_positions(program, /*in_kernel=*/true), names, bytes),
                 program.kernel, false});
  return out;
}

}  // namespace lathe::driver
