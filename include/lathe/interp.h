#pragma once
// The reference interpreter: runs any program, slowly enough to check everything and fast enough to be used
// everywhere.
//
// What it runs.  Block form (scheduled or not) and lowered form, with the meaning that lathe/stmt.h gives
// them. A reduction block whose reduce domain is empty still gets its init: when a loop of extent 0 feeds a
// reduce variable of it, the inits (and nothing else) run in one pass in which that loop takes the value 0.
// Intermediates in `temps` get one instance per iteration of the lowest common ancestor of their accesses,
// poisoned (all bits set: NaN, -1) at entry.
//   Thread-bound loops mean SIMT with explicit barriers in a program without blocks, and in a program with
//   blocks parallel loops with implicit barriers (see Options::threads): the threads of a block wait for each
//   other after every statement of a sequence that all of them reach, those in serial loops inside the
//   thread-bound loop included, which is where lowering may put barriers. A loop bound to an axis that a loop
//   around it has bound is run by each thread at its own coordinate. A thread-bound or vectorised reduce loop
//   takes its iterations in order.
//
// Numbers.  Each operation is rounded to its type. f16 and bf16 round after every operation. An intrinsic of
// a type narrower than f64 is computed by the double function of the C library and rounded once; of f64 it is
// that function. fma rounds once in every type. vsum and its like combine the upper half of the lanes with
// the lower one until one lane is left; an odd count combines lane by lane in order.
//
// Checks.  Subscripts, index overflow and writes to inputs are always checked; an access that fails is not
// made (a read gives 0). The others cost time and can be switched off. A violation is recorded and the run
// goes on; nothing that a program does can crash the interpreter. Before a run the shapes and types of the
// arrays are checked, and memory is refused beyond a limit, by UserError (LTH-I…).
//
//   auto out = interp::run(program, interp::random_inputs(program, /*seed=*/1));
//   REQUIRE(out.report.text() == "");
//   REQUIRE(out["C"].get({1, 2}) == 3);

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lathe/program.h"

namespace lathe::interp {

// ---- arrays --------------------------------------------------------------------------------------------

/// Memory of the caller's, compact and row-major.
struct ArrayView {
  void* data = nullptr;
  DataType dtype;
  std::vector<std::int64_t> shape;
};

/// An owned array, compact and row-major. f16 and bf16 are 16-bit patterns, Bool a byte.
class Array {
 public:
  Array() = default;
  /// Zeros.
  Array(DataType dtype, std::vector<std::int64_t> shape);
  /// From values in row-major order, converted as `set` does.
  Array(DataType dtype, std::vector<std::int64_t> shape, const std::vector<double>& values);

  static Array full(DataType dtype, std::vector<std::int64_t> shape, double value);
  /// All bits set: NaN for floats, -1 (or the maximum) for integers, true.
  static Array poison(DataType dtype, std::vector<std::int64_t> shape);
  /// 0, 1, 2, … wrapped at the width.
  static Array iota(DataType dtype, std::vector<std::int64_t> shape);
  /// Signed, seeded. Floats: mostly uniform in -1 .. 1, some small integers, ±0, ±1 and tiny values, all
  /// finite. Integers: half of them in -8 .. 8, the others over the whole width, minimum and maximum included.
  static Array random(DataType dtype, std::vector<std::int64_t> shape, std::uint64_t seed);
  /// Integers in -limit .. limit whatever the type (0 .. limit when unsigned): sums of products are exact.
  static Array small_integers(DataType dtype, std::vector<std::int64_t> shape, std::uint64_t seed,
                              int limit = 4);
  /// As `random`, with NaN, ±infinity, the largest and the smallest values mixed in.
  static Array edges(DataType dtype, std::vector<std::int64_t> shape, std::uint64_t seed);

