#pragma once
// The register machine under the interpreter.
//
// A program is compiled to a list of instructions over a file of 64-bit registers; a vector takes as many
// consecutive registers as it has lanes. An instruction is a function specialised on its types and the
// numbers of its registers, and returns the instruction to go on with. All state of a thread is its register
// file and its place, so threads between barriers are many `Context`s over one code, run in any order.
//
// Registers hold: integers, index and Bool sign- or zero-extended in `i` (never a value that the type does
// not have); f64 in `d`; f32, f16 and bf16 in `f` (16-bit values are kept rounded).
//
// Sizes are known when a program is compiled (it is compiled for each run), so shapes and most extents are
// constants.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/race.h"
#include "lathe/interp.h"

namespace lathe::interp {

struct Instance;

union Slot {
  std::int64_t i;
  double d;
  float f;
  Instance* instance;
};

struct Context;
struct Instr;
using Fn = const Instr* (*)(const Instr*, Slot*, Context&);

inline constexpr std::uint32_t kNone = 0xffffffff;

struct Instr {
  Fn fn = nullptr;
  std::uint32_t dst = kNone, a = kNone, b = kNone, c = kNone;  ///< registers
  std::uint32_t lanes = 1;
  std::uint32_t extra = 0;
  union {
    std::int64_t imm = 0;  ///< jumps: distance in instructions
    const void* ptr;
  };
};

/// What is known of a buffer before it has memory.
struct BufferInfo {
  Buffer buffer;
  std::string name;
  DataType dtype;
  int id = 0;  ///< position in Report::buffers
  bool read_only = false;
  bool output = false;
  bool strided = false;  ///< has strides of its own
};

/// Memory of a buffer. `shape` has the rank of the subscripts that the accesses use.
struct Instance {
  const BufferInfo* info = nullptr;
  char* data = nullptr;
  std::int64_t size = 0;                  ///< elements, those between rows included
  std::array<std::int64_t, 3> extents{};  ///< the first of `shape`, near at hand
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< elements; empty: compact
  std::uint8_t* state = nullptr;      ///< one byte an element: kInitialized, kWritten
  std::unique_ptr<Touched[]> touched;
  std::unique_ptr<char[]> memory, state_memory;
  std::int64_t capacity = 0;  ///< elements that `memory` has room for
  int users = 0;              ///< threads that share it
  bool temp = false;
  /// Made outside of a thread-bound loop for a scope that has one instance a thread: those instances, by the
  /// thread's coordinates. `root` is the instance outside.
  Instance* root = nullptr;
  std::map<std::array<std::int64_t, 8>, Instance*> per_thread;
  std::size_t place = 0;  ///< in Machine::owned
  std::int64_t bytes() const { return size * info->dtype.bytes(); }
};
inline constexpr std::uint8_t kInitialized = 1, kWritten = 2;

/// Where an instruction stands: the enclosing loop and block variables, innermost first.
struct ScopeInfo {
  int parent = -1;
  std::string name;
  std::uint32_t reg = kNone;
};

/// An access to a buffer, beyond what fits in the instruction.
struct Access {
  const BufferInfo* info = nullptr;
  std::vector<std::uint32_t> index;  ///< first register of each subscript
  std::vector<std::uint32_t> step;   ///< 1 for a vector subscript, 0 for a scalar
  std::uint32_t mask = kNone;
  bool complete = false;  ///< a store of a complete block: rewriting with another value is an error
  bool flat = false;      ///< one subscript for a buffer of another rank
  bool check_race = false;
};

/// Operations that a stretch of straight code does once, each time it is entered.
struct Tally {
  std::array<std::uint32_t, 17> binary_ops{};
  std::map<int, std::uint32_t> intrinsics;
  std::map<int, std::pair<std::uint32_t, std::uint32_t>> buffers;  ///< loads, stores
  std::uint32_t casts = 0, selects = 0, index_ops = 0, iterations = 0;
};

enum class Status : std::uint8_t { Ready, AtBarrier, AtWarpBarrier, Joining, Done, Stopped };

struct Machine;
class ThreadGroup;

/// A thread.
struct Context {
  Machine* machine = nullptr;
  Slot* registers = nullptr;
  const Instr* next = nullptr;  ///< where to go on after a wait
  Status status = Status::Ready;
  Toucher self;  ///< kernel 0 outside of parallel and thread-bound loops
  bool preemptible = false;
  bool implicit_barrier = false;
  ThreadGroup* group = nullptr;
  int number = -1;                          ///< in its group
  std::array<std::int64_t, 8> coordinates;  ///< by ThreadAxis; -1 where unbound
  const Instr* end = nullptr;               ///< the ThreadEnd that ends this thread
  Context() { coordinates.fill(-1); }
};

/// A thread-bound loop over a thread axis; `extra` of its instruction is its place in Bytecode::thread_loops.
struct ThreadLoop {
  ThreadAxis axis = ThreadAxis::None;
  std::vector<std::uint32_t>
      private_buffers;  ///< registers of buffers made outside with an instance a thread
};

/// How an Allocate (or the place of an intermediate) makes its instance.
struct AllocateInfo {
  const BufferInfo* info = nullptr;
  std::vector<std::uint32_t> shape, strides;  ///< registers
  std::uint32_t reg = kNone;
  /// Thread axes over which threads share an instance that they make inside thread-bound loops.
  std::array<bool, 8> shared{};
  bool any_shared = false;
};

struct ExternCall {
  std::string symbol;
  const HostFunction* function = nullptr;
  std::vector<std::pair<std::uint32_t, DataType>> args;
  DataType result;
};

struct Bytecode {
  std::vector<Instr> instrs;
  std::vector<int> scope_of;  ///< scope of each instruction
  std::vector<ScopeInfo> scopes;
  std::vector<Slot> registers;  ///< initial file: the constants, zeros
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<std::unique_ptr<BufferInfo>> buffers;
  std::vector<std::uint32_t> buffer_register;  ///< by buffer id, of parameters
  std::vector<Tally> tallies;
  std::vector<std::unique_ptr<AllocateInfo>> allocations;
  std::vector<std::unique_ptr<ThreadLoop>> thread_loops;
  std::vector<std::unique_ptr<ExternCall>> externs;
  bool serial_threads = false;  ///< a thread-bound reduce loop, to be run as the serial reduction
};

struct Machine {
  explicit Machine(const Options& o) : options(o) {}
  const Options& options;
  const Bytecode* code = nullptr;
  Report report;
  std::vector<std::uint64_t> counts;  ///< by tally
  std::uint64_t fuel = 0;             ///< loop iterations until `refuel` has to be called
  std::uint64_t steps_left = 0;       ///< beyond those
  bool stopped = false;
  std::int64_t bytes_alive = 0;                  ///< with shadows
  std::int64_t temp_bytes_alive = 0;             ///< of intermediates, without
  std::vector<std::int64_t> alive_of;            ///< by buffer id
  std::vector<std::unique_ptr<Instance>> owned;  ///< all
  std::vector<std::vector<Instance*>> pool;      ///< those not in use, by buffer id
  std::uint32_t kernels = 0;
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::uint32_t vectors = 0;
  bool equal_writes_agree = false;  ///< two threads may write the same value
  bool track_state = false, track_touched = false;
  std::uint64_t random_state = 0;

