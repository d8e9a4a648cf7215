#include "tuner/measure/measurer.h"

#include "tuner/measure/process_measurer.h"

namespace lathe::tuner {

std::vector<Measurement> Measurer::compare(const Task& task, std::span<const Candidate> leaders,
                                           const MeasureOptions& options) {
  MeasureOptions patient = options;
  patient.give_up_above = 0;
  return measure(task, leaders, patient);
}

std::unique_ptr<Measurer> child_measurer(std::string command) {
  return process_measurer({.command = {.program = std::move(command), .arguments = {}}});
}

}  // namespace lathe::tuner
