#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace lathe::bench {
namespace {

std::string fraction(double value) { return fmt::format("{:.3f}", value); }

template <typename Rows, typename Name>
std::vector<std::string> names_in_order(const Rows& rows, Name name) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (std::find(names.begin(), names.end(), name(row)) == names.end()) names.push_back(name(row));
  }
  return names;
}

}  // namespace

Report::Report(std::size_t trials) {
  for (std::size_t budget : {32, 48, 64, 96, 128, 192, 256}) {
    if (budget < trials) budgets_.push_back(budget);
  }
  budgets_.push_back(trials);
}

Report::Table Report::fractions() const {
  Table table{
      "Fraction of the true optimum after so many trials: mean (worst seed)", {"space", "strategy"}, {}};
  for (std::size_t b : budgets_) table.header.push_back(std::to_string(b));
  for (const Race& race : races_) {
    Cells cells{race.space, race.strategy};
    for (std::size_t b : budgets_)
      cells.push_back(fmt::format("{:.3f} ({:.2f})", race.mean_at(b), race.worst_at(b)));
    table.rows.push_back(cells);
  }
  return table;
}

Report::Table Report::means() const {
  Table table{"Over the spaces: mean (lowest space's mean; worst seed anywhere)", {"strategy", "spaces"}, {}};
  for (std::size_t b : budgets_) table.header.push_back(std::to_string(b));
  for (const std::string& strategy : names_in_order(races_, [](const Race& r) { return r.strategy; })) {
    std::vector<const Race*> of;
    for (const Race& r : races_) {
      if (r.strategy == strategy) of.push_back(&r);
    }
    Cells cells{strategy, std::to_string(of.size())};
    for (std::size_t b : budgets_) {
      double sum = 0, lowest = 1, worst = 1;
      for (const Race* r : of) {
        sum += r->mean_at(b);
        lowest = std::min(lowest, r->mean_at(b));
        worst = std::min(worst, r->worst_at(b));
      }
      cells.push_back(fmt::format("{:.3f} ({:.3f}; {:.2f})", sum / of.size(), lowest, worst));
    }
    table.rows.push_back(cells);
  }
  return table;
}

Report::Table Report::trials_to() const {
  Table table{"Trials to a fraction of the true optimum, median of the seeds",
              {"space", "strategy", "90 %", "95 %", "99 %", "100 %"},
              {}};
  for (const Race& race : races_) {
    Cells cells{race.space, race.strategy};
    for (double f : {0.90, 0.95, 0.99, 1.0}) {
      const std::size_t trials = race.median_trials_to(f);
      cells.push_back(trials ? std::to_string(trials) : fmt::format("> {}", race.curves[0].size()));
    }
    table.rows.push_back(cells);
  }
  return table;
}

Report::Table Report::below_random() const {
  Table table{"Budgets from 48 trials on at which a strategy's mean is below random's",
              {"space", "strategy", "at"},
              {}};
  std::map<std::string, const Race*> random;
  for (const Race& r : races_) {
    if (r.strategy == "random") random[r.space] = &r;
  }
  for (const Race& race : races_) {
    if (!random.count(race.space)) continue;
    std::string at;
    for (std::size_t b : budgets_) {
      if (b >= 48 && race.mean_at(b) < random[race.space]->mean_at(b))
        at += (at.empty() ? "" : ", ") + std::to_string(b);
    }
    if (!at.empty()) table.rows.push_back({race.space, race.strategy, at});
  }
  if (table.rows.empty()) table.rows.push_back({"none", "", ""});
  return table;
}

Report::Table Report::models() const {
  Table table{"Models after a random sample: pairwise accuracy, peak@1, peak@5 on the rest",
              {"space", "samples", "model", "pairwise", "worst split", "peak@1", "peak@5"},
              {}};
  for (const ModelQuality& q : qualities_) {
    table.rows.push_back({q.space, std::to_string(q.samples), q.model, fraction(q.pairwise),
                          fraction(q.worst_pairwise), fraction(q.peak1), fraction(q.peak5)});
  }
  return table;
}

Report::Table Report::model_means() const {
  Table table{"Models, mean over the spaces (lowest space's pairwise accuracy)",
              {"samples", "model", "pairwise", "peak@1", "peak@5"},
              {}};
  std::map<std::size_t, bool> sizes;
  for (const ModelQuality& q : qualities_) sizes[q.samples] = true;
  for (const auto& [samples, present] : sizes) {
    for (const std::string& model :
         names_in_order(qualities_, [](const ModelQuality& q) { return q.model; })) {
      double n = 0, pairwise = 0, peak1 = 0, peak5 = 0, lowest = 1;
      for (const ModelQuality& q : qualities_) {
        if (q.samples != samples || q.model != model) continue;
        ++n;
        pairwise += q.pairwise;
        peak1 += q.peak1;
        peak5 += q.peak5;
        lowest = std::min(lowest, q.pairwise);
      }
      if (n == 0) continue;
      table.rows.push_back({std::to_string(samples), model,
                            fmt::format("{:.3f} ({:.3f})", pairwise / n, lowest), fraction(peak1 / n),
                            fraction(peak5 / n)});
    }
  }
  return table;
}

std::vector<Report::Table> Report::tables() const {
  std::vector<Table> all{fractions(), means(), trials_to(), below_random()};
  if (!qualities_.empty()) {
    all.push_back(models());
    all.push_back(model_means());
  }
  return all;
}

std::string Report::text() const {
  std::string out;
  for (const Table& table : tables()) {
    std::vector<std::size_t> width;
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      width.push_back(table.header[c].size());
      for (const Cells& row : table.rows) width[c] = std::max(width[c], row[c].size());
    }
    auto line = [&](const Cells& cells) {
      std::string text;
      for (std::size_t c = 0; c < cells.size(); ++c) text += fmt::format("{:<{}}  ", cells[c], width[c]);
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    };
    out += "\n" + table.title + "\n";
    line(table.header);
    for (const Cells& row : table.rows) line(row);
  }
  return out;
}

void Report::write_json(const std::string& path) const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Race& race : races_) {
    for (std::size_t b : budgets_) {
      rows.push_back({{"space", race.space},
                      {"strategy", race.strategy},
                      {"seeds", race.curves.size()},
                      {"budget", b},
                      {"mean", race.mean_at(b)},
                      {"worst", race.worst_at(b)}});
    }
  }
  for (const ModelQuality& q : qualities_) {
    rows.push_back({{"space", q.space},
                    {"model", q.model},
                    {"samples", q.samples},
                    {"pairwise", q.pairwise},
                    {"peak1", q.peak1},
                    {"peak5", q.peak5}});
  }
  std::ofstream file(path);
  file << nlohmann::ordered_json{{"rows", rows}}.dump(1) << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void Report::refresh_markdown(const std::string& path) const {
  const std::string begin = "<!-- bench:search -->", end = "<!-- /bench:search -->";
  std::ifstream file(path);
  std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t from = page.find(begin), to = page.find(end);
  if (from == std::string::npos || to == std::string::npos)
    throw std::runtime_error(path + " has no section " + begin);
  std::string section = "\n";
  auto line = [&](const Cells& cells) {
    section += "|";
    for (const std::string& c : cells) section += " " + c + " |";
    section += "\n";
  };
  for (const Table& table : tables()) {
    section += "\n" + table.title + ":\n\n";
    line(table.header);
    line(Cells(table.header.size(), "---"));
    for (const Cells& row : table.rows) line(row);
  }
  page.replace(from + begin.size(), to - from - begin.size(), section);
  std::ofstream out(path);
  out << page;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace lathe::bench
