#include "tuner/cli/verb.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "support/error_codes/tuner.h"

namespace lathe::command_line {

void Context::does(CLI::App& verb, std::function<int()> act) {
  verb.callback([this, act = std::move(act)] { action = act; });
}

void add_target(CLI::App& verb, Context& context) {
  verb.add_option("--target", context.target,
                  "host, a target known by name (`lathe targets`), or @FILE.target.json")
      ->capture_default_str();
}

void add_db(CLI::App& verb, Context& context) {
  verb.add_option("--db", context.db, "The record store")->capture_default_str();
}

void add_json(CLI::App& verb, Context& context) {
  verb.add_flag("--json", context.json, "Print data as JSON on standard output");
}

void add_cold(CLI::App& verb, Context& context) {
  verb.add_flag("--cold", context.cold, "Prefer records that were measured with cold caches");
}

records::Query query_for(const Workload& workload, const Target& target, const Context& context) {
  return record_query(workload, target, context.cold ? records::Regime::Cold : records::Regime::Warm);
}

RecordStore open_to_read(const Context& context) { return RecordStore::open(context.db, read_only_store()); }

RecordStore open_to_write(const Context& context) {
  RecordStore store = RecordStore::open(context.db, store_options());
  store.mark_stale_times(this_provenance());
  return store;
}

RecordStore open_to_change(const Context& context) {
  records::OpenOptions options = store_options();
  options.create = false;
  RecordStore store = RecordStore::open(context.db, options);
  store.mark_stale_times(this_provenance());
  return store;
}

namespace {

CLI::Validator number_that(const std::string& is, std::function<bool(double)> fits) {
  return CLI::Validator(
      [is, fits = std::move(fits)](std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && std::isfinite(value) && fits(value)) return {};
        return "\"" + text + "\" is not a number " + is;
      },
      "");
}

std::string spelled(double x) {
  std::ostringstream text;
  text << x;
  return text.str();
}

}  // namespace

CLI::Validator at_least(double least) {
  return number_that("from " + spelled(least) + " on", [least](double x) { return x >= least; });
}

CLI::Validator above(double bound) {
  return number_that("above " + spelled(bound), [bound](double x) { return x > bound; });
}

bool is_database(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::string head(15, 0);
  std::ifstream(path, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == "SQLite format 3";
}

void refuse_database(const std::string& verb, const std::string& path) {
  if (!is_database(path)) return;
  throw UserError(code::U009, verb + ": \"" + path +
                                  "\" is a database, and would be lost. It is as it was; name another file");
}

std::ifstream open_file(const std::string& verb, const std::string& path, const std::string& way_out) {
  if (is_database(path))
    throw UserError(code::U006, verb + ": \"" + path + "\" is a database, where a text is read; " + way_out);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::string cause = std::strerror(file ? EISDIR : errno != 0 ? errno : EIO);
  std::error_code ignored;
  if (file && !std::filesystem::is_directory(path, ignored)) return file;
  throw UserError(code::U006, verb + ": cannot read \"" + path + "\": " + cause +
                                  ". Correct the path (it is relative to \"" +
                                  std::filesystem::current_path(ignored).string() + "\"); " + way_out);
}

void write_file(const std::string& verb, const std::string& path,
                const std::function<void(std::ostream&)>& write) {
  if (path == "-") return write(std::cout);
  refuse_database(verb, path);
  namespace fs = std::filesystem;
  std::error_code error;
  // A link stays one: what it points to is written anew.
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : fs::path(path);
  const bool whole = !fs::exists(target, error) || fs::is_regular_file(target, error);
  const fs::path draft = whole ? fs::path(target.string() + ".part" + std::to_string(getpid())) : target;
  std::error_code ignored;
  std::ofstream file(draft, std::ios::binary);
  try {
    if (file) write(file);
    file.close();
    error.clear();
    if (file && whole) fs::rename(draft, target, error);
    if (file && !error) return;
    throw std::runtime_error(verb + ": cannot write \"" + path + "\"" +
                             (whole && fs::exists(target, ignored)
                                  ? "; it is as it was"
                                  : "; does its folder exist, and may it be written?"));
  } catch (...) {
    if (whole) fs::remove(draft, ignored);
    throw;
  }
}

void print_json(const ordered_json& value) {
  std::cout << value.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

std::string count(std::int64_t n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string date(std::int64_t us) {
  if (us == 0) return {};
  const std::time_t seconds = us / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

tuner::WorkerCommand own_command(const Context& context) {
  tuner::WorkerCommand command;
  command.program = "/proc/self/exe";  // also when an upgrade has put another program in its place meanwhile
  for (const std::string& library : context.libraries) {
    command.arguments.push_back("--load");
    command.arguments.push_back(library);
  }
  return command;
}

Choice choose(const Workload& workload, const Target& target, const Context& context) {
  const auto by_default = [&](const std::string& why) {
    return Choice{workload.default_schedule(target), "default schedule: " + why, false};
  };
  if (!std::filesystem::exists(context.db)) return by_default("there is no database \"" + context.db + "\"");
  const RecordStore store = open_to_read(context);
  const records::Lookup found = store.lookup(query_for(workload, target, context));
  const records::Hit* hit = std::get_if<records::Hit>(&found);
  if (!hit) return by_default(std::get<records::Miss>(found).text());
  std::string origin = "record " + hit->trial.uid.hex().substr(0, 12);
  if (!hit->note.empty()) origin += " (" + hit->note + ")";
  return {replay(workload, hit->trial), origin, true};
}

}  // namespace lathe::command_line
