// The registry of workloads and the grammar of specifications.

#include "support/error_codes/workloads.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "lathe/workload.h"
#include "support/error_text.h"
#include "support/nearest.h"

namespace lathe {
namespace {

/// Kinds register themselves before main and from loaded shared objects.
struct Registry {
  std::mutex mutex;
  std::map<std::string, WorkloadKind> kinds;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

std::string WorkloadParam::spell(const WorkloadValue& value) const {
  std::string text;
  for (std::int64_t item : value.items) {
    if (!text.empty()) text += value.joint;
    const bool named = item >= 0 && static_cast<std::size_t>(item) < words.size();
    text += named ? words[static_cast<std::size_t>(item)] : std::to_string(item);
  }
  return text;
}

const std::vector<std::int64_t>& WorkloadArgs::list(const std::string& key) const {
  auto it = values_.find(key);
  if (it == values_.end())
    throw UserError(code::W003,
                    "a workload's builder asks for \"" + key + "\", which is none of its parameters");
  return it->second.items;
}

void WorkloadArgs::require(bool condition, const std::string& sentence) const {
  if (!condition) throw UserError(code::W004, "workload " + spec_ + ": " + sentence);
}

bool register_workload(WorkloadKind kind) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const std::string name = kind.name;
  if (!r.kinds.emplace(name, std::move(kind)).second)
    throw UserError(code::W002, "a workload \"" + name + "\" is registered already");
  return true;
}

bool register_schedule(const std::string& name, WorkloadSchedule schedule) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto kind = r.kinds.find(name);
  if (kind == r.kinds.end())
    throw UserError(code::W003,
                    "a schedule is registered for \"" + name + "\", and no workload is called that");
  if (kind->second.schedule)
    throw UserError(code::W002, "the workload \"" + name + "\" has a schedule already");
  kind->second.schedule = std::move(schedule);
  return true;
}

/// Defined beside the operators, so that a static library brings them along.
void link_library();

std::vector<WorkloadKind> workload_kinds() {
  link_library();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::vector<WorkloadKind> out;
  for (const auto& [name, kind] : r.kinds) out.push_back(kind);
  return out;
}

namespace {

class SpecReader {
 public:
  explicit SpecReader(const std::string& text) : text_(text) {}

  Workload read() {
    const std::string name = word();
    const WorkloadKind kind = find(name);
    std::map<std::string, WorkloadValue> values;
    for (const WorkloadParam& p : kind.params) values.emplace(p.key, p.default_value);
    std::set<std::string> given;
    if (accept('(') && !accept(')')) {
      do {
        const std::size_t start = at_;
        const std::string key = word();
        const auto param = std::find_if(kind.params.begin(), kind.params.end(),
                                        [&](const WorkloadParam& p) { return p.key == key; });
        if (param == kind.params.end()) unknown_key(kind, key, start);
        if (!given.insert(key).second) fail(code::W001, "\"" + key + "\" is given twice", start);
        expect('=');
        values.at(key) = value(*param);
      } while (accept(','));
      expect(')');
    }
    DataType dtype = f32;
    if (accept(':')) {
      const std::string type = word();
      std::optional<DataType> parsed = DataType::parse(type);
      if (!parsed || parsed->is_vector() || parsed->is_index())
        fail(code::W004, "\"" + type + "\" is no element type; f32, f64, f16, bf16, i8 … u64");
      dtype = *parsed;
    }
    if (at_ != text_.size()) fail(code::W001, "nothing may follow");
    Workload out;
    std::string args;
    for (const WorkloadParam& p : kind.params)
      args += (args.empty() ? "" : ",") + p.key + "=" + p.spell(values.at(p.key));
    out.spec = name + "(" + args + "):" + dtype.str();
    out.program = kind.build(WorkloadArgs(out.spec, std::move(values), dtype));
    out.schedule = kind.schedule;
    return out;
  }

 private:
  [[noreturn]] void fail(Code code, const std::string& what) const { fail(code, what, at_); }
  [[noreturn]] void fail(Code code, const std::string& what, std::size_t at) const {
    throw UserError(code, "workload: " + what + "\n  " + text_ + "\n  " + std::string(at, ' ') + "^");
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(code::W001, std::string("expected '") + c + "'");
  }
  std::string word() {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    if (from == at_) fail(code::W001, "expected a name");
    return text_.substr(from, at_ - from);
  }
  WorkloadValue value(const WorkloadParam& param) {
    WorkloadValue out = param.default_value;
    out.items = {item(param)};
    while (out.joint != 0 && (accept(out.joint) || accept('+'))) out.items.push_back(item(param));
    skip();
    return out;
  }
  /// A number, or one of the parameter's words.
  std::int64_t item(const WorkloadParam& param) {
    const std::size_t start = at_;
    const std::string& key = param.key;
    std::int64_t value = 0;
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) && !param.words.empty()) {
      const std::string name = word();
      const auto found = std::find(param.words.begin(), param.words.end(), name);
      if (found != param.words.end()) return found - param.words.begin();
      fail(code::W004,
           "\"" + key + "\" is one of " + joined(param.words) + ", not \"" + name + "\"" +
               did_you_mean(name, param.words),
           start);
    }
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(code::W004, "\"" + key + "\" needs an integer");
    if (value < 0 || value > (std::int64_t{1} << 40)) fail(code::W004, "\"" + key + "\" must lie in 0..2^40");
    if (!param.words.empty() && value >= static_cast<std::int64_t>(param.words.size()))
      fail(code::W004, "\"" + key + "\" is one of " + joined(param.words));
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  static std::string joined(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    return list;
  }
  WorkloadKind find(const std::string& name) const {
    std::vector<std::string> names;
    for (WorkloadKind& kind : workload_kinds()) {
      if (kind.name == name) return kind;
      names.push_back(kind.name);
    }
    throw UserError(code::W003, "no workload is called \"" + name + "\"" + did_you_mean(name, names) +
                                    (text_.find_first_of("./") != std::string::npos
                                         ? "\n  a file with a program has a name that ends in .json"
                                         : "") +
                                    "\n  workloads: " + joined(names));
  }
  [[noreturn]] void unknown_key(const WorkloadKind& kind, const std::string& key, std::size_t start) const {
    std::vector<std::string> keys;
    for (const WorkloadParam& p : kind.params) keys.push_back(p.key);
    fail(code::W003, "\"" + kind.name + "\" has no parameter \"" + key + "\"; it has " + joined(keys), start);
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

Workload Workload::parse(const std::string& spec) {
  if (spec.size() > 5 && spec.ends_with(".json")) {
    std::ifstream file(spec);
    if (!file) throw UserError(code::W001, "cannot read the program \"" + spec + "\"");
    std::stringstream text;
    text << file.rdbuf();
    Workload out;
    out.spec = spec;
    try {
      out.program = program_from_json(text.str());
    } catch (const UserError& error) {
      throw UserError(error.code(), "\"" + spec + "\": " + text_without_code(error));
    }
    return out;
  }
  return SpecReader(spec).read();
}

void Workload::apply_schedule(Schedule& s, const Target& target, Choices choices) const {
  if (schedule)
    schedule(s, target, choices);
  else
    apply_rules(s, target, {.choices = choices, .parallel = true});
}

Schedule Workload::default_schedule(const Target& target) const {
  Schedule s(program);
  apply_schedule(s, target, Choices::Fixed);
  return s;
}

}  // namespace lathe
