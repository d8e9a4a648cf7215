// Targets as text on a command line: NAME, @FILE, either with (changes).

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "lathe/target.h"
#include "support/error_codes/target.h"
#include "support/nearest.h"
#include "target/features.h"
#include "target/fields.h"
#include "target/named_cpus.h"
#include "target/named_gpus.h"

namespace lathe {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// "zen3(cores=4, -fma)" as its base and its changes.
struct Spec {
  std::string_view whole, base;
  std::vector<std::string_view> changes;

  [[noreturn]] void malformed(const std::string& what) const {
    throw TargetError(code::T002,
                      "target " + quoted(whole) + ": " + what +
                          "; the form is NAME, NAME(field=value, +feature, -feature, ...) or @FILE");
  }
};

Spec split(std::string_view text) {
  Spec spec{text, trimmed(text), {}};
  // A file's name may hold parentheses; what is a change list ends in one and holds none itself.
  if (spec.base.empty()) spec.malformed("is empty");
  if (spec.base.back() != ')') {
    if (spec.base.front() != '@' && spec.base.find_first_of("()") != std::string_view::npos) {
      spec.malformed("parentheses do not match");
    }
    return spec;
  }
  const std::size_t open = spec.base.rfind('(');
  if (open == std::string_view::npos || open == 0) spec.malformed("parentheses do not match");
  std::string_view inside = spec.base.substr(open + 1, spec.base.size() - open - 2);
  spec.base = trimmed(spec.base.substr(0, open));
  if (spec.base.find_first_of("()") != std::string_view::npos && spec.base.front() != '@') {
    spec.malformed("parentheses do not match");
  }
  while (!trimmed(inside).empty()) {
    const std::size_t comma = inside.find(',');
    spec.changes.push_back(trimmed(inside.substr(0, comma)));
    if (spec.changes.back().empty()) spec.malformed("a change is empty");
    inside = comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
  }
  return spec;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names{"host", "cpu", "cuda"};
  for (const KnownTarget& known : known_targets()) {
    names.push_back(known.name);
    names.insert(names.end(), known.aliases.begin(), known.aliases.end());
  }
  return names;
}

[[noreturn]] void unknown_name(std::string_view base) {
  std::string cpus, gpus;
  for (const NamedCpu& cpu : named_cpus()) cpus += (cpus.empty() ? "" : ", ") + std::string(cpu.name);
  for (const NamedGpu& gpu : named_gpus()) gpus += (gpus.empty() ? "" : ", ") + std::string(gpu.name);
  throw TargetError(code::T001, "unknown target " + quoted(base) + did_you_mean(base, all_names()) +
                                    "\n  this machine: host, cuda, cuda:N\n  CPUs: " + cpus +
                                    "\n  GPUs: " + gpus + "\n  from a file: @FILE");
}

Target from_file(std::string_view path) {
  std::ifstream file{std::string(path), std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  if (path.empty() || !file || file.bad()) {
    throw TargetError(code::T005, "target file " + quoted(path) + " cannot be read");
  }
  return Target::from_json(text.str(), path);
}

/// "cuda" or "cuda:N"; nothing for other names.
std::optional<int> cuda_index(std::string_view name) {
  if (name == "cuda") return 0;
  if (name.substr(0, 5) != "cuda:") return std::nullopt;
  name.remove_prefix(5);
  int index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index < 0) return std::nullopt;
  return index;
}

Target base_target(const Spec& spec) {
  if (spec.base.front() == '@') return from_file(spec.base.substr(1));
  const std::string name = lower(spec.base);
  if (name == "host" || name == "cpu") return Target::host();
  if (const std::optional<int> index = cuda_index(name)) return Target::cuda(*index);
  if (const NamedCpu* cpu = find_cpu(name)) return make_target(*cpu);
  if (const NamedGpu* gpu = find_gpu(name)) return {std::string(gpu->name), gpu->gpu, {}};
  unknown_name(spec.base);
}

/// A whole number, with K, M or G for powers of 1024.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0, unit = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc()) return std::nullopt;
  if (rest == "K" || rest == "k")
    unit = 1 << 10;
  else if (rest == "M" || rest == "m")
    unit = 1 << 20;
  else if (rest == "G" || rest == "g")
    unit = 1 << 30;
  else if (!rest.empty())
    return std::nullopt;
  if (__builtin_mul_overflow(value, unit, &value)) return std::nullopt;
  return value;
}

