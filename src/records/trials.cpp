// Inserting trials, and the one rule of which of them may be served.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "records/json_text.h"
#include "records/lines.h"
#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

constexpr std::size_t kMaxTrace = 16u << 20;

[[noreturn]] void refuse(std::string problem, std::string way_out) {
  throw Refusal{std::move(problem), std::move(way_out)};
}

double nearest_rank_p10(std::vector<double> samples) {
  std::size_t rank = (samples.size() + 9) / 10;  // the smallest sample with at least a tenth at or below it
  std::nth_element(samples.begin(), samples.begin() + (rank - 1), samples.end());
  return samples[rank - 1];
}

void check_positive(const std::optional<double>& value, const char* what) {
  if (value && !(std::isfinite(*value) && *value >= 0))
    refuse(std::string("its ") + what + " is not a finite number from 0",
           "Leave it out where it is unknown.");
}

constexpr double kShortest = 1e-12;  // seconds; nothing is that fast, and it would be the best for ever

void check_outcome(Trial& trial) {
  for (double sample : trial.times) {
    if (!std::isfinite(sample) || sample < kShortest) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%g", sample);
      refuse("a sample of its time is " + std::string(seconds) + " s",
             "A candidate that did not run is a failure with its class, not a number.");
    }
  }
  Verification& v = trial.verification;
  if (v.max_error && std::isnan(*v.max_error)) v.max_error = std::numeric_limits<double>::infinity();
  if (v.max_error && *v.max_error < 0)
    refuse("its error against the reference is negative", "Give the largest absolute difference.");
  check_positive(v.tolerance, "tolerance");
  check_positive(trial.core_mhz, "core clock");
  check_positive(trial.memory_mhz, "memory clock");
  trial.p10 = trial.minimum = 0;
  if (trial.failure != Failure::None) {
    if (static_cast<int>(trial.failure) > static_cast<int>(Failure::Other))
      refuse("its class of failure is unknown", "Use Failure::Other.");
    if (refutes(trial.failure) && v.accepted)
      refuse("it is accepted and refuted at once", "Say verification.accepted = false.");
    return;
  }
  if (trial.times.empty())
    refuse("it has neither times nor a class of failure", "Give the samples, or say why there are none.");
  if (!v.accepted)
    refuse("it has a time, but its output was not accepted by verification",
           "Verify first; a rejected output is Failure::WrongResult.");
  if (!trial.scheduled)
    refuse("it has a time, but no hash of the scheduled program",
           "Give structural_hash of the program that was compiled.");
  trial.p10 = nearest_rank_p10(trial.times);
  trial.minimum = *std::min_element(trial.times.begin(), trial.times.end());
}

void clean(Trial& trial) {
  trial.error_code = clean_text(trial.error_code, 64);
  trial.error_text = clean_text(trial.error_text);
  trial.verification.reference = clean_text(trial.verification.reference, 1024);
  Provenance& p = trial.provenance;
  for (std::string* text : {&p.lathe, &p.llvm, &p.nvrtc, &p.driver, &p.host, &p.host_class})
    *text = clean_text(*text, 1024);
  if (p.host_class.empty()) p.host_class = p.host;
}

// Which of the trials of one candidate may be served.
//
// A refutation takes the candidate out, unless it comes from other versions than an acceptance that is up to
// date: wrong code of an old compiler says nothing of the new one's. A time of now replaces a stale time of
// the same schedule, so that after an upgrade a leader is judged by its new time; other stale times stand
// until their schedule is measured again, because a production build must not fall back to the first bad
// candidate of a new session.
struct Sibling {
  std::int64_t id;
  Failure failure;
  bool stale, servable;
  std::int64_t regime, host_class;
  bool fresh_time() const { return failure == Failure::None && !stale; }
};

class Judgement {
 public:
  explicit Judgement(const std::vector<Sibling>& all) {
    for (const Sibling& s : all) {
      if (refutes(s.failure)) (s.stale ? refuted_once_ : refuted_) = true;
      if (s.fresh_time()) fresh_.insert({s.regime, s.host_class});
    }
  }
  bool may_serve(const Sibling& trial) const {
    if (trial.failure != Failure::None || refuted_) return false;
    return !trial.stale || (!refuted_once_ && fresh_.count({trial.regime, trial.host_class}) == 0);
  }

 private:
  bool refuted_ = false, refuted_once_ = false;            // by a trial of now, by a stale one
  std::set<std::pair<std::int64_t, std::int64_t>> fresh_;  // regimes and host classes with a time of now
};

