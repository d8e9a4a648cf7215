#pragma once
// Where an implementation joins the benchmarks.
//
// For every case of a group the harness asks each registered peer, and ours, for a Callable, checks that all
// outputs agree, and times them in rotation. Ours joins like this, in a file of tests/bench/ours/ (globbed,
// no CMake edit):
//
//   #include "kernel.h"
//
//   static const bool joined = register_ours("default", "GMM", [](const Problem& p) -> std::optional<Callable> {
//     Schedule s = ...;                                                     // all of this is outside the timing
//     return kernel_callable(p, compile(s, Target::host()));
//   });
//
// The key "*" takes every case of the group that has no entry of its own; std::nullopt leaves the row's
// `ours` null. `p.threads` says how many threads the kernel may use: when it is called, the calling thread is
// pinned to one CPU and every other thread of the process to the remaining ones, so a pool has only to exist
// before the first call returns. `p.what.prepared` says whether constant operands may be laid out ahead.
//
// A group whose figures have no peers and no common form (`compile`: milliseconds, bytes) registers a
// Measurement instead, which returns finished rows.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "problem.h"

namespace lathe::bench {

/// One implementation of one problem, ready to run.
struct Callable {
  std::string name;
  /// Runs `count` times and returns the seconds that took. An implementation in a process of its own keeps
  /// its own clock.
  std::function<double(int count)> sample;
  /// The output of the last run, in the problem's row-major layout; empty when it cannot be had.
  std::function<std::vector<float>()> result;
  /// Candidates measured to find the schedule, where it was tuned.
  std::optional<int> trials;
};

/// A callable from a function that computes the problem once into `output` (row-major).
Callable make_callable(std::string name, std::function<void()> run, Buffer output);
/// The same for an output in a layout of the implementation's own.
Callable make_callable(std::string name, std::function<void()> run,
                       std::function<std::vector<float>()> result);

/// The fastest (`min`) and median time of a call, in the row's unit.
struct Figure {
  double min = 0;
  double median = 0;
};

/// The faster of two minima, and of two medians.
Figure better(const Figure& a, const Figure& b, Unit unit);

struct Row {
  std::string group, key, what;
  int threads = 1;
  Unit unit = Unit::GflopsPerSecond;
  std::optional<Figure> ours;
  std::map<std::string, Figure> peers;
  std::optional<int> trials;
  /// Implementations whose output disagreed with the others'; they have no figure.
  std::vector<std::string> wrong;

  /// The best peer's name, empty when there is none.
  std::string best_peer() const;
  /// Ours over the best peer, by minima; above 1 is better for us.
  std::optional<double> ratio() const;
};

using Ours = std::function<std::optional<Callable>(const Problem&)>;
using Peer = std::function<std::vector<Callable>(const Problem&)>;

struct MeasureOptions {
  bool quick = false;
  int threads = 1;
};
using Measurement = std::function<std::vector<Row>(const MeasureOptions&)>;

bool register_ours(const std::string& group, const std::string& key, Ours make);
bool register_peer(const std::vector<std::string>& keys, Peer make);
/// `version` names a peer and its version, e.g. "OpenBLAS 0.3.21, core Zen"; "" when it is not on this
/// machine.
bool register_version(std::function<std::string()> version);
bool register_measurement(const std::string& group, Measurement measure);

std::optional<Callable> make_ours(const std::string& group, const Problem& problem);
std::vector<Callable> make_peers(const Problem& problem);
std::vector<std::string> peer_versions();
std::vector<Row> run_measurements(const std::string& group, const MeasureOptions& options);

}  // namespace lathe::bench
