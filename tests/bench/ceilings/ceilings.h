#pragma once
// What the machine can do at most, measured in the same run as everything that is compared with it.

#include <map>
#include <string>

namespace lathe::bench {

/// Figures by number of threads.
using ByThreads = std::map<int, double>;

struct Ceilings {
  ByThreads fma_gflops;  ///< f32 multiply-adds, two operations each
  /// GB/s by array size ("1MB" ... "256MB"); a copy counts the bytes read and those written.
  std::map<std::string, ByThreads> read_gbs, copy_gbs, nt_copy_gbs;
};

/// Measures them for 1 to `threads` threads (powers of two and `threads` itself).
Ceilings measure_ceilings(int threads, bool quick);

/// f32 operations a second of independent multiply-adds on this thread, in GF/s; the widest vectors this CPU
/// has.
double fma_gflops_once();

}  // namespace lathe::bench
