#pragma once
// How a session shows how far it is.
//
//   terminal    one line that is renewed:  [ 37/256] best 0.412 ms, 3.2x default, 61 % of roofline, 3 failed, 0:41 left
//               and the workload's name behind the numbers, where several share the budget
//   log file    a line for each new best, and one now and then
//   --json      nothing while it runs; the result on standard output
//   --log FILE  events as JSON lines, appended, whatever else is shown; a log that cannot be written ends in a warning,
//               not in the session's end

#include <fstream>
#include <map>
#include <string>

#include "lathe/runtime/timer.h"
#include "lathe/tuner.h"
#include "tuner/cli/verb.h"

namespace lathe::command_line {

class Progress {
 public:
  /// `log`: a path, or empty.
  Progress(bool quiet, const std::string& log);
  ~Progress();

  /// The time that a workload cannot beat; 0: not known.
  void set_roofline(const std::string& workload, double ms) { roofline_ms_[workload] = ms; }
  void show(const TuneProgress& progress);
  /// Ends the line that is renewed.
  void finish() { clear_line(); }
  /// An event for the log: its name, and what there is to say.
  void log(const std::string& event, ordered_json fields);

 private:
  std::string line(const TuneProgress& p) const;
  void clear_line();
  double seconds_left(const TuneProgress& p) const;

  bool quiet_, terminal_;
  bool open_line_ = false;                    ///< the terminal's line has text and no end
  std::map<std::string, double> shown_best_;  ///< by workload
  std::map<std::string, int> failures_;       ///< by class
  std::map<std::string, double> roofline_ms_;
  runtime::Timer since_shown_;
  std::string log_path_;
  std::ofstream log_;
};

}  // namespace lathe::command_line
