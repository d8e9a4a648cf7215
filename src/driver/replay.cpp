#include "lathe/replay.h"

#include <unistd.h>

#include "codegen/llvm/version.h"
#include "lathe/runtime/affinity.h"
#include "support/error_codes/tuner.h"

namespace lathe {
namespace {

bool same_program(const std::string& a, const std::string& b) {
  try {
    return structural_equal(program_from_json(a), program_from_json(b));
  } catch (const UserError&) {
    return false;  // a stored program that this version cannot read is not the one asked for
  }
}

}  // namespace

records::Key record_key(const Workload& workload, const Target& target) {
  records::Key key;
  key.workload.program = structural_hash(workload.program);
  key.workload.program_json = to_json(workload.program);
  key.workload.name = workload.spec.substr(0, workload.spec.find('('));
  key.workload.spec = workload.spec;
  key.target.fingerprint = target.fingerprint();
  key.target.name = target.name;
  key.target.json = target.identity();
  key.semantics = kScheduleSemantics;
  return key;
}

records::Query record_query(const Workload& workload, const Target& target, records::Regime regime) {
  records::Query query;
  query.key = record_key(workload, target);
  query.regime = regime;
  if (target.is_cpu()) query.threads = target.cpu().cores;
  query.current = this_provenance();
  return query;
}

records::OpenOptions store_options() {
  records::OpenOptions options;
  options.same_program = same_program;
  return options;
}

records::OpenOptions read_only_store() {
  records::OpenOptions options = store_options();
  options.mode = records::OpenMode::ReadOnly;
  options.create = false;
  return options;
}

Schedule replay(const Workload& workload, const records::Trial& trial) {
  Schedule s(workload.program);
  s.replay(Trace::from_json(trial.trace));
  if (trial.scheduled && *trial.scheduled != structural_hash(s.program())) {
    throw RecordError(code::U021,
                      "the record's trace gives another program than the one that was measured; it was made "
                      "by a version whose primitives differ");
  }
  return s;
}

std::string version() { return LATHE_VERSION; }

records::Provenance this_provenance() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  records::Provenance p;
  p.lathe = version();
  p.llvm = codegen::cpu::llvm_version();
  p.host = host;
  p.host_class = records::host_class(p.host, runtime::default_num_threads());
  return p;
}

}  // namespace lathe