  DataType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size() const { return size_; }  ///< elements
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  std::size_t bytes() const { return bytes_.size(); }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  /// An element by its row-major position, or by subscripts. u64 above 2^63 reads as its value in double and
  /// as its bit pattern in `get_int`. `set` rounds to the type.
  double get(std::int64_t position) const;
  double get(const std::vector<std::int64_t>& indices) const { return get(position(indices)); }
  std::int64_t get_int(std::int64_t position) const;
  std::int64_t get_int(const std::vector<std::int64_t>& indices) const { return get_int(position(indices)); }
  void set(std::int64_t position, double value);
  void set(const std::vector<std::int64_t>& indices, double value) { set(position(indices), value); }
  void set_int(std::int64_t position, std::int64_t value);
  void set_int(const std::vector<std::int64_t>& indices, std::int64_t value) {
    set_int(position(indices), value);
  }
  /// Throws std::out_of_range.
  std::int64_t position(const std::vector<std::int64_t>& indices) const;

  ArrayView view() { return {data(), dtype_, shape_}; }
  /// Same type, shape and bits.
  friend bool operator==(const Array&, const Array&) = default;

 private:
  DataType dtype_;
  std::vector<std::int64_t> shape_;
  std::int64_t size_ = 0;
  std::vector<std::uint8_t> bytes_;
};

/// How far `actual` is from `expected`.
struct Difference {
  double max_absolute = 0;  ///< infinity when one is NaN or infinite and the other not the same
  double max_relative = 0;  ///< |a - e| / max(|e|, 1)
  std::int64_t different = 0, total = 0;
  std::int64_t worst = -1;  ///< position of max_absolute
  std::string text;         ///< "" when equal, else one line with the worst element
};
Difference difference(const Array& actual, const Array& expected);

// ---- what a run reports --------------------------------------------------------------------------------

enum class ViolationKind : std::uint8_t {
  OutOfBounds,        ///< a subscript outside the shape
  Uninitialized,      ///< a read of what nothing wrote
  NotWritten,         ///< an output element that was never written
  Rewritten,          ///< a complete block wrote an element twice, with different values
  WriteToInput,       ///< a store to an input or constant
  IndexOverflow,      ///< index arithmetic left 64 (or, narrowed, 32) bits
  OutsideDomain,      ///< a block variable outside 0 .. extent
  NegativeExtent,     ///< a loop or buffer extent below 0
  Race,               ///< two threads, parallel iterations or lanes touch an element unordered, one writing
  BarrierDivergence,  ///< threads of a block wait at different barriers, or some have ended
};
const char* spelling(ViolationKind kind);

struct Violation {
  ViolationKind kind;
  std::string buffer;                                       ///< "" when none is concerned
  std::vector<std::int64_t> indices;                        ///< subscripts of the element
  std::vector<std::pair<std::string, std::int64_t>> loops;  ///< enclosing loop and block variables
  std::string text;                                         ///< all of it in one sentence
};

struct BufferCounts {
  std::string name;
  std::uint64_t loads = 0, stores = 0;  ///< elements
  std::int64_t instances = 0;           ///< how often an intermediate got memory
  std::int64_t peak_bytes = 0;          ///< of all instances alive at once; parameters: their size
};

struct Report {
  std::vector<Violation> violations;  ///< the first ones, up to Options::max_violations
  std::uint64_t violation_count = 0;
  bool completed = false;  ///< false when `fail_fast` ended the run

  std::vector<BufferCounts> buffers;    ///< parameters, then intermediates in order of appearance
  std::uint64_t loads = 0, stores = 0;  ///< elements, of all buffers
  std::uint64_t iterations = 0;         ///< of all loops
  std::uint64_t barriers = 0;           ///< barriers that a block (or warp) passed
  std::uint64_t peak_bytes = 0;         ///< of intermediates alive at once

  /// Operations on data (not index_type); a vector operation counts once a lane.
  std::array<std::uint64_t, 17> binary_ops{};       ///< by BinaryOp
  std::array<std::uint64_t, 64> intrinsic_calls{};  ///< by Intrinsic
  std::uint64_t casts = 0, selects = 0;
  std::uint64_t index_ops = 0;

