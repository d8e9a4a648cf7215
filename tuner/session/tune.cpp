// A tuning session: random and evolutionary choice over the rules' open decisions.
//
// A candidate is a list of choices, one for each `sample_*` step in order; the rules are run again for each, so a changed
// choice may change the steps behind it. The first candidate is the default schedule. Then about a third are random, the
// others mutate one or two choices of one of the best. What gives the same scheduled program is measured once.

#include <algorithm>
#include <set>

#include "lathe/runtime/timer.h"
#include "lathe/tuner.h"

namespace lathe {
namespace {

constexpr int kElite = 8;
constexpr int kFruitlessProposals = 200;  ///< the space is exhausted when so many in a row were known

/// splitmix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

using Choice = std::vector<std::size_t>;

struct Candidate {
  Choice choice;
  double seconds = 0;
};

class Session {
 public:
  Session(const Workload& workload, const Target& target, const TuneOptions& options, RecordStore& store)
      : workload_(workload),
        target_(target),
        options_(options),
        store_(store),
        random_(options.seed),
        key_(store.intern(record_key(workload, target))) {}

  TuneResult run() {
    records::Session description;
    description.seed = options_.seed;
    description.budget_trials = options_.trials;
    description.budget_seconds = options_.seconds;
    const Digest session = store_.begin_session(description);
    if (options_.resume) {
      for (const records::Measured& m : store_.measured(key_)) known_.insert(m.candidate);
    }
    int fruitless = 0;
    try {
      for (int trial = 0; trial < options_.trials;) {
        if (options_.stop && options_.stop()) {
          result_.interrupted = true;
          break;
        }
        if (options_.seconds > 0 && clock_.seconds() > options_.seconds) break;
        if (fruitless > kFruitlessProposals) break;
        if (!step(trial, session)) {
          ++fruitless;
          continue;
        }
        fruitless = 0;
        ++trial;
      }
    } catch (...) {
      store_.end_session(session, records::SessionState::Failed, "an error ended it");
      throw;
    }
    store_.end_session(
        session, result_.interrupted ? records::SessionState::Interrupted : records::SessionState::Finished,
        result_.interrupted ? "stopped by the user" : "budget spent");
    return result_;
  }

 private:
  /// Proposes, measures and commits one candidate; false when it was known already.
  bool step(int trial, const Digest& session) {
    Choice choice = propose(trial);
    Choice taken;
    Schedule s(workload_.program,
               [&](const Instruction&, const std::vector<std::vector<std::int64_t>>& options) {
                 const std::size_t at = taken.size();
                 const std::size_t pick = at < choice.size() ? choice[at] % options.size()
                                          : at_random_       ? random_.below(options.size())
                                                             : 0;
                 taken.push_back(pick);
                 sizes_.resize(std::max(sizes_.size(), taken.size()));
                 sizes_[at] = options.size();
                 return pick;
               });
    workload_.apply_schedule(s, target_, Choices::Open);
    const StructuralHash hash = structural_hash(s.program());
    const Digest scheduled = hash;
    if (!known_.insert(scheduled).second) return false;

    const Measurement m = measure_in_child(workload_.program, s.trace(), target_, options_.worker_command,
                                           options_.trial_timeout, best_.empty() ? 0 : best_.front().seconds);
    records::Trial record;
    record.key = key_;
    record.trace = s.trace().to_json(true);
    record.scheduled = scheduled;
    record.failure = m.failure;
    record.error_code = m.error_code;
    record.error_text = m.error_text;
    record.provenance = this_provenance();
    record.times = m.failure == records::Failure::None ? m.seconds : std::vector<double>();
    record.regime = records::Regime::Warm;
    record.seed = options_.seed;
    record.proposal = trial;
    record.verification = {m.failure == records::Failure::None, m.max_error, 1.0, "unscheduled"};
    const records::Trial batch[] = {record};
    store_.commit(session, batch, "{}");

    ++result_.measured;
    std::string last;
    if (m.failure != records::Failure::None) {
      ++result_.failed;
      const std::string kind(records::to_string(m.failure));
      ++result_.failures[kind];
      if (result_.first_error.empty()) result_.first_error = m.error_text;
      last = kind;
    } else {
      best_.push_back({taken, m.p10()});
      std::sort(best_.begin(), best_.end(),
                [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
      if (best_.size() > kElite) best_.resize(kElite);
      if (trial == 0) result_.default_ms = m.p10() * 1e3;
      result_.best_ms = best_.front().seconds * 1e3;
      last = std::to_string(m.p10() * 1e3) + " ms";
    }
    if (options_.on_trial) {
      TuneProgress p;
      p.trial = trial + 1;
      p.trials = options_.trials;
      p.seconds = clock_.seconds();
      p.best_ms = result_.best_ms;
      p.default_ms = result_.default_ms;
      p.failures = result_.failed;
      p.last = last;
      options_.on_trial(p);
    }
    return true;
  }

  Choice propose(int trial) {
    at_random_ = false;
    if (trial == 0 && !options_.resume) return {};
    if (best_.empty() || random_.below(100) < 30) {
      at_random_ = true;
      return {};
    }
    Choice c = best_[random_.below(std::min<std::size_t>(best_.size(), kElite))].choice;
    for (std::size_t n = 1 + random_.below(2); n > 0 && !c.empty(); --n) {
      const std::size_t at = random_.below(c.size());
      c[at] = random_.below(std::max<std::size_t>(1, sizes_[at]));
    }
    return c;
  }

  const Workload& workload_;
  const Target& target_;
  const TuneOptions& options_;
  RecordStore& store_;
  Random random_;
  records::KeyRef key_;
  runtime::Timer clock_;
  std::set<Digest> known_;
  std::vector<Candidate> best_;
  std::vector<std::size_t> sizes_;  ///< options of each choice, as last seen
  bool at_random_ = false;
  TuneResult result_;
};

}  // namespace

TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store) {
  return Session(workload, target, options, store).run();
}

}  // namespace lathe
