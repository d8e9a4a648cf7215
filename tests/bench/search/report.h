#pragma once
// What the bench found, as text, JSON and a page's section.

#include <string>
#include <vector>

#include "closed_loop.h"
#include "model_quality.h"

namespace lathe::bench {

class Report {
 public:
  explicit Report(std::size_t trials);
  void add(Race race) { races_.push_back(std::move(race)); }
  void add(ModelQuality quality) { qualities_.push_back(std::move(quality)); }

  std::string text() const;
  void write_json(const std::string& path) const;
  /// Replaces what stands between <!-- bench:search --> and <!-- /bench:search -->.
  void refresh_markdown(const std::string& path) const;

 private:
  using Cells = std::vector<std::string>;
  struct Table {
    std::string title;
    Cells header;
    std::vector<Cells> rows;
  };
  std::vector<Table> tables() const;
  Table fractions() const;
  Table means() const;
  Table trials_to() const;
  Table below_random() const;
  Table models() const;
  Table model_means() const;

  std::vector<std::size_t> budgets_;
  std::vector<Race> races_;
  std::vector<ModelQuality> qualities_;
};

}  // namespace lathe::bench
