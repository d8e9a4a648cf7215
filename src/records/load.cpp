// Rows to values.

#include <sqlite3.h>

#include <cstring>
#include <tuple>

#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

constexpr const char* kTrial =
    "SELECT id, workload, target, semantics, uid, failure, servable, stale, regime, p10, minimum, "
    "created_us, session, provenance, seed, round, "
    "proposal, scheduled, binary, times, accepted, max_error, tolerance, reference, core_mhz, memory_mhz, "
    "registers, spill_bytes, shared_bytes, "
    "error_code, error_text, trace FROM trials WHERE id = ?";

std::vector<double> times_from(std::string_view blob) {
  std::vector<double> times(blob.size() / sizeof(double));
  if (!times.empty()) std::memcpy(times.data(), blob.data(), times.size() * sizeof(double));
  return times;
}

}  // namespace

Trial load_trial(RecordStore::Impl& impl, std::int64_t id) {
  Statement row(impl.db(), kTrial, id);
  if (!row.step())
    throw RecordError(code::R013, "record store '" + impl.db().path() + "' has no trial " +
                                      std::to_string(id) +
                                      ". `lathe db ls` and `lathe db best` show what there is.");
  Trial t;
  int column = 0;
  t.id = row.integer(column++);
  t.key.store = impl.tag();
  t.key.workload = row.integer(column++);
  t.key.target = row.integer(column++);
  t.key.semantics = static_cast<int>(row.integer(column++));
  t.uid = row.digest(column++);
  t.failure = static_cast<Failure>(row.integer(column++));
  t.servable = row.integer(column++) != 0;
  t.stale = row.integer(column++) != 0;
  t.regime = static_cast<Regime>(row.integer(column++));
  t.p10 = row.real(column++);
  t.minimum = row.real(column++);
  t.created_us = row.integer(column++);
  if (auto session = row.optional_integer(column++)) t.session = impl.session_uid(*session);
  t.provenance = impl.provenance(row.integer(column++));
  t.seed = static_cast<std::uint64_t>(row.integer(column++));
  t.round = row.integer(column++);
  t.proposal = row.integer(column++);
  t.scheduled = row.optional_digest(column++);
  t.binary = row.optional_digest(column++);
  t.times = times_from(row.blob(column++));
  t.verification.accepted = row.integer(column++) != 0;
  t.verification.max_error = row.optional_real(column++);
  t.verification.tolerance = row.optional_real(column++);
  t.verification.reference = row.string(column++);
  t.core_mhz = row.optional_real(column++);
  t.memory_mhz = row.optional_real(column++);
  t.registers = row.optional_integer(column++);
  t.spill_bytes = row.optional_integer(column++);
  t.shared_bytes = row.optional_integer(column++);
  t.error_code = row.string(column++);
  t.error_text = row.string(column++);
  t.trace = row.string(column++);
  return t;
}

Workload load_workload(RecordStore::Impl& impl, std::int64_t id, bool with_program) {
  Workload workload;
  {
    Statement row(impl.db(), "SELECT program, json FROM workloads WHERE id = ?", id);
    if (!row.step()) return workload;
    workload.program = row.digest(0);
    if (with_program) workload.program_json = row.string(1);
  }
  Statement names(impl.db(),
                  "SELECT name, spec FROM workload_names WHERE workload = ? ORDER BY name, spec LIMIT 1", id);
  if (names.step()) {
    workload.name = names.string(0);
    workload.spec = names.string(1);
  }
  return workload;
}

TargetRecord load_target(RecordStore::Impl& impl, std::int64_t id) {
  Statement row(impl.db(), "SELECT fingerprint, name, json FROM targets WHERE id = ?", id);
  if (!row.step()) return {};
  return {row.digest(0), row.string(1), row.string(2)};
}

namespace {

bool is_prefix_of(const std::string& digits, const Digest& digest) {
  return digits.size() >= 6 && digest.hex().starts_with(digits);
}

bool workload_fits(RecordStore::Impl& impl, const std::string& wanted, std::int64_t id) {
  if (wanted.empty() || is_prefix_of(wanted, impl.program_of(id))) return true;
  Statement names(impl.db(), "SELECT 1 FROM workload_names WHERE workload = ? AND (name = ? OR spec = ?)", id,
                  wanted, wanted);
  return names.step();
}

bool target_fits(RecordStore::Impl& impl, const std::string& wanted, std::int64_t id) {
  if (wanted.empty() || is_prefix_of(wanted, impl.fingerprint_of(id))) return true;
  Statement names(impl.db(), "SELECT 1 FROM targets WHERE id = ? AND name = ?", id, wanted);
  return names.step();
}

// The next key in the order of the identity index: a seek a key, where DISTINCT would read every entry.
std::optional<KeyRef> next_key(RecordStore::Impl& impl, const KeyRef& after) {
  Statement query(
      impl.db(),
      "SELECT workload, target, semantics FROM trials WHERE (workload, target, semantics) > (?, ?, ?) "
      "ORDER BY workload, target, semantics LIMIT 1",
      after.workload, after.target, after.semantics);
  if (!query.step()) return std::nullopt;
  const KeyRef next{query.integer(0), query.integer(1), static_cast<int>(query.integer(2)), impl.tag()};
  // A damaged index may answer with what it was asked to pass, for ever.
  const bool further = std::tie(next.workload, next.target, next.semantics) >
                       std::tie(after.workload, after.target, after.semantics);
  if (!further) impl.db().fail(SQLITE_CORRUPT);
  return next;
}

}  // namespace

std::vector<KeyRef> keys_of(RecordStore::Impl& impl, std::int64_t workload) {
  std::vector<KeyRef> keys;
  KeyRef key{workload, -1, -1};
  while (auto next = next_key(impl, key)) {
    if (next->workload != workload) break;
    keys.push_back(key = *next);
  }
  return keys;
}

std::vector<KeyRef> select_keys(RecordStore::Impl& impl, const Filter& filter) {
  std::vector<KeyRef> keys;
  KeyRef key{-1, -1, -1};
  while (auto next = next_key(impl, key)) {
    key = *next;
    if (filter.semantics && *filter.semantics != key.semantics) continue;
    if (workload_fits(impl, filter.workload, key.workload) && target_fits(impl, filter.target, key.target))
      keys.push_back(key);
  }
  return keys;
}

}  // namespace lathe::records
