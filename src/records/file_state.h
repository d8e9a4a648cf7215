#pragma once
// What can be known of a file before SQLite is let near it.
//
// A refused open must not change the file, nor leave a journal beside it; SQLite, opened for writing, may do
// both (a hot journal is rolled back, a WAL recovered). So the header is looked at first through a handle
// that can do neither.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathe::records {

/// "NFS", "SMB", "FUSE", … for a file system whose locks or shared memory cannot be trusted; empty for a
/// local one. `magic` is statfs's f_type.
std::string_view network_file_system(std::uint64_t magic);
/// The same for the file system that holds `path`, an existing file or directory; empty when it cannot be
/// told.
std::string_view network_file_system_of(const std::string& path);

/// Throws R007 for a store at `path` unless `kind` is empty.
void refuse_file_system(const std::string& path, std::string_view kind);

/// "LTHr", in the header at byte 68.
inline constexpr std::int32_t kApplicationId = 0x4c544872;

struct FileState {
  bool exists = false;
  std::int64_t bytes = 0;
  bool has_log = false;  ///< a write-ahead log that is not empty: state that the file alone does not show
  bool has_log_file = false;  ///< a write-ahead log, empty or not
  bool has_shared_memory = false;
  bool has_journal = false;  ///< a rollback journal that is not empty
  bool file_writable = false, directory_writable = false;
};

/// Looks at path, its companions and its directory. Throws R001 (directory missing), R010 (path is a
/// directory).
FileState look_at(const std::string& path);

struct Header {
  bool sqlite = false;        ///< has SQLite's magic
  bool empty_schema = false;  ///< a database without a single table
  bool write_ahead = false;   ///< in WAL mode
  std::int32_t application = 0, version = 0;
};

/// Reads the first page without locks, recovery or side effects. Nothing when the file is shorter than a
/// header.
std::optional<Header> read_header(const std::string& path);

/// A `file:` URI for SQLite with `query` (e.g. "mode=ro").
std::string uri_of(const std::string& path, const char* query);

}  // namespace lathe::records
