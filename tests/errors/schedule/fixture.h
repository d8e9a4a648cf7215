#pragma once
// The program whose scheduling goes wrong: a matrix product, and what is made of it.

#include "lathe/lathe.h"
#include "support/error_text.h"

namespace lathe::test {

struct Bad {
  Tensor a = placeholder("A", {10, 30}, f32), b = placeholder("B", {30, 20}, f32);
  Axis r = reduce_axis(30, "k");
  Tensor c = compute("C", {10, 20}, [&](Var i, Var j) { return sum(a(i, r) * b(r, j), {r}); });
  Tensor d = compute("D", {10, 20}, [&](Var i, Var j) { return c(i, j) + 1.f; });
  Tensor e = compute("E", {10, 20}, [&](Var i, Var j) { return max(d(i, j), 0.f); });
  Schedule s{program("p", {a, b}, {e})};
  BlockRef C = s.block(c), D = s.block(d), E = s.block(e);

  /// The text of what `change` throws; the schedule must be as before.
  std::string refused(const std::function<void()>& change) {
    const Program before = s.program();
    const std::size_t steps = s.trace().steps.size();
    std::string text = error_text(change);
    if (!s.program().same_as(before) || s.trace().steps.size() != steps)
      text += "\nAND THE SCHEDULE HAS CHANGED";
    return text;
  }
};

}  // namespace lathe::test
