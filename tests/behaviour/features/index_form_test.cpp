// How far a subscript moves and how many values it takes, against counting.
#include "tuner/features/index_form.h"

#include <set>

using namespace lathe;
using namespace lathe::tuner;

namespace {

const std::vector<std::int64_t> Extents{3, 4, 5};

struct Nest {
  Var i{"i"}, j{"j"}, k{"k"};
  Bindings bindings;
  Nest() {
    bindings.bind_loop(i.node(), 0);
    bindings.bind_loop(j.node(), 1);
    bindings.bind_loop(k.node(), 2);
  }
  IndexForm form(const Expr& e) const { return index_form(e, bindings, Extents, 100); }
};

std::int64_t evaluate(const Expr& e, const std::map<const VarNode*, std::int64_t>& at) {
  if (auto v = as_int(e)) return *v;
  if (e.kind() == ExprKind::Var) return at.at(static_cast<const VarNode*>(e.get()));
  const Binary& b = *e.as<Binary>();
  const std::int64_t x = evaluate(b.a, at), y = evaluate(b.b, at);
  switch (b.op) {
    case BinaryOp::Add: return x + y;
    case BinaryOp::Sub: return x - y;
    case BinaryOp::Mul: return x * y;
    case BinaryOp::FloorDiv: return x >= 0 ? x / y : -((-x + y - 1) / y);
    case BinaryOp::FloorMod: return ((x % y) + y) % y;
    default: FAIL("unexpected operator"); return 0;
  }
}

/// Distinct values while the loops from `level` on run, the others at 0.
std::size_t count(const Nest& n, const Expr& e, std::size_t level) {
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < (level <= 0 ? Extents[0] : 1); ++i) {
    for (std::int64_t j = 0; j < (level <= 1 ? Extents[1] : 1); ++j) {
      for (std::int64_t k = 0; k < (level <= 2 ? Extents[2] : 1); ++k) {
        seen.insert(evaluate(e, {{n.i.node(), i}, {n.j.node(), j}, {n.k.node(), k}}));
      }
    }
  }
  return seen.size();
}

}  // namespace

TEST_CASE("subscripts that tile, shift and split take the values that counting finds") {
  const Nest n;
  const Expr exact[] = {n.i * 20 + n.j * 5 + n.k,
                        n.i,
                        n.k * 2,
                        n.j + n.k,
                        n.j * 2 + n.k,
                        Expr(7),
                        floordiv(n.i * 20 + n.k, 20),
                        n.i - n.j,
                        floormod(n.j * 5 + n.k, 20),
                        floordiv(n.j * 5 + n.k, 5) * 3,
                        floormod(n.k, 8)};
  for (const Expr& e : exact) {
    const IndexForm form = n.form(e);
    for (std::size_t level = 0; level <= 3; ++level) {
      INFO(to_string(e) << " from level " << level);
      CHECK(form.values(level, Extents) == static_cast<double>(count(n, e, level)));
    }
  }
}

TEST_CASE("what is not affine is estimated within one value a part") {
  const Nest n;
  for (const Expr& e : {floordiv(n.j * 5 + n.k, 7), floormod(n.j * 5 + n.k, 7), floordiv(n.i * 4 + n.j, 3)}) {
    for (std::size_t level = 0; level <= 3; ++level) {
      INFO(to_string(e) << " from level " << level);
      CHECK(std::abs(n.form(e).values(level, Extents) - static_cast<double>(count(n, e, level))) <= 1);
    }
  }
}

TEST_CASE("the stride of a loop is what its second iteration adds") {
  const Nest n;
  const IndexForm form = n.form(n.i * 20 - n.k + floormod(n.j * 5, 8) + floordiv(n.j * 12, 5));
  CHECK(form.stride(0) == 20);
  CHECK(form.stride(1) == 5 + 2);
  CHECK(form.stride(2) == -1);
}

TEST_CASE("variables are followed through their definitions") {
  Nest n;
  Var block("block");
  n.bindings.bind(block.node(), n.j * 5 + n.k);
  const IndexForm form = n.form(block * 3);
  CHECK(form.stride(1) == 15);
  CHECK(form.stride(2) == 3);
}

TEST_CASE("a subscript from memory may go anywhere") {
  const Nest n;
  const Buffer at("at", index_type, {Expr(5)});
  const IndexForm form = n.form(load(at, {n.k}));
  CHECK(form.values(0, Extents) == 100);
  CHECK(form.values(3, Extents) == 1);
}