struct Group {
  KeyRef key;
  std::int64_t regime, host_class;
  friend auto operator<=>(const Group&, const Group&) = default;
};

void replace_winner(RecordStore::Impl& impl, const Group& g, std::int64_t trial) {
  Statement(impl.db(),
            "INSERT OR REPLACE INTO winners(workload, target, semantics, regime, host_class, trial) "
            "VALUES(?, ?, ?, ?, ?, ?)",
            g.key.workload, g.key.target, g.key.semantics, g.regime, g.host_class, trial)
      .run();
}

void recompute_winner(RecordStore::Impl& impl, const Group& g) {
  std::int64_t best = 0;
  {
    Statement query(impl.db(),
                    "SELECT id FROM trials WHERE workload = ? AND target = ? AND semantics = ? AND regime = "
                    "? AND host_class = ? AND servable = 1 "
                    "ORDER BY p10, created_us, uid LIMIT 1",
                    g.key.workload, g.key.target, g.key.semantics, g.regime, g.host_class);
    if (query.step()) best = query.integer(0);
  }
  if (best != 0) {
    replace_winner(impl, g, best);
  } else {
    Statement(impl.db(),
              "DELETE FROM winners WHERE workload = ? AND target = ? AND semantics = ? AND regime = ? AND "
              "host_class = ?",
              g.key.workload, g.key.target, g.key.semantics, g.regime, g.host_class)
        .run();
  }
}

// Cheaper than recomputing: a new trial can only take the place, never vacate it.
void offer_winner(RecordStore::Impl& impl, const Group& g, const Trial& trial, std::int64_t id) {
  bool better = true;
  {
    Statement query(impl.db(),
                    "SELECT t.p10, t.created_us, t.uid FROM winners w JOIN trials t ON t.id = w.trial WHERE "
                    "w.workload = ? AND w.target = ? AND "
                    "w.semantics = ? AND w.regime = ? AND w.host_class = ?",
                    g.key.workload, g.key.target, g.key.semantics, g.regime, g.host_class);
    if (query.step()) {
      better = std::tuple(trial.p10, trial.created_us, trial.uid) <
               std::tuple(query.real(0), query.integer(1), query.digest(2));
    }
  }
  if (better) replace_winner(impl, g, id);
}

std::vector<Sibling> siblings_of(RecordStore::Impl& impl, const KeyRef& key, const Digest& candidate) {
  std::vector<Sibling> all;
  Statement query(impl.db(),
                  "SELECT id, failure, stale, servable, regime, host_class FROM trials WHERE workload = ? "
                  "AND target = ? AND semantics = ? AND "
                  "candidate = ?",
                  key.workload, key.target, key.semantics, candidate);
  while (query.step()) {
    all.push_back({query.integer(0), static_cast<Failure>(query.integer(1)), query.integer(2) != 0,
                   query.integer(3) != 0, query.integer(4), query.integer(5)});
  }
  return all;
}

// Is there a trial of the candidate that may be served, is of now and was measured alike? Then another such trial may be
// served, too, and changes nothing for the others: no need to look at them, of whom a default schedule has thousands.
bool has_equal(RecordStore::Impl& impl, const ReadyTrial& ready, std::int64_t host_class) {
  const Trial& t = ready.trial;
  if (t.failure != Failure::None || t.stale) return false;
  // By name, or SQLite takes the index of the best, which has more of these columns but no candidate: it would be read whole.
  return Statement(impl.db(),
                   "SELECT 1 FROM trials INDEXED BY trials_identity WHERE workload = ? AND target = ? AND "
                   "semantics = ? AND candidate = ? AND "
                   "servable = 1 AND stale = 0 AND regime = ? AND host_class = ? LIMIT 1",
                   t.key.workload, t.key.target, t.key.semantics, ready.candidate, static_cast<int>(t.regime),
                   host_class)
      .step();
}

bool has_siblings(RecordStore::Impl& impl, const ReadyTrial& ready) {
  const KeyRef& key = ready.trial.key;
  return Statement(impl.db(),
                   "SELECT 1 FROM trials WHERE workload = ? AND target = ? AND semantics = ? AND candidate = "
                   "? LIMIT 1",
                   key.workload, key.target, key.semantics, ready.candidate)
      .step();
}

std::string times_blob(const std::vector<double>& times) {
  static_assert(std::endian::native == std::endian::little, "the file stores times as little-endian float64");
  return std::string(reinterpret_cast<const char*>(times.data()), times.size() * sizeof(double));
}

