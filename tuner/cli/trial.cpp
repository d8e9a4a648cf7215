// `lathe trial`: one attempt of a session, shown and repeated.

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "lathe/compile.h"
#include "lathe/interp.h"
#include "lathe/tuner.h"
#include "tuner/cli/verb.h"
#include "tuner/measure/process_measurer.h"

namespace lathe::command_line {
namespace {

struct TrialArguments {
  std::string id, as = "summary";
  bool gdb = false, sanitize = false, here = false;
  double timeout = 60;
};

/// A trial with what it was an attempt at.
struct Found {
  records::Trial trial;
  records::Workload workload;
  records::TargetRecord target;
  Program program;
};

Found find(const Context& context, const std::string& id) {
  const RecordStore store = open_to_read(context);
  Found found;
  found.trial = store.trial(id);
  const records::Winner with_key = store.trial_with_key(found.trial.id).value();
  found.workload = with_key.workload;
  found.target = with_key.target;
  found.program = program_from_json(with_key.workload.program_json);
  return found;
}

std::string outcome(const records::Trial& t) {
  if (t.failure == records::Failure::None) {
    char text[96];
    std::snprintf(text, sizeof text, "%.4g ms (p10 of %zu samples, minimum %.4g ms)", t.p10 * 1e3,
                  t.times.size(), t.minimum * 1e3);
    return text;
  }
  return std::string(records::to_string(t.failure)) + (t.error_code.empty() ? "" : " " + t.error_code) +
         ": " + t.error_text;
}

ordered_json as_json(const Found& f) {
  const records::Trial& t = f.trial;
  return {{"trial", t.uid.hex()},
          {"workload", f.workload.spec},
          {"target", f.target.name},
          {"failure", records::to_string(t.failure)},
          {"error_code", t.error_code},
          {"error", t.error_text},
          {"ms", t.p10 * 1e3},
          {"samples", t.times},
          {"verified", t.verification.accepted},
          {"max_error", t.verification.max_error.value_or(0)},
          {"regime", records::to_string(t.regime)},
          {"stale", t.stale},
          {"session", t.session ? t.session->hex() : ""},
          {"seed", t.seed},
          {"round", t.round},
          {"proposal", t.proposal},
          {"lathe", t.provenance.lathe},
          {"llvm", t.provenance.llvm},
          {"host", t.provenance.host},
          {"created", date(t.created_us)},
          {"trace", ordered_json::parse(t.trace)}};
}

void summarise(const Found& f) {
  const records::Trial& t = f.trial;
  std::printf("trial    %s\nof       %s for %s\n", t.uid.hex().c_str(), f.workload.spec.c_str(),
              f.target.name.c_str());
  std::printf("gave     %s\n", outcome(t).c_str());
  if (t.verification.max_error)
    std::printf("checked  against the %s program: greatest error %.3g of the tolerance\n",
                t.verification.reference.c_str(), *t.verification.max_error);
  std::printf("made     %s UTC on %s by Lathe %s, LLVM %s%s\n", date(t.created_us).c_str(),
              t.provenance.host.c_str(), t.provenance.lathe.c_str(), t.provenance.llvm.c_str(),
              t.stale ? " (its time is stale)" : "");
  if (t.session)
    std::printf("session  %s, seed %llu, round %lld, proposal %lld\n", t.session->hex().substr(0, 12).c_str(),
                static_cast<unsigned long long>(t.seed), static_cast<long long>(t.round),
                static_cast<long long>(t.proposal));
}

int show(const Context& context, const TrialArguments& options) {
  const Found found = find(context, options.id);
  if (context.json) {
    print_json(as_json(found));
    return kDone;
  }
  if (options.as == "summary") {
    summarise(found);
    std::printf("\n%s", Trace::from_json(found.trial.trace).to_cpp().c_str());
    return kDone;
  }
  if (options.as == "trace") {
    std::cout << Trace::from_json(found.trial.trace).to_json() << "\n";
    return kDone;
  }
  Schedule s(found.program);
  s.replay(Trace::from_json(found.trial.trace));
  const Target target = Target::parse(context.target);
  if (options.as == "loops") std::cout << to_string(s.program()) << "\n";
  if (options.as == "llvm") std::cout << llvm_ir(s.program(), target) << "\n";
  if (options.as == "asm") std::cout << assembly(s.program(), target) << "\n";
  return kDone;
}

/// This program again, in this process, under the debugger.
int debug(const Context& context, const TrialArguments& options) {
  const tuner::WorkerCommand self = own_command(context);
  // Not as /proc/self/exe, which would be gdb.
  const std::string program = std::filesystem::read_symlink(self.program).string();
  std::vector<std::string> words{"gdb", "-ex", "run", "--args", program};
  words.insert(words.end(), self.arguments.begin(), self.arguments.end());
  for (const std::string& word :
       {std::string("trial"), std::string("rerun"), options.id, std::string("--here"), std::string("--db"),
        context.db, std::string("--target"), context.target})
    words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp("gdb", argv.data());
  throw std::runtime_error(std::string("trial rerun --gdb: cannot start gdb: ") + std::strerror(errno) +
                           "; install it, or see what --sanitize finds");
}

/// Lowering makes buffers flat; elements stay where they are.
interp::Array shaped_as(const interp::Array& like, const interp::Array& flat) {
  if (flat.dtype() != like.dtype() || flat.bytes() != like.bytes()) return flat;
  interp::Array shaped(like.dtype(), like.shape());
  if (flat.bytes() > 0) std::memcpy(shaped.data(), flat.data(), flat.bytes());
  return shaped;
}

/// The schedule in the reference interpreter, which checks every access.
int sanitize(const Context& context, const Found& found, const Target& target) {
  Schedule s(found.program);
  s.replay(Trace::from_json(found.trial.trace));
  const std::vector<interp::Array> inputs = interp::random_inputs(found.program, found.trial.seed);
  const interp::Outcome reference = interp::run(found.program, inputs);
  bool good = true;
  ordered_json all = ordered_json::object();
  const auto check = [&](const char* what, const Program& program) {
    const interp::Outcome out = interp::run(program, inputs);
    std::string problems = out.report.text();
    for (std::size_t i = 0; i < out.outputs.size(); ++i) {
      const interp::Difference d =
          interp::difference(shaped_as(reference.outputs[i], out.outputs[i]), reference.outputs[i]);
      if (d.max_relative > 1e-3)
        problems += (problems.empty() ? "" : "\n") + std::string("output: ") + d.text;
    }
    all[what] = problems;
    if (!context.json) std::printf("%s: %s\n", what, problems.empty() ? "no violation" : problems.c_str());
    good &= problems.empty();
  };
  check("as scheduled", s.program());
  check("as lowered", lower_until(s.program(), target));
  if (context.json) print_json(all);
  return good ? kDone : kFailed;
}

Measurement measure(const Context& context, const TrialArguments& options, const Found& found,
                    const Target& target) {
  Schedule s(found.program);
  s.replay(Trace::from_json(found.trial.trace));
  if (options.here) return measure_here(found.program, s.program(), target);
  const tuner::Candidate batch[] = {{s.trace(), s.program(), structural_hash(s.program())}};
  tuner::MeasureOptions how;
  how.timeout = options.timeout;
  how.cold = found.trial.regime == records::Regime::Cold;
  return tuner::process_measurer({.command = own_command(context)})
      ->measure({found.program, target}, batch, how)
      .at(0);
}

int rerun(const Context& context, const TrialArguments& options) {
  if (options.gdb) return debug(context, options);
  const Found found = find(context, options.id);
  const Target target = Target::parse(context.target);
  if (found.target.fingerprint != target.fingerprint())
    std::fprintf(stderr, "note: the trial was made for %s, this is %s\n", found.target.name.c_str(),
                 target.name.c_str());
  if (options.sanitize) return sanitize(context, found, target);
  const Measurement m = measure(context, options, found, target);
  const bool good = m.failure == records::Failure::None;
  if (context.json) {
    print_json({{"trial", found.trial.uid.hex()},
                {"then", outcome(found.trial)},
                {"failure", records::to_string(m.failure)},
                {"error", m.error_text},
                {"ms", m.p10() * 1e3},
                {"samples", m.seconds},
                {"max_error", m.max_error}});
  } else {
    std::printf("then  %s\n", outcome(found.trial).c_str());
    if (good)
      std::printf("now   %.4g ms, verified: greatest error %.3g of the tolerance\n", m.p10() * 1e3,
                  m.max_error);
    else
      std::printf("now   %s: %s\n", std::string(records::to_string(m.failure)).c_str(), m.error_text.c_str());
  }
  return good ? kDone : kFailed;
}

}  // namespace

void add_trial(CLI::App& app, Context& context) {
  auto options = std::make_shared<TrialArguments>();
  CLI::App* trial = app.add_subcommand("trial", "One attempt of a session: show it, repeat it");
  trial->require_subcommand(1);
  const auto verb = [&](const char* name, const char* about) {
    CLI::App* sub = trial->add_subcommand(name, about);
    sub->add_option("id", options->id,
                    "Its id, or at least 6 leading digits of it (`lathe db best`, `lathe session show`)")
        ->required();
    add_target(*sub, context);
    add_db(*sub, context);
    add_json(*sub, context);
    return sub;
  };
  CLI::App* shown = verb("show", "What was tried, and what it gave");
  shown->add_option("--as", options->as, "summary, trace, loops, llvm or asm")
      ->check(CLI::IsMember({"summary", "trace", "loops", "llvm", "asm"}))
      ->capture_default_str();
  context.does(*shown, [&context, options] { return show(context, *options); });
  CLI::App* again = verb("rerun", "Measure it again, in a process of its own");
  again->add_option("--timeout", options->timeout, "Seconds")->check(above(0))->capture_default_str();
  CLI::Option* gdb = again->add_flag("--gdb", options->gdb, "In this process, under gdb");
  again->add_flag("--here", options->here, "In this process");
  again
      ->add_flag(
          "--sanitize", options->sanitize,
          "In the reference interpreter, which checks bounds, initialisation, rewrites and races (slow)")
      ->excludes(gdb);
  context.does(*again, [&context, options] { return rerun(context, *options); });
}

}  // namespace lathe::command_line
