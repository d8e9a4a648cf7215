#pragma once
// Verbs of the command line: what they share.
//
// A verb is one file with one function that describes its subcommand and says what it does, and one line in verbs.def:
//
//     void add_run(CLI::App& app, Context& context) {
//       struct Options { std::string spec; };
//       auto options = std::make_shared<Options>();
//       CLI::App* verb = app.add_subcommand("run", "Replay the best record, verify and time it");
//       verb->add_option("workload", options->spec)->required();
//       add_target(*verb, context);
//       context.does(*verb, [&context, options] { return run(context, options->spec); });
//     }
//
// What a verb does starts after the whole command line was read and found right, so it may throw: a UserError ends the
// program with its text and exit code 1. Data goes to standard output, progress and explanations to standard error; with
// --json, standard output holds one JSON value and nothing else.

#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "lathe/replay.h"
#include "tuner/measure/child_process.h"

namespace lathe::command_line {

using nlohmann::ordered_json;

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,       ///< refused or failed; a text on standard error says why
  kUsage = 2,        ///< the command line was wrong
  kInterrupted = 3,  ///< stopped by a signal; can be resumed
  kNoRecord = 4,     ///< nothing found where a record was required
};

/// What one run of the program shares among its verbs.
struct Context {
  std::string target = "host";
  std::string db = "lathe.db";
  bool json = false;
  bool cold = false;                   ///< prefer records of cold caches
  std::vector<std::string> libraries;  ///< of --load

  std::function<int()> action;  ///< of the verb that was named
  /// `action` becomes what the program does when `verb` is named.
  void does(CLI::App& verb, std::function<int()> act);
};

/// The options that several verbs share.
void add_target(CLI::App& verb, Context& context);
void add_db(CLI::App& verb, Context& context);
void add_json(CLI::App& verb, Context& context);
void add_cold(CLI::App& verb, Context& context);

/// The query for what a build would use.
records::Query query_for(const Workload& workload, const Target& target, const Context& context);

/// The store of --db for reading; it must be there.
RecordStore open_to_read(const Context& context);
/// The store of --db for writing, made when it is not there. Times that other versions measured are marked stale.
RecordStore open_to_write(const Context& context);
/// As `open_to_write`, of a store that must be there: what it would be asked for can only be in one that is.
RecordStore open_to_change(const Context& context);

void print_json(const ordered_json& value);

/// Option values: finite numbers from `least` on, and those above `bound`.
CLI::Validator at_least(double least);
CLI::Validator above(double bound);

/// A file to read. One that cannot be, or is a folder, is UserError U006; `way_out` says how such a file is made.
std::ifstream open_file(const std::string& verb, const std::string& path, const std::string& way_out);
/// The way out where a text log is missing.
inline constexpr const char* kMakesLog = "`lathe db export --db STORE -o FILE` writes such a log";
/// Throws UserError U009 where `path` is a database: whoever gives it as an output means another file.
void refuse_database(const std::string& verb, const std::string& path);

/// Writes a file whole or not at all, except for what is no regular file (a pipe, a device), which is written through; "-" is
/// standard output. `write` may be called once.
void write_file(const std::string& verb, const std::string& path,
                const std::function<void(std::ostream&)>& write);

/// "3 trials", "1 trial".
std::string count(std::int64_t n, const std::string& noun);
/// "2026-01-31 12:34:56" in UTC, from microseconds since 1970; "" for 0.
std::string date(std::int64_t us);

/// This program, as the command that starts a worker.
tuner::WorkerCommand own_command(const Context& context);

/// The schedule that a build would use for the workload, and what is to be said about it.
struct Choice {
  Schedule schedule;
  std::string origin;  ///< "record 3f2a…" or "default schedule: …"
  bool hit = false;
};
/// The best record of --db or, when there is none (or no such file), the default schedule.
Choice choose(const Workload& workload, const Target& target, const Context& context);

}  // namespace lathe::command_line
