// build: choose schedules, make objects, header and manifest.

#include "lathe/build.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <set>

#include "codegen/llvm/archive.h"
#include "codegen/llvm/compile.h"
#include "driver/c_header.h"
#include "driver/code_options.h"
#include "driver/files.h"
#include "driver/manifest.h"
#include "runtime/cpu_features.h"
#include "support/error_codes/build.h"

namespace lathe {
namespace {

using driver::CKernel;

std::string as_identifier(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

/// The targets in the order in which they are tried: most features first; of equal ones the last given.
std::vector<Target> levels_of(const std::vector<Target>& targets, std::vector<std::string>* left_out) {
  if (targets.empty()) throw UserError(code::B003, "no target was given to build for");
  std::vector<Target> levels;
  for (const Target& t : targets) {
    driver::machine_for(t);  // refuses what is no CPU
    if (t.cpu().arch != targets[0].cpu().arch)
      throw TargetError(code::B003, "\"" + targets[0].name + "\" is " + targets[0].cpu().arch + ", \"" +
                                        t.name + "\" is " + t.cpu().arch +
                                        ": one artefact is for one architecture");
    for (const Target& other : levels)
      if (as_identifier(other.name) == as_identifier(t.name) && !(other == t))
        throw TargetError(code::B003, "two different targets are called \"" + t.name + "\"");
    std::erase_if(levels, [&](const Target& other) {
      if (other.cpu().features != t.cpu().features) return false;
      if (left_out && !(other == t)) left_out->push_back(other.name);
      return true;
    });
    levels.push_back(t);
  }
  std::stable_sort(levels.begin(), levels.end(), [](const Target& a, const Target& b) {
    return a.cpu().features.size() > b.cpu().features.size();
  });
  return levels;
}

std::string suffix_of(const Target& target) { return "__" + as_identifier(target.name); }

std::uint64_t feature_mask(const Target& target) {
  std::uint64_t mask = 0;
  for (const std::string& feature : target.cpu().features) {
    const std::optional<std::uint64_t> bit = runtime::feature_bit(target.cpu().arch, feature);
    if (!bit)
      throw TargetError(code::B003, "\"" + target.name + "\": whether a CPU has \"" + feature +
                                        "\" cannot be asked at load");
    mask |= *bit;
  }
  return mask;
}

// ---- choosing schedules ----------------------------------------------------------------------------------------------

struct Chosen {
  Schedule schedule;
  BuiltSchedule origin;
};

Schedule replayed(const NamedWorkload& w, const Target& target, const records::Hit& hit) {
  try {
    Schedule s = replay(w.workload, hit.trial);
    verify(s, target);
    return s;
  } catch (const UserError& e) {
    throw RecordError(code::B002, "kernel \"" + w.name + "\" for \"" + target.name + "\": record " +
                                      hit.trial.uid.hex() + " (" + w.workload.spec +
                                      ") does not build: " + e.what());
  }
}

Chosen choose(const NamedWorkload& w, const Target& target, const RecordStore* records,
              records::Regime regime) {
  BuiltSchedule origin{w.name, w.workload.spec, target.name, false, {}, "no records were given"};
  if (records) {
    const records::Lookup found = records->lookup(record_query(w.workload, target, regime));
    if (const auto* hit = std::get_if<records::Hit>(&found)) {
      origin.recorded = true;
      origin.record = hit->trial.uid.hex();
      origin.note = hit->note;
      return {replayed(w, target, *hit), std::move(origin)};
    }
    origin.note = std::get<records::Miss>(found).text();
  }
  return {w.workload.default_schedule(target), std::move(origin)};
}

std::string indented(const std::string& text) {
  std::string out = "    ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "    ";
  }
  return out;
}

[[noreturn]] void refuse_misses(const std::vector<BuiltSchedule>& all) {
  std::string text;
  std::size_t missing = 0;
  for (const BuiltSchedule& s : all) {
    if (s.recorded) continue;
    ++missing;
    text += "\n  " + s.kernel + " for \"" + s.target + "\": " + s.workload + "\n" + indented(s.note);
  }
  throw RecordError(
      code::B001,
      std::to_string(missing) + " of " + std::to_string(all.size()) + " schedules have no record:" + text +
          "\n  tune them (lathe tune 'SPECIFICATION' --target TARGET), or build with on-miss default");
}

// ---- one signature for all targets -------------------------------------------------------------------------------------

/// A kernel in its versions for the levels, in their order.
struct Versions {
  std::string name;
  std::vector<Schedule> schedules;
};

/// The block that reads the buffer first, and which of its reads that is.
std::optional<std::pair<BlockRef, int>> reader_of(Schedule& s, const Buffer& buffer) {
  for (BlockRef b : s.blocks()) {
    const std::vector<BufferRegion>& reads = s.get(b).reads;
    for (std::size_t i = 0; i < reads.size(); ++i)
      if (reads[i].buffer.same_as(buffer)) return std::pair(b, static_cast<int>(i));
  }
  return std::nullopt;
}

bool has_constant_shape(const Buffer& buffer) {
  return std::ranges::all_of(buffer->shape, [](const Expr& e) { return as_int(e).has_value(); });
}

/// Every constant is prepared in every version, by a plain copy where the schedule does not say how: what callers see
/// depends on the workload alone, and a new record never changes a signature.
void prepare_all(Versions& versions) {
  std::set<std::size_t> constants;
  std::size_t position = 0;
  for (const Param& p : versions.schedules[0].program()->params) {
    if (!p.buffer) continue;
    if (p.role == ParamRole::Constant && has_constant_shape(p.buffer)) constants.insert(position);
    ++position;
  }
  for (const Schedule& s : versions.schedules)
    for (std::size_t at : divide_prepared(s.program()).constants) constants.insert(at);
  for (Schedule& s : versions.schedules) {
    const std::vector<std::size_t> have = divide_prepared(s.program()).constants;
    for (std::size_t at : constants) {
      if (std::ranges::count(have, at) > 0) continue;
      std::vector<Buffer> buffers;
      for (const Param& p : s.program()->params)
        if (p.buffer) buffers.push_back(p.buffer);
      const auto reader = reader_of(s, buffers[at]);
      if (!reader) continue;
      IndexMap same;
      for (int i = 0; i < buffers[at]->rank(); ++i) same.from.push_back(Var("i" + std::to_string(i)));
      for (const Var& v : same.from) same.to.push_back(v);
      try {
        s.transform_layout(reader->first, reader->second, same);
      } catch (const ScheduleError& e) {
        throw UserError(code::B004,
                        "kernel \"" + versions.name + "\": \"" + buffers[at]->name +
                            "\" is prepared for one target and cannot be for another: " + e.what());
      }
    }
  }
}

/// For each prepared constant the most that a level needs.
std::vector<Expr> bytes_for_all(const std::string& name, const std::vector<PreparedProgram>& levels) {
  std::vector<Expr> most = driver::prepared_bytes(levels[0]);
  for (const PreparedProgram& level : levels) {
    const std::vector<Expr> bytes = driver::prepared_bytes(level);
    for (std::size_t i = 0; i < bytes.size() && i < most.size(); ++i) {
      const std::optional<std::int64_t> a = as_int(most[i]), b = as_int(bytes[i]);
      if (a && b)
        most[i] = make_index(std::max(*a, *b));
      else if (!structural_equal(most[i], bytes[i]))
        throw UserError(code::B004, "kernel \"" + name +
                                        "\": how many bytes a constant needs depends on a run-time "
                                        "size, and differs between the targets");
    }
  }
  return most;
}

// ---- code ------------------------------------------------------------------------------------------------------------------

/// The C functions of each level; equal in number, names and parameters.
std::vector<std::vector<CKernel>> functions_of(std::vector<Versions>& all, std::size_t levels,
                                               const std::string& prefix) {
  std::vector<std::vector<CKernel>> out(levels);
  for (Versions& versions : all) {
    prepare_all(versions);
    std::vector<PreparedProgram> divided;
    for (const Schedule& s : versions.schedules) divided.push_back(divide_prepared(s.program()));
    const std::vector<Expr> bytes = bytes_for_all(versions.name, divided);
    for (std::size_t level = 0; level < levels; ++level)
      for (CKernel& kernel : driver::c_kernels(prefix + versions.name, divided[level], bytes))
        out[level].push_back(std::move(kernel));
  }
  return out;
}

codegen::cpu::ModuleObject level_object(const std::vector<CKernel>& kernels, const Target& target,
                                        const std::string& module_name) {
  std::vector<codegen::cpu::ModuleKernel> code;
  for (const CKernel& kernel : kernels)
    code.push_back({kernel.name + suffix_of(target), kernel.name, kernel.shown,
                    driver::lowered(kernel.scheduled, target, {})});
  codegen::cpu::Options options = driver::codegen_options(target);
  options.hidden = true;
  options.tune = target.cpu().microarchitecture;
  return codegen::cpu::compile_module(code, module_name, driver::least_machine_for(target), options);
}

std::string dispatch_object(const std::vector<CKernel>& kernels, const std::vector<Target>& levels,
                            const BuildOptions& options) {
  std::vector<codegen::cpu::DispatchKernel> functions;
  for (const CKernel& kernel : kernels) functions.push_back({kernel.name, kernel.shown});
  std::vector<codegen::cpu::DispatchLevel> choices;
  for (const Target& t : levels) choices.push_back({t.name, suffix_of(t), feature_mask(t)});
  codegen::cpu::Options code_options;
  code_options.hidden = options.hidden;
  codegen::cpu::Machine machine = driver::least_machine_for(levels[0]);
  machine.features.clear();
  const std::vector<char> object =
      codegen::cpu::compile_dispatch(functions, choices, options.name, machine, code_options);
  return {object.begin(), object.end()};
}

/// A name is part of file names, also in makefiles, and of the header's guard.
void require_file_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || std::strchr("_.+-", c) != nullptr; };
  if (!name.empty() && name[0] != '.' && name[0] != '-' && std::ranges::all_of(name, fits)) return;
  throw UserError(code::B006,
                  "build: \"" + name +
                      "\" is no name for the files of an artefact; nothing was written. Take letters, "
                      "digits, underscores, points, plus and minus signs; `-o` names the folder");
}