  std::uint64_t random() {  // splitmix64
    std::uint64_t z = (random_state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  /// Elements that masked vector accesses touched, by buffer id: loads, stores.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> masked;
  void note_masked(int buffer, bool store) { ++(store ? masked[buffer].second : masked[buffer].first); }

  /// Poisoned memory (of an intermediate; a parameter's `data` is set by the caller). Throws UserError LTH-I003.
  Instance* make_instance(const BufferInfo& info, std::vector<std::int64_t> shape,
                          std::vector<std::int64_t> strides, bool temp);
  void release(Instance* instance);
  /// Throws UserError LTH-I003 when `n` things of so many bytes do not fit beside what is alive.
  void check_memory(std::int64_t n, std::int64_t bytes_each, const std::string& what) const;
  /// Sets `fuel` to `steps` or what is left. Throws UserError LTH-I004 when nothing is.
  void refuel(std::uint64_t steps);
};

/// Runs `context` until it waits, ends or is stopped.
inline void run_context(Context& context) {
  context.status = Status::Ready;
  Slot* const registers = context.registers;
  const Instr* p = context.next;
  while (p) p = p->fn(p, registers, context);
}

/// Records a violation; returns `next`, or null when the run stops here.
const Instr* violate(Context& context, const Instr* at, const Instr* next, ViolationKind kind,
                     const BufferInfo* buffer, std::vector<std::int64_t> indices, std::string detail);

// ---- instructions by type ------------------------------------------------------------------------------

Fn binary_fn(BinaryOp op, DataType t, bool vector);
Fn cast_fn(DataType to, DataType from);
/// Unary and other intrinsics; null when the type has none.
Fn intrinsic_fn(Intrinsic op, DataType t);
Fn vector_reduce_fn(Intrinsic op, DataType t);
Fn reinterpret_fn(DataType to, DataType from);

// ---- control: see control_ops.cpp and threads.cpp for their operands ---------------------------------

namespace op {
// clang-format off
#define LATHE_CONTROL_OPS(X)                                                                          \
  X(move) X(move_masked) X(broadcast) X(ramp)                                                         \
  X(logical_not) X(mask_and) X(mask_and_not)                                                          \
  X(jump) X(jump_if_zero) X(jump_if_nonzero) X(jump_if_no_lane)                                       \
  X(loop_begin) X(loop_next) X(lanes_begin) X(lanes_next) X(spread_begin) X(spread_next)              \
  X(count) X(allocate) X(free)                                                                        \
  X(check_domain) X(extern_call) X(end)                                                               \
  X(thread_begin) X(thread_end) X(barrier) X(warp_barrier)
// clang-format on
#define X(name) const Instr* name(const Instr*, Slot*, Context&);
LATHE_CONTROL_OPS(X)
#undef X
}  // namespace op

/// Loads and stores; `shadow` with the state and race checks.
Fn load_fn(DataType t, int rank, bool vector, bool shadow);
Fn store_fn(DataType t, int rank, bool vector, bool shadow);
/// element = element op value; null when there is no such instruction.
Fn update_fn(BinaryOp op, DataType t, int rank, bool shadow);

}  // namespace lathe::interp
