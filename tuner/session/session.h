#pragma once
// One workload's tuning session, a round at a time.
//
//   default schedule, then seeds (records of the same key and of similar workloads), then rounds:
//     strategy proposes -> same scheduled program as before? take the known time : verify -> measure -> commit -> observe
//
// Everything that a candidate's choice depends on is the seed and the observed times, in order: the same both give the same
// proposals. A round is committed as one transaction, so a killed session loses at most the batch in flight.

#include <memory>
#include <optional>
#include <unordered_map>

#include "lathe/runtime/timer.h"
#include "lathe/tuner.h"
#include "tuner/measure/measurer.h"
#include "tuner/search/schedule_space.h"
#include "tuner/search/strategy.h"

namespace lathe::tuner {

/// The rules that `options` ask for: the workload's own, the library's, the caller's.
std::vector<Rule> rules_for(const Workload& workload, const Target& target, const TuneOptions& options);

class Session {
 public:
  /// The arguments outlive the session. Throws UserError LTH-U020 for a workload with sizes known at run time only.
  Session(const Workload& workload, const Target& target, const TuneOptions& options, RecordStore& store,
          Measurer& measurer, const std::string& group = {});
  ~Session();

  /// Measures at most `trials` new candidates. False when the session is over (result().reason says why).
  bool round(int trials);
  /// Notes why the session ended, in the store too.
  void finish(const std::string& reason, records::SessionState state);

  bool over() const { return over_; }
  const TuneResult& result() const { return result_; }
  TuneResult& result() { return result_; }
  /// Seconds of the best verified candidate; 0: none yet.
  double best() const { return best_; }
  const std::vector<double>& best_by_round() const { return best_by_round_; }

 private:
  struct Pick {
    std::optional<Point> point;  ///< nothing: the default schedule, when it is no point of the space
    Candidate candidate;
  };

  void take_up(const records::Session& left);
  double spent() const;
  bool counts_here(const records::Trial& trial) const;
  void learn_from_store();
  void lead_with(const records::Trial& trial);
  std::unique_ptr<Strategy> make_strategy();
  std::vector<Point> seeds() const;
  void propose(int trials, std::vector<Pick>& picks, std::vector<Observation>& known);
  bool add(std::vector<Pick>& picks, std::vector<Observation>& known, std::optional<Point> point, Trace trace,
           const Program& program);
  void measure(std::vector<Pick>& picks, std::vector<Observation>& observations);
  void settle(const std::vector<Candidate>& candidates, std::vector<Measurement>& results,
              const MeasureOptions& how);
  void record(const Pick& pick, const Measurement& measurement, std::vector<records::Trial>& batch);
  void tell(const Measurement& measurement);
  bool stop_if_hopeless();

  const Workload& workload_;
  const Target& target_;
  const TuneOptions& options_;
  RecordStore& store_;
  Measurer& measurer_;
  Task task_;
  ScheduleSpace space_;
  records::KeyRef key_;
  Digest uid_;
  runtime::Timer clock_;
  std::unique_ptr<Strategy> strategy_;
  std::unordered_map<std::uint64_t, std::optional<double>>
      measured_;                      ///< by the program's hash; nothing: it failed
  std::vector<Observation> waiting_;  ///< proposals of this round that share a program with one in flight
  TuneResult result_;
  std::optional<Candidate> default_;  // the default schedule, where its time is known
  std::optional<Candidate> leader_;   // the best so far
  double best_ = 0, plateau_best_ = 0;
  double accuracy_pairs_ = 0, accuracy_right_ = 0;
  int told_ = 0, told_failed_ = 0;  // what progress has shown, before the search heard of it
  double told_best_ = 0, told_default_ = 0;
  int since_improvement_ = 0, rounds_ = 0;
  std::int64_t proposals_ = 0;      // so far; number 0 is kept for the default schedule
  runtime::Timer since_heartbeat_;  // or since the last commit
  double spent_before_ = 0;         // seconds, by a session that is continued
  bool over_ = false, started_ = false, default_first_ = false;
  std::map<std::string, std::pair<int, std::string>> errors_;  ///< by class: how many, the first text
  std::vector<double> best_by_round_;
};

/// `tune` with a measurer of the caller's.
TuneResult tune(const Workload& workload, const Target& target, const TuneOptions& options,
                RecordStore& store, Measurer& measurer);
std::vector<TuneResult> tune_all(const std::vector<Workload>& workloads, const Target& target,
                                 const TuneOptions& options, RecordStore& store, Measurer& measurer,
                                 const std::vector<double>& weights);

}  // namespace lathe::tuner
