// The registry of workloads and the grammar of specifications.

#include "support/error_codes/workloads.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <mutex>
#include <sstream>

#include "lathe/workload.h"

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

std::int64_t WorkloadArgs::operator[](const std::string& key) const {
  auto it = values_.find(key);
  if (it == values_.end())
    throw UserError(code::W003,
                    "a workload's builder asks for \"" + key + "\", which is none of its parameters");
  return it->second;
}

void WorkloadArgs::require(bool condition, const std::string& sentence) const {
  if (!condition) throw UserError(code::W004, "workload: " + sentence);
}

bool register_workload(WorkloadKind kind) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const std::string name = kind.name;
  if (!r.kinds.emplace(name, std::move(kind)).second)
    throw UserError(code::W002, "a workload \"" + name + "\" is registered already");
  return true;
}

/// Defined beside the operators, so that a static library brings them along.
void link_operators();

std::vector<WorkloadKind> workload_kinds() {
  link_operators();
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
    std::map<std::string, std::int64_t> values;
    for (const WorkloadParam& p : kind.params) values[p.key] = p.default_value;
    if (accept('(') && !accept(')')) {
      do {
        const std::string key = word();
        if (!values.count(key)) unknown_key(kind, key);
        expect('=');
        values[key] = number(key);
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
      args += (args.empty() ? "" : ",") + p.key + "=" + std::to_string(values[p.key]);
    out.spec = name + "(" + args + "):" + dtype.str();
    out.program = kind.build(WorkloadArgs(std::move(values), dtype));
    out.schedule = kind.schedule;
    return out;
  }

 private:
  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw UserError(code, "workload: " + what + "\n  " + text_ + "\n  " + std::string(at_, ' ') + "^");
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
  std::int64_t number(const std::string& key) {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail(code::W004, "\"" + key + "\" needs an integer");
    if (value < 0 || value > (std::int64_t{1} << 40)) fail(code::W004, "\"" + key + "\" must lie in 0..2^40");
    at_ = static_cast<std::size_t>(end - text_.data());
    skip();
    return value;
  }
  WorkloadKind find(const std::string& name) const {
    std::vector<std::string> names;
    for (WorkloadKind& kind : workload_kinds()) {
      if (kind.name == name) return kind;
      names.push_back(kind.name);
    }
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    throw UserError(code::W003, "no workload is called \"" + name + "\"\n  workloads: " + list);
  }
  [[noreturn]] void unknown_key(const WorkloadKind& kind, const std::string& key) const {
    std::string list;
    for (const WorkloadParam& p : kind.params) list += (list.empty() ? "" : ", ") + p.key;
    fail(code::W003, "\"" + kind.name + "\" has no parameter \"" + key + "\"; it has " + list);
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
    out.program = program_from_json(text.str());
    return out;
  }
  return SpecReader(spec).read();
}

Schedule Workload::default_schedule(const Target& target) const {
  Schedule s(program);
  if (schedule)
    schedule(s, target);
  else
    apply_rules(s, target);
  return s;
}

}  // namespace lathe
