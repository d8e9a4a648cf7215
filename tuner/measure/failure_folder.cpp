#include "tuner/measure/failure_folder.h"

#include <filesystem>
#include <fstream>

namespace lathe::tuner {

void keep_failure(const std::string& folder, const Task& task, const Candidate& candidate,
                  const Measurement& measurement, const std::string& object) {
  const std::filesystem::path dir = std::filesystem::path(folder) / candidate.hash.hex();
  std::error_code ignored;
  std::filesystem::create_directories(dir, ignored);
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(dir / name) << text; };
  write("program.json", to_json(task.program, 1) + "\n");
  write("target.json", task.target.to_json() + "\n");
  write("trace.json", candidate.trace.to_json() + "\n");
  write("schedule.cpp", candidate.trace.to_cpp());
  write("schedule.txt", to_string(candidate.scheduled) + "\n");
  write("failure.txt", std::string(records::to_string(measurement.failure)) +
                           (measurement.error_code.empty() ? "" : " " + measurement.error_code) + "\n" +
                           measurement.error_text + "\n");
  if (!object.empty()) write("kernel.o", object);
}

}  // namespace lathe::tuner