std::string object_name(const Target& target, const BuildOptions& options) {
  return options.name + "." + as_identifier(target.name) + ".o";
}

std::string listed(const std::vector<Target>& targets) {
  std::string out = targets.size() == 1 ? "the target " : "the targets ";
  for (std::size_t i = 0; i < targets.size(); ++i) out += (i == 0 ? "\"" : ", \"") + targets[i].name + "\"";
  return out;
}

}  // namespace

NamedWorkload NamedWorkload::parse(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals < text.find('('))
    return {text.substr(0, equals), Workload::parse(text.substr(equals + 1))};
  NamedWorkload out{{}, Workload::parse(text)};
  if (out.workload.spec.find('(') == std::string::npos) {  // a program in JSON
    out.name = out.workload.program->name;
    return out;
  }
  for (char c : out.workload.spec) {
    if (c == '=' || c == ')') continue;
    out.name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return out;
}

std::vector<std::string> artefact_files(const std::vector<Target>& targets, const BuildOptions& options) {
  require_file_name(options.name);
  std::vector<std::string> out;
  for (const Target& t : levels_of(targets, nullptr)) out.push_back(object_name(t, options));
  out.insert(out.end(),
             {options.name + ".o", "lib" + options.name + ".a", options.name + ".h", options.name + ".json"});
  return out;
}

