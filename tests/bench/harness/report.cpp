#include "report.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

namespace lathe::bench {

namespace {

using Json = nlohmann::json;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

std::string pad(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

// The share of the machine's limit that `value` reaches, "" where the unit has none.
std::string share_of_ceiling(Unit unit, double value, int threads, const Ceilings& ceilings) {
  if (unit != Unit::GflopsPerSecond) return "";
  auto found = ceilings.fma_gflops.find(threads);
  if (found == ceilings.fma_gflops.end()) return "";
  return std::to_string(static_cast<int>(std::lround(100 * value / found->second))) + "%";
}

std::string peers_text(const Row& row) {
  std::string text;
  for (const auto& [name, figure] : row.peers) {
    text += (text.empty() ? "" : ", ") + name + " " + number(figure.min) + " (" + number(figure.median) + ")";
  }
  for (const std::string& name : row.wrong) text += ", " + name + " WRONG";
  return text;
}

Json by_threads(const ByThreads& figures) {
  Json json = Json::object();
  for (const auto& [threads, value] : figures) json[std::to_string(threads)] = value;
  return json;
}

Json by_size(const std::map<std::string, ByThreads>& figures) {
  Json json = Json::object();
  for (const auto& [size, values] : figures) json[size] = by_threads(values);
  return json;
}

Json row_json(const Row& row) {
  Json peers = Json::object(), medians = Json::object();
  for (const auto& [name, figure] : row.peers) {
    peers[name] = figure.min;
    medians[name] = figure.median;
  }
  if (row.ours) medians["ours"] = row.ours->median;
  Json json = {{"group", row.group},          {"key", row.key},  {"case", row.what}, {"threads", row.threads},
               {"unit", unit_name(row.unit)}, {"ours", nullptr}, {"peers", peers},   {"ratio", nullptr},
               {"medians", medians}};
  if (row.ours) json["ours"] = row.ours->min;
  if (auto ratio = row.ratio()) json["ratio"] = *ratio;
  if (row.trials) json["trials"] = *row.trials;
  if (!row.wrong.empty()) json["wrong"] = row.wrong;
  return json;
}

std::string ceilings_markdown(const Ceilings& ceilings) {
  std::ostringstream out;
  out << "| | ";
  for (const auto& [threads, value] : ceilings.fma_gflops)
    out << threads << (threads == 1 ? " thread | " : " threads | ");
  out << "\n|---|";
  for (std::size_t i = 0; i < ceilings.fma_gflops.size(); ++i) out << "---|";
  out << "\n| f32 multiply-add, GF/s | ";
  for (const auto& [threads, value] : ceilings.fma_gflops) out << number(value) << " | ";
  for (const char* size : {"1MB", "4MB", "16MB", "256MB"}) {
    if (!ceilings.read_gbs.count(size)) continue;
    out << "\n| arrays of " << size << ": read · copy · non-temporal copy, GB/s | ";
    for (const auto& [threads, read] : ceilings.read_gbs.at(size)) {
      out << number(read) << " · " << number(ceilings.copy_gbs.at(size).at(threads)) << " · "
          << number(ceilings.nt_copy_gbs.at(size).at(threads)) << " | ";
    }
  }
  return out.str() + "\n";
}

std::string group_markdown(const std::string& group, const Ceilings& ceilings, const std::vector<Row>& rows) {
  std::ostringstream out;
  for (int threads = 1; threads <= 64; ++threads) {
    const Summary summary = summarise(rows, group, threads);
    if (summary.rows == 0) continue;
    out << "On " << threads << (threads == 1 ? " thread" : " threads") << ": geometric mean of the ratios "
        << number(summary.geomean) << ", worst " << number(summary.worst) << ", " << summary.rows
        << " rows.\n\n";
  }
  out << "| operator | case | threads | unit | Lathe | of peak | ratio to best peer | peers: best (median) "
         "|\n"
         "|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    if (row.group != group) continue;
    const std::string best = row.best_peer();
    const double shown = row.ours ? row.ours->min : best.empty() ? 0 : row.peers.at(best).min;
    out << "| " << row.key << " | " << row.what << " | " << row.threads << " | " << unit_name(row.unit)
        << " | " << (row.ours ? number(row.ours->min) + " (" + number(row.ours->median) + ")" : "") << " | "
        << (row.ours ? share_of_ceiling(row.unit, shown, row.threads, ceilings) : "") << " | "
        << (row.ratio() ? number(*row.ratio()) : "") << " | " << peers_text(row) << " |\n";
  }
  return out.str();
}

void replace_section(std::string& page, const std::string& name, const std::string& body) {
  const std::string open = "<!-- bench:" + name + " -->", close = "<!-- /bench:" + name + " -->";
  const std::string section = open + "\n\n" + body + "\n" + close;
  const std::size_t begin = page.find(open), end = page.find(close);
  if (begin == std::string::npos || end == std::string::npos) {
    page += "\n## " + name + "\n\n" + section + "\n";
  } else {
    page.replace(begin, end + close.size() - begin, section);
  }
}

}  // namespace

Summary summarise(const std::vector<Row>& rows, const std::string& group, int threads) {
  Summary summary;
  double logs = 0;
  for (const Row& row : rows) {
    const auto ratio = row.ratio();
    if (row.group != group || row.threads != threads || !ratio) continue;
    ++summary.rows;
    logs += std::log(*ratio);
    summary.worst = summary.rows == 1 ? *ratio : std::min(summary.worst, *ratio);
  }
  if (summary.rows > 0) summary.geomean = std::exp(logs / summary.rows);
  return summary;
}

std::string table_header() {
  return pad("key", 8) + pad("case", 32) + pad("T", 3) + pad("unit", 11) + pad("ours", 9) + pad("peak", 6) +
         pad("ratio", 7) + "peers: best (median)";
}

std::string table_line(const Row& row, const Ceilings& ceilings) {
  const std::string best = row.best_peer();
  const double shown = row.ours ? row.ours->min : best.empty() ? 0 : row.peers.at(best).min;
  return pad(row.key, 8) + pad(row.what, 32) + pad(std::to_string(row.threads), 3) +
         pad(unit_name(row.unit), 11) + pad(row.ours ? number(row.ours->min) : "-", 9) +
         pad(share_of_ceiling(row.unit, shown, row.threads, ceilings), 6) +
         pad(row.ratio() ? number(*row.ratio()) : "-", 7) + peers_text(row);
}

void write_json(const std::string& path, const Machine& machine, const Ceilings& ceilings,
                const std::vector<Row>& rows) {
  Json json = {{"machine", {{"cpu", machine.cpu}, {"peers", machine.peers}}},
               {"ceilings",
                {{"fma_gflops", by_threads(ceilings.fma_gflops)},
                 {"read_gbs", by_size(ceilings.read_gbs)},
                 {"copy_gbs", by_size(ceilings.copy_gbs)},
                 {"nt_copy_gbs", by_size(ceilings.nt_copy_gbs)}}},
               {"rows", Json::array()}};
  for (const Row& row : rows) json["rows"].push_back(row_json(row));
  std::ofstream file(path);
  file << json.dump(2) << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void refresh_markdown(const std::string& path, const Machine& machine, const Ceilings& ceilings,
                      const std::vector<Row>& rows) {
  std::ifstream file(path);
  std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string about = "Measured on: " + machine.cpu + ".";
  for (std::size_t i = 0; i < machine.peers.size(); ++i)
    about += (i == 0 ? " Peers: " : ", ") + machine.peers[i];
  if (!machine.peers.empty()) about += ".";
  replace_section(page, "ceilings", about + "\n\n" + ceilings_markdown(ceilings));
  std::set<std::string> groups;
  for (const Row& row : rows) groups.insert(row.group);
  for (const std::string& group : groups) replace_section(page, group, group_markdown(group, ceilings, rows));
  std::ofstream out(path);
  out << page;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace lathe::bench
