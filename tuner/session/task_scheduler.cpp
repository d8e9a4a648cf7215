#include "tuner/session/task_scheduler.h"

#include <algorithm>

namespace lathe::tuner {
namespace {

constexpr double Recent = 0.2;  // weight of the recent gain against the optimist's view
constexpr std::size_t Window = 3;

}  // namespace

struct TaskScheduler::Share {
  double weight = 1;
  std::unique_ptr<Session> session;  ///< nothing: it could not even start
  TuneResult result;                 ///< then says why
};

TaskScheduler::TaskScheduler(const std::vector<Workload>& workloads, const Target& target,
                             const TuneOptions& options, RecordStore& store, Measurer& measurer,
                             const std::vector<double>& weights)
    : options_(options) {
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    Share& share = shares_.emplace_back();
    if (i < weights.size()) share.weight = weights[i];
    try {
      share.session = std::make_unique<Session>(workloads[i], target, options_, store, measurer);
    } catch (const UserError& error) {
      share.result.workload = workloads[i].spec;
      share.result.reason = error.what();
    }
  }
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