std::optional<double> timed(const Trial& trial, double value) {
  return trial.failure == Failure::None ? std::optional(value) : std::nullopt;
}

bool insert_row(RecordStore::Impl& impl, const ReadyTrial& ready, std::int64_t host_class, bool servable) {
  const Trial& t = ready.trial;
  std::optional<std::int64_t> session;
  if (t.session) session = impl.session_id(*t.session);
  std::int64_t provenance = impl.provenance_id(t.provenance);
  std::string times = times_blob(t.times);
  Statement(impl.db(),
            "INSERT INTO trials(workload, target, semantics, candidate, uid, failure, servable, stale, "
            "regime, host_class, p10, minimum, created_us, "
            "session, provenance, seed, round, proposal, scheduled, binary, times, accepted, max_error, "
            "tolerance, reference, core_mhz, memory_mhz, "
            "registers, spill_bytes, shared_bytes, error_code, error_text, trace) "
            "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
            "ON CONFLICT(workload, target, semantics, candidate, uid) DO NOTHING",
            t.key.workload, t.key.target, t.key.semantics, ready.candidate, t.uid,
            static_cast<int>(t.failure), servable, t.stale, static_cast<int>(t.regime), host_class,
            timed(t, t.p10), timed(t, t.minimum), t.created_us, session, provenance,
            static_cast<std::int64_t>(t.seed), t.round, t.proposal, t.scheduled, t.binary,
            Statement::Blob{times}, t.verification.accepted, t.verification.max_error,
            t.verification.tolerance, t.verification.reference, t.core_mhz, t.memory_mhz, t.registers,
            t.spill_bytes, t.shared_bytes, t.error_code, t.error_text, t.trace)
      .run();
  return impl.db().changes() > 0;
}

void adopt_stale(RecordStore::Impl& impl, const ReadyTrial& ready) {
  const KeyRef& key = ready.trial.key;
  Statement(impl.db(),
            "UPDATE trials SET stale = 1 WHERE workload = ? AND target = ? AND semantics = ? AND candidate = "
            "? AND uid = ?",
            key.workload, key.target, key.semantics, ready.candidate, ready.trial.uid)
      .run();
}

void settle_candidate(RecordStore::Impl& impl, const KeyRef& key, const Digest& candidate) {
  std::set<Group> touched;
  std::vector<Sibling> all = siblings_of(impl, key, candidate);
  const Judgement judgement(all);
  for (const Sibling& trial : all) {
    bool servable = judgement.may_serve(trial);
    if (servable == trial.servable) continue;
    Statement(impl.db(), "UPDATE trials SET servable = ? WHERE id = ?", servable, trial.id).run();
    touched.insert({key, trial.regime, trial.host_class});
  }
  for (const Group& group : touched) recompute_winner(impl, group);
}

}  // namespace

std::string require_json(const std::string& text, const char* what) {
  try {
    return canonical_json(text);
  } catch (const JsonError& error) {
    throw RecordError(code::R012,
                      std::string(what) + " is not well-formed: " + error.what() + " at byte " +
                          std::to_string(error.column) +
                          "; nothing was written. Hand over the text that Lathe's own writers make.");
  }
}

void normalise(Trial& trial) {
  if (trial.trace.size() > kMaxTrace)
    refuse("its trace has more than 16 MiB", "Unrolled programs do not belong in a trace.");
  try {
    trial.trace = canonical_json(trial.trace);
  } catch (const JsonError& error) {
    refuse(std::string("its trace is not well-formed (") + error.what() + " at byte " +
               std::to_string(error.column) + ")",
           "Hand over what the trace's own writer makes.");
  }
  clean(trial);
  check_outcome(trial);
}

ReadyTrial make_ready(RecordStore::Impl& impl, const Trial& given) {
  ReadyTrial ready{given, {}};
  Trial& trial = ready.trial;
  try {
    Digest program = impl.program_of(trial.key.workload), fingerprint = impl.fingerprint_of(trial.key.target);
    if (trial.key.store != impl.tag() || program.empty() || fingerprint.empty())
      refuse("its key is not one of this store", "Take the key from intern() of the same store.");
    normalise(trial);
    if (trial.created_us == 0) trial.created_us = impl.now_us();
    trial.stale = false;
    trial.uid = uid_of(program, fingerprint, trial);
  } catch (const Refusal& refusal) {
    throw RecordError(code::R012, "a trial cannot be stored: " + refusal.problem + "; nothing was written. " +
                                      refusal.way_out);
  }
  ready.candidate = candidate_of(trial);
  return ready;
}

