// Unrolled loops: the body once for each iteration, with the variable put in.

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/visitor.h"
#include "lower/passes.h"
#include "lower/renew.h"

namespace lathe::lower {
namespace {

/// Copies of the innermost statements at most; beyond it a loop stays a loop (compile time is superlinear in the body).
constexpr std::int64_t kMaxStatements = 4096;

std::int64_t count_statements(const Stmt& s) {
  std::int64_t n = 0;
  walk(s, [&](const Stmt& x) {
    n += x.as<Store>() || x.as<Evaluate>() || x.as<Let>();
    return true;
  });
  return n;
}

class Unrolling : public Mutator {
 protected:
  using Mutator::mutate_node;
  Stmt mutate_node(const For& n, const Stmt& self) override {
    Stmt body = mutate(n.body);
    if (n.for_kind != ForKind::Unrolled) return with_body(self, body);
    const std::optional<std::int64_t> extent = as_int(n.extent);
    if (!extent || *extent > kMaxStatements / std::max<std::int64_t>(1, count_statements(body))) {
      return make_stmt<For>(n.var, n.extent, ForKind::Serial, body, ThreadAxis::None, n.annotations);
    }
    std::vector<Stmt> copies;
    for (std::int64_t i = 0; i < *extent; ++i) {
      Stmt once = substitute(body, {{n.var.node(), make_index(i)}});
      copies.push_back(i == 0 ? once : renew(once));
    }
    return make_seq(std::move(copies));
  }
};

}  // namespace

Program unroll(const Program& program, const Target&, const Options& options) {
  if (!options.unroll) {
    return program.with_body(rewrite(program->body, [](const Stmt& s) -> Stmt {
      const For* loop = s.as<For>();
      if (!loop || loop->for_kind != ForKind::Unrolled) return {};
      return make_stmt<For>(loop->var, loop->extent, ForKind::Serial, loop->body, ThreadAxis::None,
                            loop->annotations);
    }));
  }
  return program.with_body(Unrolling().mutate(program->body));
}

}  // namespace lathe::lower
