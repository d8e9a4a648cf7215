// Building index expressions with the obvious folding.

#include "arith/checked.h"
#include "arith/sum.h"

namespace lathe::arith {

Expr add(const Expr& a, const Expr& b) {
  const auto x = as_int(a), y = as_int(b);
  std::int64_t sum;
  if (x && *x == 0) return b;
  if (y && *y == 0) return a;
  if (x && y && checked_add(*x, *y, sum)) return make_index(sum);
  return a + b;
}

Expr sub(const Expr& a, const Expr& b) {
  const auto x = as_int(a), y = as_int(b);
  std::int64_t difference;
  if (y && *y == 0) return a;
  if (x && y && checked_sub(*x, *y, difference)) return make_index(difference);
  if (same(a, b)) return make_index(0);
  return a - b;
}

Expr mul(const Expr& a, const Expr& b) {
  const auto x = as_int(a), y = as_int(b);
  std::int64_t product;
  if (x && (*x == 0 || (y && *y == 1))) return a;
  if (y && (*y == 0 || (x && *x == 1))) return b;
  if (x && *x == 1) return b;
  if (y && *y == 1) return a;
  if (x && y && checked_mul(*x, *y, product)) return make_index(product);
  return x ? b * a : a * b;
}

Expr conjunction(const Expr& a, const Expr& b) {
  if (is_true(a)) return b;
  if (is_true(b)) return a;
  return a && b;
}

std::vector<Expr> conjuncts(const Expr& e) {
  std::vector<Expr> out, todo{e};
  while (!todo.empty()) {
    const Expr x = std::move(todo.back());
    todo.pop_back();
    if (const Binary* b = as_binary(x, BinaryOp::And)) {
      todo.push_back(b->b);
      todo.push_back(b->a);
    } else if (!is_true(x)) {
      out.push_back(x);
    }
  }
  return out;
}

Expr ceil_div(const Expr& a, const Expr& b) {
  const auto x = as_int(a), y = as_int(b);
  if (y && *y == 1) return a;
  if (x && y && *y > 0) return make_index(floor_div(*x, *y) + (floor_mod(*x, *y) != 0));
  return floordiv(add(a, sub(b, make_index(1))), b);
}

Expr product(const std::vector<Expr>& factors) {
  Expr p = make_index(1);
  for (const Expr& f : factors) p = mul(p, f);
  return p;
}

}  // namespace lathe::arith