bool insert_ready(RecordStore::Impl& impl, const ReadyTrial& ready) {
  const Trial& trial = ready.trial;
  std::int64_t host_class = impl.host_class_id(trial.provenance.host_class);
  // Whether nothing has to be settled between it and others.
  bool alone = !has_siblings(impl, ready) || has_equal(impl, ready, host_class);
  bool timed = trial.failure == Failure::None;
  bool added = insert_row(impl, ready, host_class, alone && timed);
  std::int64_t id = impl.db().last_id();
  if (!added && !trial.stale) return false;
  if (!added) adopt_stale(impl, ready);
  if (!alone) {
    settle_candidate(impl, trial.key, ready.candidate);
  } else if (timed) {
    offer_winner(impl, {trial.key, static_cast<std::int64_t>(trial.regime), host_class}, trial, id);
  }
  return added;
}

std::vector<Verdict> verdicts(RecordStore::Impl& impl, const KeyRef& key) {
  std::vector<Verdict> result;
  std::vector<Sibling> all;
  Digest current;
  auto judge = [&] {
    const Judgement judgement(all);
    for (const Sibling& trial : all)
      result.push_back(
          {trial.id, trial.regime, trial.host_class, trial.servable, judgement.may_serve(trial)});
    all.clear();
  };
  Statement row(impl.db(),
                "SELECT candidate, id, failure, stale, servable, regime, host_class FROM trials WHERE "
                "workload = ? AND target = ? AND semantics = ? "
                "ORDER BY candidate",
                key.workload, key.target, key.semantics);
  while (row.step()) {
    if (Digest candidate = row.digest(0); candidate != current) {
      judge();
      current = candidate;
    }
    all.push_back({row.integer(1), static_cast<Failure>(row.integer(2)), row.integer(3) != 0,
                   row.integer(4) != 0, row.integer(5), row.integer(6)});
  }
  judge();
  return result;
}

void settle_key(RecordStore::Impl& impl, const KeyRef& key) {
  std::set<Group> touched;
  for (const Verdict& verdict : verdicts(impl, key)) {
    if (verdict.is == verdict.should) continue;
    Statement(impl.db(), "UPDATE trials SET servable = ? WHERE id = ?", verdict.should, verdict.trial).run();
    touched.insert({key, verdict.regime, verdict.host_class});
  }
  {
    // Deleted trials may have vacated groups that no remaining trial names.
    Statement row(
        impl.db(),
        "SELECT regime, host_class FROM winners WHERE workload = ? AND target = ? AND semantics = ?",
        key.workload, key.target, key.semantics);
    while (row.step()) touched.insert({key, row.integer(0), row.integer(1)});
  }
  for (const Group& group : touched) recompute_winner(impl, group);
}

KeyRef RecordStore::intern(const Key& key) {
  if (key.workload.program.empty() || key.target.fingerprint.empty()) {
    throw RecordError(code::R012,
                      "a key without a program hash or a target fingerprint cannot be stored; nothing was "
                      "written. Compute both first.");
  }
  std::string program = require_json(key.workload.program_json, "the program of a workload");
  std::string target = require_json(key.target.json, "the description of a target");
  Writing turn(*impl_);
  KeyRef ref;
  ref.store = impl_->tag();
  ref.semantics = key.semantics;
  ref.workload = intern_workload(*impl_, key.workload.program, program);
  intern_name(*impl_, ref.workload, clean_text(key.workload.name, 1024),
              clean_text(key.workload.spec, 16384));
  ref.target = intern_target(*impl_, key.target.fingerprint, clean_text(key.target.name, 1024), target);
  turn.commit();
  return ref;
}

Commit RecordStore::insert(std::span<const Trial> trials) {
  std::lock_guard lock(impl_->mutex);
  check_turn(*impl_, true);
  std::vector<ReadyTrial> ready;  // made before the transaction, so that other writers do not wait for it
  ready.reserve(trials.size());
  for (const Trial& trial : trials) ready.push_back(make_ready(*impl_, trial));
  Commit result;
  Writing turn(*impl_);
  for (const ReadyTrial& trial : ready) {
    result.uids.push_back(trial.trial.uid);
    if (!insert_ready(*impl_, trial)) ++result.duplicates;
  }
  turn.commit();
  return result;
}

}  // namespace lathe::records
