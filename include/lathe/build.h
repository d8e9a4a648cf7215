#pragma once
// Building for production: recorded schedules become objects, a header and a manifest.
//
//     RecordStore records = RecordStore::from_text(log, "tunelogs/zen3.jsonl", store_options());
//     Artefact a = build({NamedWorkload::parse("fc1=matmul(m=1,n=4096,k=1024)")},
//                        {Target::parse("x86-64-v2"), Target::parse("@zen3.target.json")}, &records, {});
//     a.write("build/kernels");
//
// An artefact NAME for the targets T… is
//
//     NAME.T.o …       the kernels, one object a target; symbols are hidden
//     NAME.o           what chooses among them when it is called, by the features of the CPU it then runs on
//     libNAME.a        all of these objects
//     NAME.h           for C and C++
//     NAME.json        the manifest: what was built, from which records, for which targets
//
// A constant parameter of a workload (weights) is always prepared: NAME_prepare turns it, once, into the bytes that NAME
// takes in its place. So a function's signature depends on the workload alone, and never on a schedule.
//
// Nothing is searched or timed, records are read and never written, no machine is looked at: the same input gives the same
// bytes. A kernel without a record is an error that lists all of them, or gets its default schedule; the manifest says
// which. Consumers link the objects, or the library, with lathe::runtime and nothing else of Lathe.

#include <string>
#include <vector>

#include "lathe/replay.h"

namespace lathe {

/// A workload, and the name of its C function.
struct NamedWorkload {
  std::string name;
  Workload workload;

  /// "NAME=SPECIFICATION", or a specification alone: then the name says the arguments, "matmul_m512_n512_k512_f32", so that
  /// it does not depend on what else is built. Throws what Workload::parse throws.
  static NamedWorkload parse(const std::string& text);
};

/// What a build does for a workload without a record.
enum class OnMiss : std::uint8_t {
  Error,   ///< refuses, with all that is missing and why
  Default  ///< takes the default schedule and says so
};

struct BuildOptions {
  std::string name = "kernels";  ///< of the files
  std::string prefix = {};       ///< before every kernel's name
  bool hidden = false;           ///< kernels stay inside the shared object that the artefact is linked into
  OnMiss on_miss = OnMiss::Error;
  records::Regime regime = records::Regime::Warm;  ///< whose best records are preferred
};

/// Where the schedule of one kernel for one target comes from.
struct BuiltSchedule {
  std::string kernel, workload, target;
  bool recorded = false;
  std::string record;  ///< the trial's uid; empty for a default schedule
  std::string note;    ///< what is stale about the record, or why there is none
};

struct BuiltFile {
  std::string name, content;
};

struct Artefact {
  std::vector<BuiltFile> files;  ///< objects, header, manifest
  std::vector<BuiltSchedule> schedules;
  /// Targets that were left out because a later one has the same features: at load they could not be told apart.
  std::vector<std::string> left_out;

  /// Makes the folder and writes the files; one appears whole or not at all. Throws UserError C004.
  void write(const std::string& folder) const;
};

/// `records` may be null: then every kernel is a miss. Throws RecordError B001 for misses under OnMiss::Error, B002 for a
/// record that no longer replays, UserError B003 for targets that do not go together, C003 for names that C cannot have.
Artefact build(const std::vector<NamedWorkload>& workloads, const std::vector<Target>& targets,
               const RecordStore* records, const BuildOptions& options = {});

/// The names of the files that `build` will make, in order.
std::vector<std::string> artefact_files(const std::vector<Target>& targets, const BuildOptions& options = {});

}  // namespace lathe
