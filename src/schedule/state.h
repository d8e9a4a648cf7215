#pragma once
// What a schedule is made of.

#include <memory>

#include "lathe/schedule.h"

namespace lathe {

/// A row of the handle table. A handle is the row's number; the node is a loop's variable, a block's label or a factor's
/// variable, whose identity survives every rewrite.
struct HandleEntry {
  HandleKind kind;
  Ref<Node> node;
  std::int64_t value = 0;  ///< of a factor
  int consumed_by = -1;    ///< the step after which the handle is stale
};

/// A `sample_*` step and what it could have chosen; the options are listed only when asked for.
struct OpenDecision {
  std::size_t step = 0;
  std::int64_t extent = 0;            ///< tiles: of the loop
  int factors = 0;                    ///< tiles: how many
  std::int64_t max_innermost = 0;     ///< tiles
  std::vector<std::int64_t> choices;  ///< sample_choice, and tiles that need not divide
  std::int64_t locations = 0;         ///< sample_compute_location: number of legal loops
};
std::vector<std::vector<std::int64_t>> list_options(const OpenDecision& open, const std::string& op);

/// A value that copies share until one of them writes. Rules and searches fork schedules at every step that they try, or only to
/// look, and a trace is long.
template <class T>
class CopyOnWrite {
 public:
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T& write() {
    if (value_.use_count() > 1) value_ = std::make_shared<T>(*value_);
    return *value_;
  }

 private:
  std::shared_ptr<T> value_ = std::make_shared<T>();
};

struct Schedule::State {
  Program original, program;
  CopyOnWrite<Trace> trace;
  std::vector<HandleEntry> handles;
  std::vector<OpenDecision> open;
  Chooser chooser;
  /// Buffers that gave way to another one with the same contents: in another layout or scope, larger, aligned.
  std::vector<std::pair<Buffer, Buffer>> replaced;
};

}  // namespace lathe