bool assign(const FieldRef& field, std::string_view text) {
  if (auto* const* at = std::get_if<std::int64_t*>(&field.at)) {
    const std::optional<std::int64_t> value = whole_number(text);
    return value && (**at = *value, true);
  }
  if (auto* const* at = std::get_if<double*>(&field.at)) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), **at);
    return error == std::errc() && end == text.data() + text.size();
  }
  if (auto* const* at = std::get_if<bool*>(&field.at)) {
    if (text != "true" && text != "false" && text != "1" && text != "0") return false;
    **at = text == "true" || text == "1";
    return true;
  }
  if (auto* const* at = std::get_if<std::string*>(&field.at))
    return !text.empty() && (**at = std::string(text), true);
  return false;
}

/// Applies the changes of a Spec one by one.
class Changes {
 public:
  Changes(Target& target, const Spec& spec) : target_(target), spec_(spec), fields_(fields_of(target)) {}

  void apply() {
    for (std::string_view change : spec_.changes) {
      if (change.front() == '+' || change.front() == '-') {
        change_feature(trimmed(change.substr(1)), change.front() == '+');
      } else {
        change_field(change);
      }
    }
    if (target_.is_cpu() && features_changed_) follow_features(std::get<CpuTarget>(target_.device));
    target_.validate();
  }

 private:
  [[noreturn]] void fail(Code code, const std::string& what) const {
    throw TargetError(code, "target " + quoted(spec_.whole) + ": " + what);
  }

  void change_feature(std::string_view name, bool add) {
    if (!target_.is_cpu()) fail(code::T003, "a GPU has no features to add or take away");
    CpuTarget& cpu = std::get<CpuTarget>(target_.device);
    const std::vector<std::string>& known = cpu_features(cpu.arch);
    if (!std::binary_search(known.begin(), known.end(), std::string(name))) {
      std::string list;
      for (const std::string& feature : known) list += (list.empty() ? "" : ", ") + feature;
      fail(code::T003,
           "unknown feature " + quoted(name) + did_you_mean(name, known) + "; " + cpu.arch + " has " + list);
    }
    (add ? add_feature : remove_feature)(cpu.features, cpu.arch, name);
    features_changed_ = true;
  }

  void change_field(std::string_view change) {
    const std::size_t equals = change.find('=');
    const std::string_view name = trimmed(change.substr(0, equals));
    const std::string_view value =
        equals == std::string_view::npos ? "true" : trimmed(change.substr(equals + 1));
    std::vector<std::string> names;
    for (const FieldRef& field : fields_) {
      names.emplace_back(field.name);
      if (field.name != name) continue;
      if (std::holds_alternative<std::vector<std::string>*>(field.at)) {
        fail(code::T004, "features are changed one by one: +NAME adds one, -NAME takes one away");
      }
      if (equals == std::string_view::npos && !std::holds_alternative<bool*>(field.at)) {
        fail(code::T004, "field " + quoted(name) + " needs a value: " + std::string(name) + "=...");
      }
      if (!assign(field, value)) fail(code::T004, "field " + quoted(name) + " cannot be " + quoted(value));
      if (name == "vector_bits" || name == "vector_registers") width_given_ = true;
      return;
    }
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    fail(code::T003, "unknown field " + quoted(name) + did_you_mean(name, names) + "; there are " + list);
  }

  /// Vectors are as wide as the features allow, unless a width was asked for.
  void follow_features(CpuTarget& cpu) const {
    if (width_given_) return;
    cpu.vector_bits = widest_vector(cpu.arch, cpu.features);
    cpu.vector_registers = vector_register_count(cpu.arch, cpu.features);
  }

  Target& target_;
  const Spec& spec_;
  std::vector<FieldRef> fields_;
  bool features_changed_ = false, width_given_ = false;
};

}  // namespace

Target Target::parse(std::string_view text) {
  const Spec spec = split(text);
  Target target = base_target(spec);
  if (!spec.changes.empty()) {
    Changes(target, spec).apply();
    target.name = std::string(trimmed(text));
  }
  return target;
}

const std::vector<KnownTarget>& known_targets() {
  static const std::vector<KnownTarget> all = [] {
    std::vector<KnownTarget> list;
    const auto add = [&](const auto& known) {
      list.push_back(
          {std::string(known.name), {known.aliases.begin(), known.aliases.end()}, std::string(known.about)});
    };
    for (const NamedCpu& cpu : named_cpus()) add(cpu);
    for (const NamedGpu& gpu : named_gpus()) add(gpu);
    return list;
  }();
  return all;
}

}  // namespace lathe
