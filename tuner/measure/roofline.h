#pragma once
// How fast could it be at best? A bound from arithmetic and memory traffic, to show beside the times of a session.
//
// Williams, Waterman, Patterson: Roofline (CACM 2009).

#include "lathe/program.h"
#include "lathe/target.h"

namespace lathe::tuner {

/// What a program does at least. An operation is + - * / min max, a function counts one; a sum of products two a term.
struct Work {
  double operations = 0;  ///< on floats
  double bytes = 0;       ///< of all parameters, each moved once
  int bits = 32;          ///< of the widest float
};
/// Of the unscheduled program; 0 operations where extents are not constant.
Work work_of(const Program& program);

/// What this machine reaches, measured in a few milliseconds.
struct Machine {
  double clock = 0;      ///< cycles a second, from a chain of dependent multiplications
  double bandwidth = 0;  ///< bytes a second read by one thread from a block larger than the last cache
};
Machine measure_machine(const Target& target);

/// Seconds: the slower of arithmetic, at two vector multiply-adds a cycle and core, and of memory traffic where the
/// parameters are larger than the last cache.
double roofline_seconds(const Work& work, const Target& target, const Machine& machine, int threads);

}  // namespace lathe::tuner
