#include "tuner/cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace lathe::command_line {
namespace {

constexpr double kRenewSeconds = 0.1, kLineSeconds = 10;

int columns() {
  winsize size{};
  return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/// "0:41", "1:02:03".
std::string clock(double seconds) {
  const auto s = static_cast<long>(seconds + 0.5);
  char text[48];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
  return text;
}

}  // namespace

Progress::Progress(bool quiet, const std::string& log)
    : quiet_(quiet), terminal_(isatty(2) != 0), log_path_(log) {
  if (log.empty()) return;
  refuse_database("tune", log);
  log_.open(log, std::ios::app);
  if (!log_) throw std::runtime_error("cannot write the log \"" + log + "\"");
}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (open_line_) std::fputc('\n', stderr);
  open_line_ = false;
}

std::string Progress::line(const TuneProgress& p) const {
  const int width = static_cast<int>(std::to_string(p.trials).size());
  char text[160];
  std::snprintf(text, sizeof text, "[%*d/%d] ", width, p.trial, p.trials);
  std::string out = text;
  if (p.best_ms > 0) {
    std::snprintf(text, sizeof text, "best %.4g ms", p.best_ms);
    out += text;
    if (p.default_ms > 0) {
      std::snprintf(text, sizeof text, ", %.2fx default", p.default_ms / p.best_ms);
      out += text;
    }
    const auto roofline = roofline_ms_.find(p.workload);
    if (roofline != roofline_ms_.end() && roofline->second > 0) {
      std::snprintf(text, sizeof text, ", %.0f %% of roofline", 100 * roofline->second / p.best_ms);
      out += text;
    }
  } else {
    out += "no time yet";
  }
  if (p.failures > 0) {
    out += ", " + std::to_string(p.failures) + " failed";
    std::string classes;
    for (const auto& [kind, n] : failures_)
      classes += (classes.empty() ? "" : ", ") + std::to_string(n) + " " + kind;
    if (!classes.empty()) out += " (" + classes + ")";
  }
  if (p.trial > 0) out += ", " + clock(seconds_left(p)) + " left";
  if (roofline_ms_.size() > 1)
    out += "  " + p.workload;  // last: a narrow terminal cuts it rather than a number
  return out;
}

double Progress::seconds_left(const TuneProgress& p) const {
  const double by_trials = p.seconds / p.trial * (p.trials - p.trial);
  return std::min(by_trials, p.time_left.value_or(by_trials));
}

void Progress::show(const TuneProgress& p) {
  if (p.failed) ++failures_[p.last];
  log("trial", {{"workload", p.workload},
                {"trial", p.trial},
                {"trials", p.trials},
                {"seconds", p.seconds},
                {"best_ms", p.best_ms},
                {"default_ms", p.default_ms},
                {"failures", p.failures},
                {"gave", p.last}});
  if (quiet_) return;
  const bool last = p.trial >= p.trials, news = p.best_ms > 0 && p.best_ms != shown_best_[p.workload];
  if (terminal_) {
    if (!last && since_shown_.seconds() < kRenewSeconds) return;
    std::string text = line(p);
    const auto most = static_cast<std::size_t>(columns() - 1);
    if (text.size() > most) text.resize(most);
    std::fprintf(stderr, "\r%s\033[K", text.c_str());
    open_line_ = true;
    if (last) clear_line();
  } else {
    if (!last && !news && since_shown_.seconds() < kLineSeconds) return;
    std::fprintf(stderr, "%s\n", line(p).c_str());
  }
  std::fflush(stderr);
  since_shown_ = {};
  shown_best_[p.workload] = p.best_ms;
}

void Progress::log(const std::string& event, ordered_json fields) {
  if (!log_.is_open()) return;
  using namespace std::chrono;
  ordered_json entry{{"time_us", duration_cast<microseconds>(system_clock::now().time_since_epoch()).count()},
                     {"event", event}};
  entry.update(fields);
  log_ << entry.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
  if (log_) return;
  clear_line();
  std::fprintf(stderr, "the log \"%s\" cannot be written any more; what is measured is stored all the same\n",
               log_path_.c_str());
  log_.close();
}

}  // namespace lathe::command_line
