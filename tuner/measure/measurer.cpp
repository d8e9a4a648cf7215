#include "tuner/measure/measurer.h"

namespace lathe::tuner {

std::vector<Measurement> Measurer::compare(const Task& task, std::span<const Candidate> leaders,
                                           const MeasureOptions& options) {
  MeasureOptions patient = options;
  patient.give_up_above = 0;
  return measure(task, leaders, patient);
}

namespace {

class ChildMeasurer final : public Measurer {
 public:
  explicit ChildMeasurer(std::string command) : command_(std::move(command)) {}

  std::vector<Measurement> measure(const Task& task, std::span<const Candidate> batch,
                                   const MeasureOptions& options) override {
    std::vector<Measurement> results;
    for (const Candidate& candidate : batch) {
      if (options.stop && options.stop()) break;
      results.push_back(measure_in_child(task.program, candidate.trace, task.target, command_,
                                         options.timeout, options.give_up_above));
    }
    return results;
  }

 private:
  std::string command_;
};

}  // namespace

std::unique_ptr<Measurer> child_measurer(std::string command) {
  return std::make_unique<ChildMeasurer>(std::move(command));
}

}  // namespace lathe::tuner
