#pragma once
// A copy of a statement with loop variables, let variables and buffers of its own: each is defined once in a program.

#include "ir/visitor.h"

namespace lathe::lower {

Stmt renew(const Stmt& stmt);

/// The buffer with another shape.
Buffer reshaped(const Buffer& buffer, std::vector<Expr> shape);

}  // namespace lathe::lower
