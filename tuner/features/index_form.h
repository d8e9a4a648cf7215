#pragma once
// How a subscript moves with the loops round it.
//
//   (i*6 + ii)*2 + rx      steps: i 12, ii 2, rx 1
//   floordiv(f, 14)        a part: it moves by one every 14 iterations of f
//
// A cost model needs only how many different values a subscript takes while the inner loops run, and how far one iteration
// of a loop moves it. Both are read off this form; the exact region analysis of src/arith, which legality rests on, would
// cost a hundred times as much. What is not affine is estimated, never refused.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lathe/program.h"

namespace lathe::tuner {

/// Loops round one statement that are looked at; of a deeper nest the outermost are left out.
inline constexpr std::size_t MaxLoops = 24;

struct IndexForm {
  struct Part {
    enum class Kind { Quotient, Remainder, Unknown };
    Kind kind = Kind::Unknown;
    std::int64_t scale = 1;
    std::int64_t by = 1;  ///< divisor; of an unknown: how many values it may take
    std::shared_ptr<const IndexForm> inner;
  };
  std::array<std::int64_t, MaxLoops> step{};  ///< how far one iteration of each loop moves the value
  std::vector<Part> parts;                    ///< what is not affine

  /// The greatest difference of two values while the loops from `level` on run.
  std::int64_t reach(std::size_t level, std::span<const std::int64_t> extents) const;
  /// About how many different values there are then; at least 1.
  double values(std::size_t level, std::span<const std::int64_t> extents) const;
  /// How far the first iteration of loop `level` moves the value.
  std::int64_t stride(std::size_t level) const;
};

/// What the variables stand for: a loop by its position, anything else by its definition.
class Bindings {
 public:
  void bind_loop(const VarNode* var, std::size_t position) { entries_.push_back({var, position, {}}); }
  void bind(const VarNode* var, Expr value) { entries_.push_back({var, 0, std::move(value)}); }
  std::size_t size() const { return entries_.size(); }
  void shrink(std::size_t size) { entries_.resize(size); }

  struct Entry {
    const VarNode* var = nullptr;
    std::size_t loop = 0;
    Expr value;  ///< undefined: a loop
  };
  const Entry* find(const VarNode* var) const;

 private:
  std::vector<Entry> entries_;
};

/// The form of `index`. `unknown_values`: how many values a part that cannot be read may take.
IndexForm index_form(const Expr& index, const Bindings& bindings, std::span<const std::int64_t> extents,
                     std::int64_t unknown_values);

}  // namespace lathe::tuner
