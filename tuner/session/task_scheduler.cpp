#include "tuner/session/task_scheduler.h"

#include <algorithm>
#include <cstdio>
#include <random>

namespace lathe::tuner {
namespace {

constexpr double Recent = 0.2;  // weight of the recent gain against the optimist's view
constexpr std::size_t Window = 3;

/// A name for the sessions that share a budget, by which going on with one of them finds the others.
std::string new_group() {
  std::random_device source;
  char text[24];
  std::snprintf(text, sizeof text, "%08x%08x", source(), source());
  return text;
}

}  // namespace

struct TaskScheduler::Share {
  double weight = 1;
  TuneOptions options;               ///< as all, but for the session to go on with
  std::unique_ptr<Session> session;  ///< nothing: it could not even start
  TuneResult result;                 ///< then says why
};

TaskScheduler::TaskScheduler(const std::vector<Workload>& workloads, const Target& target,
                             const TuneOptions& options, RecordStore& store, Measurer& measurer,
                             const std::vector<double>& weights)
    : options_(options) {
  const std::string group = new_group();
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    Share& share = shares_.emplace_back();
    if (i < weights.size()) share.weight = weights[i];
    share.options = options_;
    if (i < options_.sessions.size()) share.options.session = options_.sessions[i];
    if (options_.on_trial) share.options.on_trial = [this](const TuneProgress& p) { tell(p); };
    begin(share, workloads[i], target, store, measurer, group);
  }
}

void TaskScheduler::begin(Share& share, const Workload& workload, const Target& target, RecordStore& store,
                          Measurer& measurer, const std::string& group) {
  try {
    share.session = std::make_unique<Session>(workload, target, share.options, store, measurer, group);
  } catch (const UserError& error) {
    share.result.workload = workload.spec;
    share.result.reason = share.result.error = error.what();
  }
}

/// What a session tells of itself becomes news of all: the budget is theirs together.
void TaskScheduler::tell(TuneProgress progress) {
  progress.trial = ++told_;
  progress.failures = told_failed_ += progress.failed ? 1 : 0;
  progress.seconds = clock_.seconds();
  options_.on_trial(progress);
}

TaskScheduler::~TaskScheduler() = default;

int TaskScheduler::measured() const {
  int sum = 0;
  for (const Share& share : shares_) sum += share.session ? share.session->result().measured : 0;
  return sum;
}

double TaskScheduler::expected_gain(const Share& share) const {
  const std::vector<double>& best = share.session->best_by_round();
  const double now = best.back();
  // Without a working candidate, anything would be a gain; but the others come first when that goes on.
  if (now == 0) return share.weight / static_cast<double>(best.size() * best.size());
  const std::size_t window = std::min(Window, best.size() - 1);
  const double before = window > 0 ? best[best.size() - 1 - window] : 0;
  const double gain = before > now ? (before - now) / static_cast<double>(window) : 0;
  return share.weight * (Recent * gain + (1 - Recent) * now / static_cast<double>(best.size()));
}

TaskScheduler::Share* TaskScheduler::next() {
  Share* chosen = nullptr;
  double most = -1;
  for (Share& share : shares_) {
    if (!share.session || share.session->over()) continue;
    if (share.session->best_by_round().empty()) return &share;
    if (const double gain = expected_gain(share); gain > most) {
      most = gain;
      chosen = &share;
    }
  }
  return chosen;
}

void TaskScheduler::give_round(Share& share) {
  // Where the budget is small, the first to come leaves the others their part.
  const int fair = std::max(1, options_.trials / static_cast<int>(shares_.size()));
  const int usual = round_size(options_, share.session->result().measured);
  const int size = share.session->best_by_round().empty() ? std::min(fair, usual) : usual;
  try {
    share.session->round(std::min(size, options_.trials - measured()));
  } catch (const UserError& error) {
    share.session->result().error = error.what();
    share.session->finish(error.what(), records::SessionState::Failed);
  }
}

std::vector<TuneResult> TaskScheduler::run() {
  bool interrupted = false;
  while (!interrupted && measured() < options_.trials) {
    Share* share = next();
    if (!share) break;
    give_round(*share);
    interrupted = share->session->result().interrupted;
  }
  std::vector<TuneResult> results;
  for (Share& share : shares_) {
    if (share.session) {
      if (interrupted) share.session->result().interrupted = true;
      share.session->finish(
          interrupted ? "stopped by the user" : "all trials are spent",
          interrupted ? records::SessionState::Interrupted : records::SessionState::Finished);
      share.result = share.session->result();
    }
    results.push_back(std::move(share.result));
  }
  return results;
}

}  // namespace lathe::tuner
