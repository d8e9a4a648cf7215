#include "records/file_state.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "records/sqlite.h"
#include "support/error_codes/records.h"

namespace lathe::records {

namespace {

namespace fs = std::filesystem;

struct Magic {
  std::uint64_t value;
  std::string_view name;
};

// linux/magic.h, and the manual page of statfs for those that it lacks.
constexpr Magic kNetwork[] = {
    {0x6969, "NFS"},
    {0xff534d42, "SMB (CIFS)"},
    {0xfe534d42, "SMB"},
    {0x517b, "SMB"},
    {0x65735546, "FUSE"},
    {0x01021997, "9P"},
    {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},
    {0x00c36400, "Ceph"},
    {0x564c, "NCP"},
    {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"},
    {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"},
    {0x786f4256, "VirtualBox shared folder"},
    {0xbacbacbc, "VMware shared folder"},
};

std::int64_t size_or_zero(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
}

// Root passes every permission check; a file that nobody may write is still meant to stay as it is.
bool any_write_bit(const struct stat& info) { return (info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) != 0; }

std::int32_t big_endian(const unsigned char* bytes) {
  return static_cast<std::int32_t>(std::uint32_t(bytes[0]) << 24 | std::uint32_t(bytes[1]) << 16 |
                                   std::uint32_t(bytes[2]) << 8 | std::uint32_t(bytes[3]));
}

std::string missing_part(const fs::path& directory) {
  fs::path part;
  for (const fs::path& step : directory) {
    part /= step;
    std::error_code ignored;
    if (!fs::is_directory(part, ignored)) break;
  }
  return part.string();
}

}  // namespace

std::string_view network_file_system(std::uint64_t magic) {
  for (const Magic& entry : kNetwork) {
    if (entry.value == (magic & 0xffffffff)) return entry.name;
  }
  return {};
}

std::string_view network_file_system_of(const std::string& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return {};
  return network_file_system(static_cast<std::uint64_t>(info.f_type));
}

void refuse_file_system(const std::string& path, std::string_view kind) {
  if (kind.empty()) return;
  throw RecordError(
      code::R007,
      "record store '" + path + "' lies on a network or user-space file system (" + std::string(kind) +
          "), where locks and shared memory between processes do not hold, so that two writers would destroy "
          "it. Keep the store on a local disk and exchange text logs (`lathe db export`, `lathe db import`), "
          "or set trust_file_system where the file system is known to do both.");
}

FileState look_at(const std::string& path) {
  fs::path directory = fs::path(path).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    throw RecordError(code::R001, "record store '" + path + "': '" + missing_part(directory) +
                                      "' is not a directory that exists. Create it, or correct the path.");
  }
  FileState state;
  struct stat info {};
  state.directory_writable = ::access(directory.c_str(), W_OK | X_OK) == 0 &&
                             ::stat(directory.c_str(), &info) == 0 && any_write_bit(info);
  if (::stat(path.c_str(), &info) != 0) return state;
  if (!S_ISREG(info.st_mode)) {
    throw RecordError(code::R010, "record store '" + path + "' is " +
                                      (S_ISDIR(info.st_mode) ? "a directory" : "not a regular file") +
                                      ". Name a file, for example '" + path +
                                      (S_ISDIR(info.st_mode) ? "/records.db'." : ".db'."));
  }
  state.exists = true;
  state.bytes = info.st_size;
  state.file_writable = ::access(path.c_str(), W_OK) == 0 && any_write_bit(info);
  state.has_log = size_or_zero(path + "-wal") > 0;
  state.has_log_file = ::access((path + "-wal").c_str(), F_OK) == 0;
  state.has_journal = size_or_zero(path + "-journal") > 0;
  state.has_shared_memory = ::access((path + "-shm").c_str(), F_OK) == 0;
  return state;
}

std::string uri_of(const std::string& path, const char* query) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02x", static_cast<unsigned char>(c));
      uri += escaped;
    } else {
      uri += c;
    }
  }
  return uri + "?" + query;
}

// Through SQLite's own file handle: a plain open and close of the file would drop the POSIX locks that
// another store of this process holds on it.
std::optional<Header> read_header(const std::string& path) {
  Connection connection(uri_of(path, "mode=ro&immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, path,
                        std::chrono::milliseconds(0));
  sqlite3_file* file = nullptr;
  int rc = sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (rc != SQLITE_OK || !file || !file->pMethods) connection.fail(SQLITE_CANTOPEN);
  std::array<unsigned char, 112> bytes{};
  rc = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (rc == SQLITE_IOERR_SHORT_READ) {
    // A short file that starts otherwise is something else; one that starts like a database was cut.
    Header header;
    header.sqlite = std::memcmp(bytes.data(), "SQLite format 3", 15) == 0;
    return header.sqlite ? std::nullopt : std::optional<Header>(header);
  }
  if (rc != SQLITE_OK) connection.fail(rc);
  Header header;
  header.sqlite = std::memcmp(bytes.data(), "SQLite format 3", 16) == 0;
  if (!header.sqlite) return header;
  header.version = big_endian(&bytes[60]);
  header.application = big_endian(&bytes[68]);
  header.write_ahead = bytes[18] == 2;
  // Page 1 is the leaf of the schema table until that outgrows a page: type 13 and no cells means no tables.
  header.empty_schema = bytes[100] == 13 && bytes[103] == 0 && bytes[104] == 0;
  return header;
}

}  // namespace lathe::records
