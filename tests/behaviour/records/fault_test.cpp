// A file system that fails: a shim round SQLite's own file layer makes one operation of a run fail, each in turn.

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "behaviour/records/fixture.h"
#include "support/error_codes/records.h"

using namespace lathe;
using namespace lathe::records;
using namespace lathe::records::testing;

namespace {

enum class Fault { None, Full, WriteError, SyncError, ReadError, TornWrite };

// Which operation fails, and how often from then on.
struct Plan {
  Fault fault = Fault::None;
  int after = 0;         // operations of its kind that succeed first
  bool forever = false;  // and all later ones fail as well
  int seen = 0;
  bool hits(Fault wanted) {
    if (fault != wanted) return false;
    int index = seen++;
    return index == after || (forever && index > after);
  }
};
Plan plan;

struct File {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }
const sqlite3_io_methods* methods(sqlite3_file* file) { return real(file)->pMethods; }

int file_close(sqlite3_file* f) { return methods(f)->xClose(real(f)); }
int file_read(sqlite3_file* f, void* data, int n, sqlite3_int64 at) {
  return plan.hits(Fault::ReadError) ? SQLITE_IOERR_READ : methods(f)->xRead(real(f), data, n, at);
}
int file_write(sqlite3_file* f, const void* data, int n, sqlite3_int64 at) {
  if (plan.hits(Fault::Full)) return SQLITE_FULL;
  if (plan.hits(Fault::WriteError)) return SQLITE_IOERR_WRITE;
  if (plan.hits(Fault::TornWrite)) {
    methods(f)->xWrite(real(f), data, n / 2, at);
    return SQLITE_IOERR_WRITE;
  }
  return methods(f)->xWrite(real(f), data, n, at);
}
int file_truncate(sqlite3_file* f, sqlite3_int64 size) { return methods(f)->xTruncate(real(f), size); }
int file_sync(sqlite3_file* f, int flags) {
  return plan.hits(Fault::SyncError) ? SQLITE_IOERR_FSYNC : methods(f)->xSync(real(f), flags);
}
int file_size(sqlite3_file* f, sqlite3_int64* size) { return methods(f)->xFileSize(real(f), size); }
int file_lock(sqlite3_file* f, int lock) { return methods(f)->xLock(real(f), lock); }
int file_unlock(sqlite3_file* f, int lock) { return methods(f)->xUnlock(real(f), lock); }
int file_check(sqlite3_file* f, int* out) { return methods(f)->xCheckReservedLock(real(f), out); }
int file_control(sqlite3_file* f, int op, void* data) { return methods(f)->xFileControl(real(f), op, data); }
int file_sector(sqlite3_file* f) { return methods(f)->xSectorSize(real(f)); }
int file_device(sqlite3_file* f) { return methods(f)->xDeviceCharacteristics(real(f)); }
int file_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return methods(f)->xShmMap(real(f), page, size, extend, out);
}
int file_shm_lock(sqlite3_file* f, int at, int n, int flags) {
  return methods(f)->xShmLock(real(f), at, n, flags);
}
void file_barrier(sqlite3_file* f) { methods(f)->xShmBarrier(real(f)); }
int file_unmap(sqlite3_file* f, int remove) { return methods(f)->xShmUnmap(real(f), remove); }

const sqlite3_io_methods kMethods = {
    2,           file_close, file_read,    file_write,  file_truncate, file_sync, file_size,     file_lock,
    file_unlock, file_check, file_control, file_sector, file_device,   file_map,  file_shm_lock, file_barrier,
    file_unmap,  nullptr,    nullptr};

sqlite3_vfs* system_files = nullptr;

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* mine = reinterpret_cast<File*>(file);
  mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
  mine->base.pMethods = nullptr;
  int rc = system_files->xOpen(system_files, name, mine->real, flags, out);
  if (mine->real->pMethods) mine->base.pMethods = &kMethods;
  return rc;
}

// The shim is SQLite's default while it lives.
class Faulty {
 public:
  Faulty() {
    system_files = sqlite3_vfs_find(nullptr);
    shim_ = *system_files;
    shim_.zName = "faulty";
    shim_.szOsFile += sizeof(File);
    shim_.xOpen = open_file;
    plan = {};
    sqlite3_vfs_register(&shim_, 1);
  }
  ~Faulty() {
    plan = {};
    sqlite3_vfs_register(system_files, 1);
    sqlite3_vfs_unregister(&shim_);
  }

 private:
  sqlite3_vfs shim_;
};

bool expected_of(Fault fault, Code code) {
  if (fault == Fault::Full) return code == code::R008;
  return code == code::R010 || code == code::R003 || code == code::R017 || code == code::R002 ||
         code == code::R008;
}

// Opens, inserts, closes, while operation `plan.after` fails. Returns how many inserts were acknowledged.
int run(const std::string& path, Fault fault, int& errors) {
  int acknowledged = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    try {
      RecordStore store = RecordStore::open(path);
      KeyRef key = store.intern(key_of());
      for (; acknowledged < 12; ++acknowledged) insert(store, timed(key, numbered("s", acknowledged), 1e-3));
      return acknowledged;
    } catch (const RecordError& error) {
      INFO(error.what());
      CHECK(expected_of(fault, error.code()));
      ++errors;
      if (plan.forever) return acknowledged;
    }
  }
  return acknowledged;
}

}  // namespace

TEST_CASE("an operation of the file system that fails once costs an error, never a record") {
  Fault fault =
      GENERATE(Fault::Full, Fault::WriteError, Fault::TornWrite, Fault::SyncError, Fault::ReadError);
  Faulty faulty;
  int errors = 0;
  for (int after = 0; after < 60; after += after < 20 ? 1 : 7) {
    Directory directory;
    plan = {fault, after, false, 0};
    int acknowledged = run(directory.file(), fault, errors);
    plan = {};
    CHECK(acknowledged == 12);
    RecordStore store = RecordStore::open(directory.file());
    CHECK(store.statistics().trials == 12);
    CHECK(store.check() == std::vector<std::string>{});
  }
  CHECK(errors > 0);
}

TEST_CASE("a disk that stays full keeps what was acknowledged, and the store goes on when there is space") {
  Faulty faulty;
  int errors = 0;
  for (int after = 0; after < 60; after += after < 20 ? 1 : 7) {
    Directory directory;
    plan = {Fault::Full, after, true, 0};
    int acknowledged = run(directory.file(), Fault::Full, errors);
    plan = {};
    RecordStore store = RecordStore::open(directory.file());
    CHECK(store.statistics().trials == acknowledged);
    CHECK(store.check() == std::vector<std::string>{});
    KeyRef key = store.intern(key_of());
    insert(store, timed(key, "later", 1e-3));
    CHECK(store.statistics().trials == acknowledged + 1);
  }
  CHECK(errors > 0);
}
