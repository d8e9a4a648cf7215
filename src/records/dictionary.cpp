// The small tables that trials refer to.

#include <chrono>

#include "records/store.h"
#include "support/error_codes/records.h"

namespace lathe::records {

std::int64_t RecordStore::Impl::provenance_id(const Provenance& p) {
  if (auto found = dictionary.provenance_ids.find(p); found != dictionary.provenance_ids.end())
    return found->second;
  auto find = [&]() -> std::int64_t {
    Statement query(db(),
                    "SELECT id FROM provenances WHERE lathe = ? AND llvm = ? AND nvrtc = ? AND driver = ? "
                    "AND host = ? AND host_class = ?",
                    p.lathe, p.llvm, p.nvrtc, p.driver, p.host, p.host_class);
    return query.step() ? query.integer(0) : 0;
  };
  std::int64_t id = find();
  if (id == 0) {
    Statement(
        db(),
        "INSERT INTO provenances(lathe, llvm, nvrtc, driver, host, host_class) VALUES(?, ?, ?, ?, ?, ?)",
        p.lathe, p.llvm, p.nvrtc, p.driver, p.host, p.host_class)
        .run();
    id = db().last_id();
  }
  dictionary.provenances[id] = p;
  return dictionary.provenance_ids[p] = id;
}

const Provenance& RecordStore::Impl::provenance(std::int64_t id) {
  auto [entry, added] = dictionary.provenances.try_emplace(id);
  if (added) {
    Statement query(db(), "SELECT lathe, llvm, nvrtc, driver, host, host_class FROM provenances WHERE id = ?",
                    id);
    if (query.step()) {
      entry->second = {query.string(0), query.string(1), query.string(2),
                       query.string(3), query.string(4), query.string(5)};
    }
  }
  return entry->second;
}

std::int64_t RecordStore::Impl::find_host_class(const std::string& name) {
  if (auto found = dictionary.host_class_ids.find(name); found != dictionary.host_class_ids.end())
    return found->second;
  Statement query(db(), "SELECT id FROM host_classes WHERE name = ?", name);
  if (!query.step()) return 0;
  return dictionary.host_class_ids[name] = query.integer(0);
}

std::int64_t RecordStore::Impl::host_class_id(const std::string& name) {
  if (std::int64_t id = find_host_class(name)) return id;
  Statement(db(), "INSERT INTO host_classes(name) VALUES(?)", name).run();
  return dictionary.host_class_ids[name] = db().last_id();
}

std::int64_t RecordStore::Impl::session_id(const Digest& uid) {
  if (auto found = dictionary.session_ids.find(uid); found != dictionary.session_ids.end())
    return found->second;
  auto find = [&]() -> std::int64_t {
    Statement query(db(), "SELECT id FROM sessions WHERE uid = ?", uid);
    return query.step() ? query.integer(0) : 0;
  };
  std::int64_t id = find();
  if (id == 0) {
    Statement(db(),
              "INSERT INTO sessions VALUES(NULL, ?, ?, 0, '{}', 0, 0, '{}', '', 0, 0, 0, 0, NULL, '', 0, 0)",
              uid, static_cast<int>(SessionState::External))
        .run();
    id = db().last_id();
  }
  dictionary.session_uids[id] = uid;
  return dictionary.session_ids[uid] = id;
}

Digest RecordStore::Impl::session_uid(std::int64_t id) {
  if (auto found = dictionary.session_uids.find(id); found != dictionary.session_uids.end())
    return found->second;
  Statement query(db(), "SELECT uid FROM sessions WHERE id = ?", id);
  return query.step() ? dictionary.session_uids[id] = query.digest(0) : Digest();
}

Digest RecordStore::Impl::program_of(std::int64_t workload) {
  if (auto found = dictionary.programs.find(workload); found != dictionary.programs.end())
    return found->second;
  Statement query(db(), "SELECT program FROM workloads WHERE id = ?", workload);
  return query.step() ? dictionary.programs[workload] = query.digest(0) : Digest();
}

Digest RecordStore::Impl::fingerprint_of(std::int64_t target) {
  if (auto found = dictionary.fingerprints.find(target); found != dictionary.fingerprints.end())
    return found->second;
  Statement query(db(), "SELECT fingerprint FROM targets WHERE id = ?", target);
  return query.step() ? dictionary.fingerprints[target] = query.digest(0) : Digest();
}

bool RecordStore::Impl::same_program(const std::string& a, const std::string& b) const {
  return a == b || (options.same_program && options.same_program(a, b));
}

std::int64_t RecordStore::Impl::now_us() {
  using namespace std::chrono;
  std::int64_t now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  last_created_us = std::max(now, last_created_us + 1);
  return last_created_us;
}

void RecordStore::Impl::check_key(const KeyRef& key) const {
  if (key.store == tag()) return;
  throw RecordError(code::R012, "the key is not one of record store '" + connection->path() +
                                    "'. Take it from intern() of the same store.");
}

// Smaller (name, json) wins where texts differ under one fingerprint, so that merging does not depend on the
// order.
std::int64_t intern_target(RecordStore::Impl& impl, const Digest& fingerprint, const std::string& name,
                           const std::string& json) {
  std::int64_t id = 0;
  {
    Statement query(impl.db(), "SELECT id, name, json FROM targets WHERE fingerprint = ?", fingerprint);
    if (query.step()) {
      id = query.integer(0);
      if (std::pair(query.text(1), query.text(2)) <=
          std::pair(std::string_view(name), std::string_view(json)))
        return id;
    }
  }
  if (id != 0) {
    Statement(impl.db(), "UPDATE targets SET name = ?, json = ? WHERE id = ?", name, json, id).run();
    return id;
  }
  Statement(impl.db(), "INSERT INTO targets(fingerprint, name, json) VALUES(?, ?, ?)", fingerprint, name,
            json)
      .run();
  return impl.db().last_id();
}

// One row a program, whatever it is called; of equal programs with different texts (names) the smaller text
// stays.
std::int64_t intern_workload(RecordStore::Impl& impl, const Digest& program, const std::string& json) {
  std::int64_t same = 0;
  bool smaller = false;
  {
    Statement query(impl.db(), "SELECT id, json FROM workloads WHERE program = ? ORDER BY id", program);
    while (same == 0 && query.step()) {
      std::string known = query.string(1);
      if (!impl.same_program(known, json)) continue;
      same = query.integer(0);
      smaller = json < known;
    }
  }
  if (same != 0) {
    if (smaller) Statement(impl.db(), "UPDATE workloads SET json = ? WHERE id = ?", json, same).run();
    return same;
  }
  Statement(impl.db(), "INSERT INTO workloads(program, json) VALUES(?, ?)", program, json).run();
  return impl.db().last_id();
}

void intern_name(RecordStore::Impl& impl, std::int64_t workload, const std::string& name,
                 const std::string& spec) {
  Statement(impl.db(), "INSERT OR IGNORE INTO workload_names(workload, name, spec) VALUES(?, ?, ?)", workload,
            name, spec)
      .run();
}

}  // namespace lathe::records
