#pragma once
// What the lists of unseen programs are written with.

#include "support/unseen/programs.h"

namespace lathe::test {

using I = std::int64_t;

inline I of(Scale scale, I large, I small) { return scale == Scale::Large ? large : small; }
inline Tensor input(std::string name, std::vector<Expr> shape) {
  return placeholder(std::move(name), std::move(shape), f32);
}
inline Tensor weights(std::string name, std::vector<Expr> shape) {
  return placeholder(std::move(name), std::move(shape), f32, Constant);
}
inline Expr gelu(Expr v) { return v * (0.5f * (1.f + erf(v * 0.70710678f))); }

inline void add(std::vector<UnseenProgram>& all, std::string name, double operations, std::string like,
                std::function<Program(Scale)> build) {
  all.push_back({std::move(name), std::move(build), operations, std::move(like)});
}

void add_operands(std::vector<UnseenProgram>& all);
void add_windows(std::vector<UnseenProgram>& all);
void add_reductions(std::vector<UnseenProgram>& all);
void add_chains(std::vector<UnseenProgram>& all);

}  // namespace lathe::test