void Artefact::write(const std::string& folder) const {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);  // what goes wrong shows when a file is written
  for (const BuiltFile& file : files)
    driver::write_file((std::filesystem::path(folder) / file.name).string(), file.content);
}

Artefact build(const std::vector<NamedWorkload>& workloads, const std::vector<Target>& targets,
               const RecordStore* records, const BuildOptions& options) {
  require_file_name(options.name);
  Artefact out;
  const std::vector<Target> levels = levels_of(targets, &out.left_out);
  std::vector<Versions> all;
  for (const NamedWorkload& w : workloads) {
    Versions& versions = all.emplace_back(Versions{w.name, {}});
    for (const Target& target : levels) {
      Chosen chosen = choose(w, target, records, options.regime);
      chosen.origin.kernel = options.prefix + w.name;
      out.schedules.push_back(std::move(chosen.origin));
      versions.schedules.push_back(std::move(chosen.schedule));
    }
  }
  if (options.on_miss == OnMiss::Error &&
      !std::ranges::all_of(out.schedules, [](const BuiltSchedule& s) { return s.recorded; }))
    refuse_misses(out.schedules);

  const std::vector<std::vector<CKernel>> functions = functions_of(all, levels.size(), options.prefix);
  std::vector<std::string> names, needs;
  for (const CKernel& kernel : functions[0]) {
    names.push_back(kernel.name);
    for (const Target& t : levels) names.push_back(kernel.name + suffix_of(t));
  }
  driver::check_names(names);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    codegen::cpu::ModuleObject object = level_object(functions[i], levels[i], options.name);
    out.files.push_back({object_name(levels[i], options), {object.bytes.begin(), object.bytes.end()}});
    needs.insert(needs.end(), object.needs.begin(), object.needs.end());
  }
  std::ranges::sort(needs);
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  out.files.push_back({options.name + ".o", dispatch_object(functions[0], levels, options)});
  std::vector<codegen::cpu::ArchiveMember> members;
  for (const BuiltFile& file : out.files) members.push_back({file.name, file.content});
  out.files.push_back({"lib" + options.name + ".a", codegen::cpu::archive(members)});
  out.files.push_back(
      {options.name + ".h", driver::c_header(options.name, listed(levels), functions[0], needs)});
  out.files.push_back(
      {options.name + ".json", driver::manifest_text(workloads, levels, out, functions[0], options)});
  return out;
}

}  // namespace lathe
