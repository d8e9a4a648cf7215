#pragma once
// The results, for a terminal, for a program, and for docs/measurements.md.

#include <string>
#include <vector>

#include "../ceilings/ceilings.h"
#include "bench.h"

namespace lathe::bench {

/// What ran the benchmarks: CPU, threads, versions of the peers. Printed above every table.
struct Machine {
  std::string cpu;
  std::vector<std::string> peers;
};
Machine describe_machine();

/// Ratios of a group and number of threads, over the rows that have one.
struct Summary {
  int rows = 0;
  double geomean = 0, worst = 0;
};
Summary summarise(const std::vector<Row>& rows, const std::string& group, int threads);

std::string table_header();
/// One line; the percentage is that of the ceiling which bounds the row's unit.
std::string table_line(const Row& row, const Ceilings& ceilings);

/// {"ceilings": {...}, "rows": [{group, key, case, threads, unit, ours, peers, ratio, ...}]}
void write_json(const std::string& path, const Machine& machine, const Ceilings& ceilings,
                const std::vector<Row>& rows);

/// Replaces, in the Markdown file, what stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` for
/// NAME = ceilings and each group measured. A section whose marks are missing is appended.
void refresh_markdown(const std::string& path, const Machine& machine, const Ceilings& ceilings,
                      const std::vector<Row>& rows);

}  // namespace lathe::bench
