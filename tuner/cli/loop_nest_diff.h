#pragma once
// What changed from one form of a program to the next.
//
//       for i in 0..20:
//     -   for j in 0..16:
//     +   for j_0 in 0..2:
//     +     for j_1 in 0..8:
//             block C(vi: i, vj: j_0*8 + j_1)          (marked, too: its binding changed)
//               C[vi, vj] = A[vi, vj] + 1.f
//
// Two lines are the same when they say the same of the same variables, buffers and blocks: what a new loop further in merely
// shifted, or renamed because it took the name, did not change.

#include <string>

#include "lathe/program.h"

namespace lathe::command_line {

/// The lines of `after`, marked '+' where they are new, between those of `before` that went, marked '-'.
std::string loop_nest_diff(const Program& before, const Program& after);

}  // namespace lathe::command_line
