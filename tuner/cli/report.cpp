// `lathe report`: what a database holds, as one self-contained HTML file.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "lathe/trace.h"
#include "records/json_text.h"
#include "tuner/cli/verb.h"
#include "tuner/measure/roofline.h"
#include "tuner/session/asked.h"

namespace lathe::command_line {
namespace {

struct ReportArguments {
  std::string output = "report.html", peers;
  records::Filter filter;
};

/// A trial, as far as a curve needs it.
struct Point {
  double ms = 0;  ///< 0: failed
  bool stale = false;
};

/// All times that may be compared: of one workload on one target, in one regime, on one class of hosts.
struct Subject {
  records::Workload workload;
  records::TargetRecord target;
  records::Regime regime;
  std::string hosts;
  std::vector<Point> points;                                    ///< in the order of their making
  std::map<std::string, std::pair<int, std::string>> failures;  ///< class -> how many, the first text
  std::optional<records::Trial> winner;
  double default_ms = 0;
  double roofline_ms = 0;               ///< 0: not known
  int threads = 0;                      ///< that the roofline is of
  std::map<std::string, double> peers;  ///< name -> ms
};

std::string host_class(const records::Trial& t) {
  return t.provenance.host_class.empty() ? t.provenance.host : t.provenance.host_class;
}

/// For HTML, whatever a candidate printed.
std::string escaped(const std::string& text, std::size_t limit = 64 * 1024) {
  std::string out;
  for (char c : records::clean_text(text, limit)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

std::string number(double x, const char* format = "%.4g") {
  char text[48];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

// ---- the data ----------------------------------------------------------------------------------------------------

std::map<std::string, std::map<std::string, double>> read_peers(const std::string& path) {
  std::map<std::string, std::map<std::string, double>> peers;
  if (path.empty()) return peers;
  std::ifstream file = open_file("report", path, "it holds {\"WORKLOAD\": {\"PEER\": milliseconds}}");
  const nlohmann::json all = nlohmann::json::parse(file, nullptr, false);
  try {
    for (const auto& [spec, times] : all.get<std::map<std::string, std::map<std::string, double>>>())
      peers[Workload::parse(spec).spec] = times;
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("report: \"" + path +
                             "\" is not JSON of the form {\"WORKLOAD\": {\"PEER\": milliseconds}}");
  }
  return peers;
}

/// What this machine can reach, of records that were made for its kind.
class Rooflines {
 public:
  /// With the threads of the winner's session, not of this process. 0 where they, the machine or the program are not known.
  double ms(const records::Winner& winner, int threads) {
    if (threads <= 0 || winner.target.fingerprint != host_.fingerprint()) return 0;
    try {
      const tuner::Work work = tuner::work_of(program_from_json(winner.workload.program_json));
      if (!machine_) machine_ = tuner::measure_machine(host_);
      return tuner::roofline_seconds(work, host_, *machine_, threads) * 1e3;
    } catch (const UserError&) {  // a program of a later language
      return 0;
    }
  }

 private:
  Target host_ = Target::host();
  std::optional<tuner::Machine> machine_;
};

std::vector<Subject> collect(const RecordStore& store, const ReportArguments& options) {
  using Group = std::tuple<records::KeyRef, records::Regime, std::string>;
  const auto group_of = [](const records::Trial& t) { return Group(t.key, t.regime, host_class(t)); };
  const auto peers = read_peers(options.peers);
  std::map<records::KeyRef, const records::KeySummary*> keys;
  const std::vector<records::KeySummary> summary = store.summary(options.filter);
  for (const records::KeySummary& s : summary) keys[s.key] = &s;

  std::map<Digest, records::Session> sessions;
  for (records::Session& s : store.sessions()) sessions.emplace(s.uid, std::move(s));
  const auto session_of = [&](const records::Trial& t) {
    const auto at = t.session ? sessions.find(*t.session) : sessions.end();
    return at == sessions.end() ? records::Session() : at->second;
  };

  std::vector<Subject> subjects;
  std::map<Group, std::size_t> index;
  const auto subject_of = [&](const records::Trial& t) -> Subject& {
    auto [at, fresh] = index.try_emplace(group_of(t), subjects.size());
    if (fresh) {
      const records::KeySummary& key = *keys.at(t.key);
      subjects.push_back({key.workload, key.target, t.regime, host_class(t), {}, {}, {}, 0, 0, 0, {}});
      if (const auto found = peers.find(key.workload.spec); found != peers.end())
        subjects.back().peers = found->second;
    }
    return subjects[at->second];
  };
  store.for_each_trial(options.filter, [&](const records::Trial& t) {
    if (keys.count(t.key) == 0) return true;  // it came while this was read
    Subject& subject = subject_of(t);
    const bool good = t.failure == records::Failure::None;
    subject.points.push_back({t.p10 * 1e3, t.stale});
    if (!good) {
      auto& [n, text] = subject.failures[std::string(records::to_string(t.failure))];
      if (n++ == 0) text = t.error_text;
    }
    // Number 0 of a session is the default schedule, which it measures again beside the best.
    if (!good || t.stale || t.proposal != 0) return true;
    const double again = tuner::reached_by(session_of(t)).default_seconds;
    const double ms = (again > 0 ? again : t.p10) * 1e3;
    if (subject.default_ms == 0 || ms < subject.default_ms) subject.default_ms = ms;
    return true;
  });
  Rooflines rooflines;
  for (const records::Winner& w : store.winners(options.filter)) {
    const auto at = index.find(group_of(w.trial));
    if (at == index.end()) continue;
    Subject& subject = subjects[at->second];
    subject.winner = w.trial;
    subject.threads = tuner::threads_of(session_of(w.trial));
    subject.roofline_ms = rooflines.ms(w, subject.threads);
  }
  return subjects;
}

// ---- a tuning curve ----------------------------------------------------------------------------------------------

/// Time over trials, both as they came: a dot a trial, a line for the best so far. The axis of time is logarithmic.
class Curve {
 public:
  explicit Curve(const Subject& subject)
      : subject_(subject),
        every_(subject.points.size() / kMostDots + 1),
        stale_winner_(subject.winner && subject.winner->stale) {
    for (const Point& p : subject.points) extend(p.ms);
    extend(subject.default_ms);
    extend(subject.roofline_ms);
    for (const auto& [name, ms] : subject.peers) extend(ms);
    low_ *= 0.9;
    high_ *= 1.1;
  }

  std::string svg() const {
    if (high_ <= low_) return "<p>No trial has a time.</p>";
    std::ostringstream out;
    out << "<svg viewBox='0 0 " << kWidth << " " << kHeight << "' role='img' aria-label='tuning curve'>";
    axes(out);
    rule(out, subject_.default_ms, "default", "default");
    rule(out, subject_.roofline_ms, "roofline", "roofline");
    for (const auto& [name, ms] : subject_.peers) rule(out, ms, name, "peer");
    std::string path;
    double best = 0;
    for (std::size_t i = 0; i < subject_.points.size(); ++i) {
      if (i % every_ == 0) dot(out, i);
      const Point& p = subject_.points[i];
      if (p.ms <= 0 || (best > 0 && p.ms >= best) || p.stale != stale_winner_) continue;
      path += (path.empty() ? "M" : "H") + number(x(i), "%.1f") + (path.empty() ? " " : "V") +
              number(y(p.ms), "%.1f");
      best = p.ms;
    }
    if (!path.empty())
      out << "<path class='best' d='" << path << "H" << number(x(subject_.points.size()), "%.1f") << "'/>";
    out << "</svg>";
    return out.str();
  }

 private:
  static constexpr std::size_t kMostDots =
      2000;  // more are one blot on the screen, and a file that no browser opens
  static constexpr double kWidth = 720, kHeight = 260, kLeft = 64, kRight = 90, kTop = 12, kBottom = 30;

  void extend(double ms) {
    if (ms <= 0) return;
    low_ = low_ == 0 ? ms : std::min(low_, ms);
    high_ = std::max(high_, ms);
  }
  double x(std::size_t i) const {
    const double n = std::max<double>(1, static_cast<double>(subject_.points.size()));
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(i) / n;
  }
  double y(double ms) const {
    return kTop +
           (kHeight - kTop - kBottom) * (std::log(high_) - std::log(ms)) / (std::log(high_) - std::log(low_));
  }
  void axes(std::ostringstream& out) const {
    out << "<path class='axis' d='M" << kLeft << " " << kTop << "V" << kHeight - kBottom << "H"
        << kWidth - kRight << "'/>";
    for (int i = 0; i <= 4; ++i) {
      const double ms = std::exp(std::log(low_) + (std::log(high_) - std::log(low_)) * i / 4);
      out << "<text class='tick' text-anchor='end' x='" << kLeft - 6 << "' y='" << number(y(ms) + 4, "%.1f")
          << "'>" << number(ms, "%.3g") << "</text>";
    }
    out << "<text class='tick' x='" << kLeft << "' y='" << kHeight - 8 << "'>ms over "
        << subject_.points.size() << " trials"
        << (every_ > 1 ? ", a dot for one of " + std::to_string(every_) : "") << "</text>";
  }
  void dot(std::ostringstream& out, std::size_t i) const {
    const double ms = subject_.points[i].ms;
    const std::string at = number(x(i), "%.1f");
    if (ms <= 0)
      out << "<path class='bad' d='M" << at << " " << kHeight - kBottom - 6 << "v6'/>";
    else
      out << "<circle class='" << (subject_.points[i].stale ? "stale" : "trial") << "' cx='" << at << "' cy='"
          << number(y(ms), "%.1f") << "' r='2'><title>trial " << i << ": " << number(ms)
          << " ms</title></circle>";
  }
  void rule(std::ostringstream& out, double ms, const std::string& name, const char* kind) const {
    if (ms <= 0) return;
    const std::string at = number(y(ms), "%.1f");
    out << "<path class='" << kind << "' d='M" << kLeft << " " << at << "H" << kWidth - kRight
        << "'/><text class='tick' x='" << kWidth - kRight + 4 << "' y='" << at << "'>" << escaped(name)
        << "</text>";
  }

  const Subject& subject_;
  const std::size_t every_;  // so many trials have one dot
  const bool stale_winner_;  // until something is measured anew, the old times count
  double low_ = 0, high_ = 0;
};

// ---- the page ----------------------------------------------------------------------------------------------------

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2.5rem;overflow-wrap:anywhere}"
    "table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left;vertical-align:top}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}pre{background:#f5f5f5;padding:.8rem;overflow:"
    "auto}"
    "svg{width:100%;height:auto}.axis{stroke:#888;fill:none}.tick{font-size:11px;fill:#555}"
    ".trial{fill:#9bb8d8}.stale{fill:#bbb}.best{stroke:#c2410c;stroke-width:2;fill:none}.bad{stroke:#b91c1c;"
    "stroke-width:1}"
    ".default{stroke:#666;stroke-dasharray:6 "
    "4}.roofline{stroke:#15803d}.peer{stroke:#7c3aed;stroke-dasharray:2 3}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#242424}.tick{fill:#"
    "aaa}}";

void overview(std::ostringstream& out, const std::vector<Subject>& subjects) {
  out << "<table><tr><th>workload</th><th>target</th><th>caches</th><th>hosts</th><th>best, "
         "ms</th><th>default</th><th>roofline</th><th>trials</th>"
         "<th>failed</th></tr>";
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Subject& s = subjects[i];
    const double best = s.winner ? s.winner->p10 * 1e3 : 0;
    int failed = 0;
    for (const auto& [kind, failure] : s.failures) failed += failure.first;
    out << "<tr><td><a href='#w" << i << "'>" << escaped(s.workload.spec) << "</a></td><td>"
        << escaped(s.target.name) << "</td><td>" << records::to_string(s.regime) << "</td><td>"
        << escaped(s.hosts) << "</td><td class='n'>" << (best > 0 ? number(best) : "none")
        << "</td><td class='n'>"
        << (best > 0 && s.default_ms > 0 ? number(s.default_ms / best, "%.2f") + " x" : "")
        << "</td><td class='n'>"
        << (best > 0 && s.roofline_ms > 0 ? number(100 * s.roofline_ms / best, "%.0f") + " %" : "")
        << "</td><td class='n'>" << s.points.size() << "</td><td class='n'>" << failed << "</td></tr>";
  }
  out << "</table>";
}

/// What the winner chose: the `sample_*` steps, with what they are about.
void decisions(std::ostringstream& out, const records::Trial& winner) {
  Trace trace;
  try {
    trace = Trace::from_json(winner.trace);
  } catch (const UserError& e) {  // of a later Lathe
    out << "<p>Its schedule cannot be shown: " << escaped(e.what(), 300) << "</p>";
    return;
  }
  out << "<table><tr><th>decision</th><th>chosen</th></tr>";
  for (std::size_t at : trace.decisions()) {
    const Instruction& step = trace.steps[at];
    const std::string* name =
        step.args.empty() ? nullptr : step.args.back().get<std::string>();  // of a sample_choice
    out << "<tr><td>" << (name ? escaped(*name) : std::to_string(at) + ": " + escaped(step.op))
        << (step.comment.empty() ? "" : " <i>" + escaped(step.comment) + "</i>") << "</td><td>";
    for (std::size_t i = 0; i < step.decision.size(); ++i) out << (i > 0 ? " × " : "") << step.decision[i];
    out << "</td></tr>";
  }
  out << "</table><details><summary>the whole schedule as C++</summary><pre>" << escaped(trace.to_cpp())
      << "</pre></details>";
}

void chapter(std::ostringstream& out, const Subject& s, std::size_t i) {
  out << "<h2 id='w" << i << "'>" << escaped(s.workload.spec) << " on " << escaped(s.target.name)
      << (s.regime == records::Regime::Cold ? ", cold caches" : "") << "</h2>" << Curve(s).svg();
  if (s.winner) {
    const double best = s.winner->p10 * 1e3;
    out << "<p>Best: " << number(best) << " ms";
    if (s.default_ms > 0)
      out << ", " << number(s.default_ms / best, "%.2f") << " times as fast as the default schedule";
    if (s.roofline_ms > 0)
      out << ", " << number(100 * s.roofline_ms / best, "%.0f") << " % of the roofline of "
          << count(s.threads, "thread");
    for (const auto& [name, ms] : s.peers)
      out << ", " << number(ms / best, "%.2f") << " times as fast as " << escaped(name);
    out << ". Measured by Lathe " << escaped(s.winner->provenance.lathe) << " on "
        << escaped(s.winner->provenance.host) << " at " << date(s.winner->created_us) << " UTC"
        << (s.winner->stale ? "; the time is stale" : "") << ".</p>";
    decisions(out, *s.winner);
  }
  if (s.failures.empty()) return;
  out << "<table><tr><th>failed</th><th>class</th><th>the first said</th></tr>";
  for (const auto& [kind, failure] : s.failures)
    out << "<tr><td class='n'>" << failure.first << "</td><td>" << escaped(kind) << "</td><td>"
        << escaped(failure.second, 300) << "</td></tr>";
  out << "</table>";
}

int report(const Context& context, const ReportArguments& options) {
  const RecordStore store = open_to_read(context);
  const std::vector<Subject> subjects = collect(store, options);
  std::ostringstream out;
  out << "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' "
         "content='width=device-width'>"
      << "<title>Lathe: " << escaped(std::filesystem::path(context.db).filename().string())
      << "</title><style>" << kStyle
      << "</style><h1>Tuning report: " << escaped(std::filesystem::path(context.db).filename().string())
      << "</h1>";
  overview(out, subjects);
  for (std::size_t i = 0; i < subjects.size(); ++i) chapter(out, subjects[i], i);
  out << "</html>\n";
  write_file("report", options.output, [&](std::ostream& file) { file << out.str(); });
  std::fprintf(stderr, "%s in %s\n", count(static_cast<std::int64_t>(subjects.size()), "workload").c_str(),
               options.output.c_str());
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* verb = app.add_subcommand(
      "report", "One HTML file: curves, best against default and roofline, decisions, failures");
  add_db(*verb, context);
  verb->add_option("-o,--output", options->output, "The file")->capture_default_str();
  verb->add_option("--peers", options->peers,
                   "JSON {\"WORKLOAD\": {\"PEER\": milliseconds}}: times to compare with");
  verb->add_option("--workload", options->filter.workload,
                   "Only these: a name, a specification, or digits of a hash");
  context.does(*verb, [&context, options] { return report(context, *options); });
}

}  // namespace lathe::command_line
