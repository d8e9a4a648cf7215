// Group `unseen`: programs as users write them, of which the library has no operator, as its rules schedule them. The peer is the
// library's own operator that does as much work in the same way, where there is one, at the same operations.

#include <algorithm>

#include "../harness/bench.h"
#include "lathe/prepare.h"
#include "lathe/runtime/c_api.h"
#include "lathe/runtime/fill.h"
#include "lathe/runtime/timer.h"
#include "lathe/workload.h"
#include "support/unseen/programs.h"

namespace lathe::bench {

namespace {

/// A schedule's kernel with operands of its own.
class Running {
 public:
  explicit Running(const Schedule& schedule)
      : kernel_(link_prepared(schedule.program()->name, Target::host(),
                              compile_prepared_object(schedule.program(), Target::host()))) {
    for (const Param& p : schedule.program()->params) {
      std::vector<std::int64_t> shape;
      for (const Expr& e : p.buffer->shape) shape.push_back(*as_int(e));
      runtime::fill_random(tensors_.emplace_back(p.buffer->dtype, shape), {.seed = 7, .edges = 0});
    }
    for (runtime::Tensor& t : tensors_) {
      addresses_.push_back(t.data());
      bytes_ += static_cast<double>(t.bytes());
    }
    if (kernel_.prepare(addresses_) != LATHE_OK) throw std::runtime_error(lathe_last_error());
  }

  double bytes() const { return bytes_; }
  void sample(double least_seconds) {
    for (int calls = 1;; calls *= 4) {
      runtime::Timer timer;
      for (int i = 0; i < calls; ++i) {
        if (kernel_.run(addresses_.data()) != LATHE_OK) throw std::runtime_error(lathe_last_error());
      }
      if (const double seconds = timer.seconds(); seconds >= least_seconds) {
        samples_.push_back(seconds / calls);
        return;
      }
    }
  }
  /// `amount` (operations or bytes, in billions) a second.
  Figure figure(double amount) {
    std::ranges::sort(samples_);
    return {amount / samples_.front(), amount / samples_[samples_.size() / 2]};
  }

 private:
  PreparedCode kernel_;
  std::vector<runtime::Tensor> tensors_;
  std::vector<void*> addresses_;
  std::vector<double> samples_;
  double bytes_ = 0;
};

Row measure_program(const test::UnseenProgram& what, const MeasureOptions& options) {
  const RuleOptions rules{Choices::Fixed, options.threads > 1};
  Schedule schedule(what.build(test::Scale::Large));
  apply_rules(schedule, Target::host(), rules);
  Running ours(schedule);
  std::optional<Running> like;
  if (!what.like.empty()) {
    const Workload known = Workload::parse(what.like);
    Schedule theirs(known.program);
    known.apply_schedule(theirs, Target::host(), Choices::Fixed);
    like.emplace(theirs);
  }
  for (int i = 0; i < (options.quick ? 4 : 12); ++i) {
    ours.sample(2e-3);
    if (like) like->sample(2e-3);
  }
  Row row;
  row.group = "unseen";
  row.key = what.name;
  row.threads = options.threads;
  const bool computes = what.operations > 0;
  row.unit = computes ? Unit::GflopsPerSecond : Unit::GigabytesPerSecond;
  row.ours = ours.figure((computes ? what.operations : ours.bytes()) * 1e-9);
  if (like) {
    row.what = "like " + what.like;
    row.peers["library"] = like->figure((computes ? what.operations : like->bytes()) * 1e-9);
  }
  return row;
}

std::vector<Row> measure(const MeasureOptions& options) {
  std::vector<Row> rows;
  if (lathe_num_threads() != options.threads) lathe_set_num_threads(options.threads);
  for (const test::UnseenProgram& program : test::unseen_programs())
    rows.push_back(measure_program(program, options));
  return rows;
}

const bool joined = register_measurement("unseen", measure);

}  // namespace

}  // namespace lathe::bench
