#pragma once
// The schema and how an older file becomes a current one.

#include <span>

#include "records/sqlite.h"

namespace lathe::records {

/// Brings a file from version `to - 1` to `to`.
struct Migration {
  int to;
  const char* sql;
};

/// All of them, in order. A released migration is never edited; a change of the schema is a new one.
std::span<const Migration> migrations();
inline int schema_version() { return migrations().back().to; }

/// Applies what is missing, in one immediate transaction: a file is at one version or another, never between.
/// Safe when several processes open a new file at once. Refuses what is not of Lathe (R002) or newer than
/// `steps` (R004).
void migrate(Connection& connection, std::span<const Migration> steps);

/// Throws R002/R004 for a header that this Lathe must not touch.
void check_identity(const std::string& path, std::int64_t application, std::int64_t version, bool has_tables,
                    int newest);

}  // namespace lathe::records
