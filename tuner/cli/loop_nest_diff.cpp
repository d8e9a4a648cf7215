#include "tuner/cli/loop_nest_diff.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/printer.h"

namespace lathe::command_line {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// Numbers of lines: equal where they are, but for how far they are indented.
class Meanings {
 public:
  std::vector<int> of(const Lines& lines) {
    std::vector<int> out;
    for (const std::string& line : lines) {
      const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
      out.push_back(known_.try_emplace(line.substr(begin), static_cast<int>(known_.size())).first->second);
    }
    return out;
  }

 private:
  std::unordered_map<std::string, int> known_;
};

/// The lines of a program, as they are printed and as they mean.
struct Nest {
  Lines lines;
  std::vector<int> spelled;  ///< of the text
  std::vector<int> meant;    ///< of the text in which a variable has one name in both programs
};

struct Range {
  int begin, end;
  int size() const { return end - begin; }
};

/// A longest sequence of lines that both nests have, in order (Hirschberg 1975: space for two rows only).
class Alignment {
 public:
  Alignment(const Nest& a, const Nest& b) : a_(a), b_(b), partner_(b.lines.size(), -1) {
    align({0, static_cast<int>(a.lines.size())}, {0, static_cast<int>(b.lines.size())});
  }
  /// The line of `a` that line `j` of `b` is, or -1.
  int partner(int j) const { return partner_[static_cast<std::size_t>(j)]; }

 private:
  bool same(int i, int j) const { return a_.spelled[i] == b_.spelled[j] || a_.meant[i] == b_.meant[j]; }
  void pair(int i, int j) { partner_[j] = i; }

  void align(Range a, Range b) {
    for (; a.size() > 0 && b.size() > 0 && same(a.begin, b.begin); ++a.begin, ++b.begin)
      pair(a.begin, b.begin);
    for (; a.size() > 0 && b.size() > 0 && same(a.end - 1, b.end - 1); --a.end, --b.end)
      pair(a.end - 1, b.end - 1);
    if (a.size() == 0 || b.size() == 0) return;
    if (a.size() == 1) {
      for (int j = b.begin; j < b.end; ++j) {
        if (same(a.begin, j)) return pair(a.begin, j);
      }
      return;
    }
    const int half = a.begin + a.size() / 2;
    const std::vector<int> above = common({a.begin, half}, b, false), below = common({half, a.end}, b, true);
    int best = 0;
    for (int k = 1; k <= b.size(); ++k) {
      if (above[k] + below[k] > above[best] + below[best]) best = k;
    }
    align({a.begin, half}, {b.begin, b.begin + best});
    align({half, a.end}, {b.begin + best, b.end});
  }

  /// Lengths of the longest common sequences of `a` and the first k lines of `b`, or those from the k-th on.
  std::vector<int> common(Range a, Range b, bool from_the_end) const {
    const int n = b.size();
    std::vector<int> row(n + 1, 0), next(n + 1, 0);
    for (int step = 0; step < a.size(); ++step) {
      const int i = from_the_end ? a.end - 1 - step : a.begin + step;
      for (int k = 1; k <= n; ++k) {
        const int j = from_the_end ? b.end - k : b.begin + k - 1;
        next[k] = same(i, j) ? row[k - 1] + 1 : std::max(row[k], next[k - 1]);
      }
      std::swap(row, next);
    }
    if (from_the_end) std::reverse(row.begin(), row.end());
    return row;
  }

  const Nest &a_, &b_;
  std::vector<int> partner_;
};

}  // namespace

std::string loop_nest_diff(const Program& before, const Program& after) {
  Meanings spelled, meant;
  Names names(before);
  const auto nest = [&](const Program& p) {
    Nest out;
    out.lines = lines_of(to_string(p));
    out.spelled = spelled.of(out.lines);
    out.meant = meant.of(lines_of(to_string(p, {}, names)));
    return out;
  };
  const Nest a = nest(before), b = nest(after);
  const Alignment alignment(a, b);
  const int old_count = static_cast<int>(a.lines.size()), new_count = static_cast<int>(b.lines.size());
  std::string out;
  int i = 0, j = 0;
  // What went, then what came in its place.
  const auto changed = [&](int old_end, int new_end) {
    for (; i < old_end; ++i) out += "- " + a.lines[i] + "\n";
    for (; j < new_end; ++j) out += "+ " + b.lines[j] + "\n";
  };
  for (int next = 0; next < new_count; ++next) {
    if (alignment.partner(next) < 0) continue;
    changed(alignment.partner(next), next);
    out += "  " + b.lines[next] + "\n";
    ++i, ++j;
  }
  changed(old_count, new_count);
  return out;
}

}  // namespace lathe::command_line
