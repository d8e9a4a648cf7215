#pragma once
// Buffers of which each iteration of a parallel, vectorised or bound loop has its own.
//
//     parallel i:                          parallel i:
//       P[…] = …                    =>       P[…] = …
//       X[i] = f(P)                        Y[j] = g(f(P))
//     Y[j] = g(X[j])
//
// A primitive that takes the last access out of the loop makes the buffer one that all iterations share. That is right only
// when they write different elements of it.

#include "schedule/edit.h"

namespace lathe::schedule {

/// Refuses the step when such a buffer would be written by several iterations at once.
void need_private_or_separate(const Edit& edit);

}  // namespace lathe::schedule
