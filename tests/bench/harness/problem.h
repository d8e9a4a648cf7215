#pragma once
// What is measured: a case of an operator with its data.
//
// A Case is a row of the tables in operators.cpp: an operator's key and its parameters. A Problem is a case
// with operands filled and counted, which every implementation of the case reads: the same bytes in, so that
// the outputs can be compared. Where an operand is `constant` (weights) and the case is `prepared`, an
// implementation may lay it out as it likes before the clock starts; otherwise whatever it does to the
// operand is part of its time.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::bench {

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);

/// A 64-byte aligned array of floats.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::int64_t elements);
  float* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }

 private:
  std::shared_ptr<float[]> data_;
  std::int64_t size_ = 0;
};

/// Fills with reproducible values in [-1, 1) that depend on `name` and position only.
void fill_signed(const Buffer& buffer, const std::string& name);

struct Case {
  std::string key;                   ///< operator, e.g. "C2D"
  std::vector<std::int64_t> params;  ///< in the order of the operator's `parameters`
  bool prepared = false;             ///< constant operands may be laid out ahead, outside the timing

  /// E.g. "1,56,56,64,64,1,1,0 prepared".
  std::string text() const;
};

struct Operand {
  std::string name;
  Shape shape;  ///< row-major
  Buffer buffer;
  bool constant = false;
};

/// How a row states its speed.
enum class Unit { GflopsPerSecond, GigabytesPerSecond, NanosecondsPerElement, Milliseconds, Megabytes };
const char* unit_name(Unit unit);
/// Whether a larger value is the better one.
bool higher_is_better(Unit unit);

struct Problem {
  Case what;
  int threads = 1;
  std::string records;   ///< the database of tuned schedules; empty: none
  int trials = 0;        ///< to tune with what has no record for so many threads; 0: only replay
  bool patient = false;  ///< peers that take minutes to get ready (an autoscheduler's search) may take part
  std::vector<Operand> operands;
  Shape output;
  double flops = 0;  ///< additions and multiplications that the definition needs
  double bytes = 0;  ///< every operand read once and the output written once
  Unit unit = Unit::GflopsPerSecond;

  const Operand& operand(const std::string& name) const;
  const float* data(const std::string& name) const { return operand(name).buffer.data(); }
  /// By how much results may differ, relative to the greatest: more where long sums are rounded in any order.
  float tolerance() const;
  /// Seconds a call, in the problem's unit.
  double in_unit(double seconds) const;
};

}  // namespace lathe::bench
