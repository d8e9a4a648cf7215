#include "tuner/measure/timing.h"

#include <algorithm>
#include <cstddef>

#include "lathe/runtime/timer.h"

namespace lathe::tuner {
namespace {

constexpr std::size_t kMost = 40;
constexpr double kSampleSeconds = 2e-4;
constexpr double kDisturbed = 1.08;

/// About 20 us: long enough to see a lost time slice, short beside a sample.
double yardstick() {
  const runtime::Timer timer;
  volatile double start = 1.0;
  double a = start;
  for (int i = 0; i < 6000; ++i) a = a * 0.999999 + 1e-6;
  start = a;
  return timer.seconds();
}

struct Sample {
  double seconds, yardstick;  ///< the slower of the two beside it
};

std::vector<double> undisturbed(std::vector<Sample> samples, double best, std::size_t least) {
  const auto disturbed = [&](const Sample& s) { return s.yardstick > kDisturbed * best; };
  const auto quiet =
      std::stable_partition(samples.begin(), samples.end(), [&](const Sample& s) { return !disturbed(s); });
  if (quiet - samples.begin() >= static_cast<std::ptrdiff_t>(least)) {
    samples.erase(quiet, samples.end());
  } else {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.yardstick < b.yardstick; });
    if (samples.size() > least) samples.resize(least);
  }
  std::vector<double> seconds;
  for (const Sample& s : samples) seconds.push_back(s.seconds);
  return seconds;
}

/// Drives everything out of the caches.
class Flush {
 public:
  explicit Flush(std::uint64_t bytes) : memory_(bytes / sizeof(std::uint64_t)) {}
  void operator()() {
    for (std::size_t i = 0; i < memory_.size(); i += 8) memory_[i] += i;
  }

 private:
  std::vector<std::uint64_t> memory_;
};

}  // namespace

Samples take_samples(const std::function<void()>& call, const std::function<void()>& prepare,
                     const TimingOptions& options) {
  Flush flush(options.flush_bytes);
  const bool cold = options.flush_bytes > 0;
  // One call that counts for nothing: it says how many make a sample.
  if (prepare) prepare();
  const runtime::Timer first;
  call();
  const double once = first.seconds();
  const int calls =
      cold || options.one_call ? 1 : std::max(1, static_cast<int>(kSampleSeconds / std::max(once, 1e-7)));

  const std::size_t enough = once > options.too_long / 4 ? 1 : 3;
  std::vector<Sample> samples;
  Samples out;
  const runtime::Timer total;
  double before = yardstick();
  out.yardstick = before;
  double fastest = once;
  while (samples.size() < options.least || (samples.size() < kMost && total.seconds() < options.seconds)) {
    if (prepare) prepare();
    if (cold) flush();
    const runtime::Timer timer;
    for (int c = 0; c < calls; ++c) call();
    const double seconds = timer.seconds() / calls;
    const double after = yardstick();
    samples.push_back({seconds, std::max(before, after)});
    before = after;
    out.yardstick = std::min(out.yardstick, after);
    fastest = std::min(fastest, seconds);
    if (options.give_up_above > 0 && samples.size() >= 2 && fastest > 3 * options.give_up_above) break;
    if (total.seconds() > options.too_long && samples.size() >= enough) break;
  }
  out.seconds = undisturbed(std::move(samples), out.yardstick, options.least);
  return out;
}

void append(Samples& all, const Samples& more) {
  all.seconds.insert(all.seconds.end(), more.seconds.begin(), more.seconds.end());
  all.yardstick = all.yardstick > 0 ? std::min(all.yardstick, more.yardstick) : more.yardstick;
}

}  // namespace lathe::tuner
