#pragma once
// The CPU that code is generated for, as LLVM names it, and what emission asks of it.

#include <string>

namespace lathe::codegen::cpu {

/// Never the host's unless the target is the host: a build for another machine must not depend on this one.
struct Machine {
  std::string triple;    ///< "x86_64-unknown-linux-gnu"
  std::string cpu;       ///< "znver3", "x86-64", …
  std::string features;  ///< "+avx2,+fma,-avx512f", on top of what the CPU's name implies
};

/// This machine with all its features.
Machine host_machine();

/// What the instruction set has. Emission chooses between forms by these alone.
struct Features {
  bool x86 = false;
  bool fma = false;       ///< a*b + c rounded once, in one instruction
  bool f16c = false;      ///< conversions between f16 and f32
  bool round = false;     ///< floor, ceil, trunc, round to even as instructions
  bool wide = false;      ///< 512-bit vectors
  int vector_bytes = 16;  ///< of the widest native vector
};

}  // namespace lathe::codegen::cpu
