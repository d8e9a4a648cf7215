#include "tuner/measure/failure_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "support/error_codes/tuner.h"

namespace lathe::tuner {

void make_failure_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error)
    throw UserError(code::U008, "failures cannot be kept in \"" + folder + "\": " + error.message() +
                                    ". Name a folder that can be made and written");
}

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