  std::uint64_t ops(BinaryOp op) const { return binary_ops[static_cast<std::size_t>(op)]; }
  std::uint64_t calls(Intrinsic op) const { return intrinsic_calls[static_cast<std::size_t>(op)]; }
  /// + - * / min max and fma (twice) on data.
  std::uint64_t flops() const;
  /// Throws std::out_of_range when there is no buffer of the name.
  const BufferCounts& buffer(const std::string& name) const;

  bool ok() const { return violation_count == 0; }
  bool has(ViolationKind kind) const;
  /// The violations, one a line; "" when there is none.
  std::string text() const;
};

// ---- running -------------------------------------------------------------------------------------------

/// In which order parallel iterations, blocks and threads run.
enum class Order : std::uint8_t { Forward, Backward, Random };

/// What thread-bound loops mean.
enum class Threads : std::uint8_t {
  Automatic,       ///< Synchronized when the program has no blocks
  Unsynchronized,  ///< parallel loops, implicit barriers, a bound reduce loop is the serial reduction
  Synchronized     ///< SIMT, explicit barriers
};

/// A scalar given to or by a host function.
struct Scalar {
  DataType dtype;
  std::int64_t i = 0;  ///< integers, index, Bool
  double f = 0;        ///< floats
};
using HostFunction = std::function<Scalar(std::span<const Scalar>)>;

struct Options {
  bool check_initialized = true;  ///< Uninitialized, NotWritten
  bool check_rewrites = true;     ///< Rewritten
  bool check_domains = true;      ///< OutsideDomain
  bool check_races = true;        ///< Race, in programs with parallel or thread-bound loops
  bool count = true;              ///< the counts of the report (buffer memory is always counted)
  bool fail_fast = false;         ///< stop at the first violation
  int max_violations = 16;        ///< how many are kept with their text
  std::uint64_t step_limit = std::uint64_t{1} << 40;  ///< loop iterations; beyond it UserError LTH-I004
  std::int64_t memory_limit = std::int64_t{4} << 30;  ///< bytes alive at once, shadows included; LTH-I003
  Order order = Order::Forward;
  std::uint64_t seed = 0;  ///< of Order::Random
  Threads threads = Threads::Automatic;
  std::map<std::string, HostFunction> functions;  ///< for Extern calls

  /// Nothing but what is always checked.
  static Options fast();
};

/// Runs the program on the caller's arrays, one for each buffer parameter in order; outputs are written in
/// place. `sizes` are the Size parameters in order. A parameter of rank 1 takes an array of any shape with as
/// many elements (lowered programs are flat); a parameter with strides of its own takes the compact array of
/// its shape, laid out anew inside. Throws UserError (LTH-I…) when the arrays do not fit or a limit is passed.
Report execute(const Program& program, const std::vector<ArrayView>& arrays,
               const std::vector<std::int64_t>& sizes = {}, const Options& options = {});

struct Outcome {
  std::vector<std::string> names;
  std::vector<Array> arrays;  ///< every buffer parameter, in order, after the run
  Report report;
  /// By parameter name; throws std::out_of_range.
  const Array& operator[](const std::string& name) const;
  /// The outputs and in-outs, in order.
  std::vector<Array> outputs;
};

/// The same with arrays of its own: `inputs` are the Input, Constant and InOut parameters in order; outputs
/// are made, poisoned.
Outcome run(const Program& program, std::vector<Array> inputs, const std::vector<std::int64_t>& sizes = {},
            const Options& options = {});

/// Inputs that fit the program, by `Array::random` (or `small_integers`).
std::vector<Array> random_inputs(const Program& program, std::uint64_t seed,
                                 const std::vector<std::int64_t>& sizes = {});
std::vector<Array> integer_inputs(const Program& program, std::uint64_t seed,
                                  const std::vector<std::int64_t>& sizes = {}, int limit = 4);
/// Shape of the parameter for these sizes.
std::vector<std::int64_t> shape_of(const Program& program, const Param& param,
                                   const std::vector<std::int64_t>& sizes);

}  // namespace lathe::interp
