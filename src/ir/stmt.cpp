#include "lathe/stmt.h"

#include <iterator>

#include "lathe/program.h"

namespace lathe {
namespace {

constexpr const char* kAxes[] = {
    "", "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"};

}  // namespace

const char* spelling(ForKind kind) {
  static const char* const names[] = {"serial", "parallel", "vectorized", "unrolled", "thread"};
  return names[static_cast<int>(kind)];
}

const char* spelling(ThreadAxis axis) { return kAxes[static_cast<int>(axis)]; }

std::optional<ThreadAxis> thread_axis_named(std::string_view text) {
  for (int i = 1; i < static_cast<int>(std::size(kAxes)); ++i) {
    if (text == kAxes[i]) return static_cast<ThreadAxis>(i);
  }
  return std::nullopt;
}

const char* spelling(ParamRole role) {
  static const char* const names[] = {"input", "constant", "output", "inout", "size"};
  return names[static_cast<int>(role)];
}

Stmt make_seq(std::vector<Stmt> stmts) {
  std::vector<Stmt> flat;
  for (Stmt& s : stmts) {
    if (const Seq* inner = s.as<Seq>()) {
      flat.insert(flat.end(), inner->stmts.begin(), inner->stmts.end());
    } else {
      flat.push_back(std::move(s));
    }
  }
  return flat.size() == 1 ? flat[0] : make_stmt<Seq>(std::move(flat));
}

Expr true_expr() {
  static const Expr value = make_int(boolean, 1);
  return value;
}

Program::Program(std::string name, std::vector<Param> params, std::vector<Buffer> temps, Stmt body) {
  auto* node = new ProgramNode;
  node->name = std::move(name);
  node->params = std::move(params);
  node->temps = std::move(temps);
  node->body = std::move(body);
  *this = Program(node);
}

Program Program::with_body(Stmt body) const { return with_body(std::move(body), (*this)->temps); }

Program Program::with_body(Stmt body, std::vector<Buffer> temps) const {
  return Program((*this)->name, (*this)->params, std::move(temps), std::move(body));
}

}  // namespace lathe
