#pragma once
// Schedules.
//
// A Schedule holds a program and rewrites its loops, one primitive at a time. Every primitive checks its own legality at
// the call and either succeeds or throws a ScheduleError and leaves the schedule as it was; conditions on the whole program
// (equal thread extents, the sum of shared memory, …) wait for `verify`, which `compile` calls first. What a schedule
// computes never changes.
//
//     Schedule s(program("conv_bias_relu", {x, k, b}, {out}));
//     auto [i, y, z, o] = s.loops<4>(s.block(out));
//     auto [zo, zi] = s.split(z, {_, 6});
//     auto [oo, oi] = s.split(o, {_, 16});
//     s.reorder({i, y, zo, oo, zi, oi});
//     s.compute_at(s.block(conv), oo);
//     s.vectorize(oi);
//
// Handles (LoopRef, BlockRef, Factor) stay valid through all primitives that do not consume them, and across fork().
// The examples below show the loop nest before and after.

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>

#include "lathe/te.h"
#include "lathe/trace.h"

namespace lathe {

struct Target;

/// What happens where a split does not divide.
enum class Tail : std::uint8_t {
  Guard,  ///< a predicate on the blocks below; it vanishes where divisibility is proved
  Peel,   ///< guarded, and lowering cuts the loop so that the steady state runs without the guard
  Pad  ///< the intermediate buffer is enlarged and the surplus computed and ignored; refused on outputs and reduce loops
};

/// Floating-point freedom that `math` grants to a block.
enum class MathMode : std::uint8_t {
  Exact,     ///< no contraction: a*b + c rounds twice
  Contract,  ///< the default: a*b + c may be one fma
  Fast       ///< also: sums and products in any order, x/y as x * (1/y); NaN and infinity keep their meaning
};

/// A factor of `split`: a number, a sampled Factor, an expression of factors, or `_`.
struct SplitFactor {
  SplitFactor(Inferred) {}
  SplitFactor(std::int64_t value) : value(Expr(value)) {}
  SplitFactor(int value) : value(Expr(value)) {}
  SplitFactor(Expr e) : value(std::move(e)) {}
  SplitFactor(const Factor& f) : value(f) {}
  Expr value;  ///< undefined: inferred
};

/// Chooses the decision of a `sample_*` step that has none yet: gets the step and all options, returns an index.
using Chooser = std::function<std::size_t(const Instruction& step,
                                          const std::vector<std::vector<std::int64_t>>& options)>;

class Schedule {
 public:
  /// Open decisions take their first option.
  explicit Schedule(Program program);
  /// Open decisions are chosen by `chooser`, for instance at random.
  Schedule(Program program, Chooser chooser);
  ~Schedule();
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;

  /// An independent copy; handles carry over. Cheap: programs are shared.
  Schedule fork() const;

  const Program& program() const;
  /// As it was given to the constructor.
  const Program& original() const;
  const Trace& trace() const;

  /// Applies a whole trace, as recorded or with other decisions. A step that does not fit throws a ScheduleError that says
  /// which step and why; the schedule is then as before the call.
  void replay(const Trace& trace, Site site = Site::current());

  // ---- queries: change nothing but the table of handles ----------------------------------------------------------

  /// The block of this name, or the one that writes this tensor, in whatever layout and scope.
  BlockRef block(const std::string& name, Site site = Site::current());
  BlockRef block(const Tensor& tensor, Site site = Site::current());
  /// All blocks in program order.
  std::vector<BlockRef> blocks(Site site = Site::current());
  /// The loops round a block, outermost first.
  std::vector<LoopRef> loops(BlockRef block, Site site = Site::current());
  template <std::size_t N>
  std::array<LoopRef, N> loops(BlockRef block, Site site = Site::current()) {
    std::array<LoopRef, N> out;
    std::vector<LoopRef> all = loops(block, site);
    check_count(all.size(), N, block, site);
    for (std::size_t i = 0; i < N; ++i) out[i] = all[i];
    return out;
  }
  std::vector<BlockRef> producers(BlockRef block, Site site = Site::current());
  std::vector<BlockRef> consumers(BlockRef block, Site site = Site::current());
  /// The loops at which compute_at(block, loop) is legal, outermost first.
  std::vector<LoopRef> legal_compute_at(BlockRef block, Site site = Site::current());
  std::string name(LoopRef loop, Site site = Site::current()) const;
  std::string name(BlockRef block, Site site = Site::current()) const;
  /// The statement behind a handle; throws when it is stale.
  const For& get(LoopRef loop, Site site = Site::current()) const;
  const Block& get(BlockRef block, Site site = Site::current()) const;
  /// The value that was decided.
  std::int64_t value(const Factor& factor, Site site = Site::current()) const;
  /// The extent of a loop when constant.
  std::optional<std::int64_t> extent(LoopRef loop, Site site = Site::current()) const;

  /// Would `change` succeed? `s.can([&](Schedule& t) { t.compute_at(conv, oo); })`. Changes nothing.
  template <class F>
  bool can(F&& change) const {
    return !why_not(std::forward<F>(change));
  }
  /// The error that `change` would throw; nothing when it would succeed.
  template <class F>
  std::optional<ScheduleError> why_not(F&& change) const {
    Schedule trial = fork();
    try {
      change(trial);
      return std::nullopt;
    } catch (const ScheduleError& error) {
      return error;
    }
  }

  // ---- loops -----------------------------------------------------------------------------------------------------

  /// Splits a loop into nested ones, outermost first; at most one factor is inferred. A split that does not divide is
  /// handled as `tail` says.
  ///
  ///     for i in 0..n:          for i_0 in 0..ceil(n/8):
  ///       A(vi = i)       =>      for i_1 in 0..8:
  ///                                 A(vi = i_0*8 + i_1) where i_0*8 + i_1 < n
  ///
  /// Conditions: the loop is serial; factors are positive constants; their product is at least the extent; at least one
  /// factor is inferred when the extent is a run-time size. `Tail::Pad`: every block below writes intermediates alone, and
  /// the loop binds spatial variables.
  template <std::size_t N>
  std::array<LoopRef, N> split(LoopRef loop, const SplitFactor (&factors)[N], Tail tail = Tail::Guard,
                               Site site = Site::current()) {
    std::array<LoopRef, N> out;
    std::vector<LoopRef> all = split_list(loop, std::vector<SplitFactor>(factors, factors + N), tail, site);
    for (std::size_t i = 0; i < N; ++i) out[i] = all[i];
    return out;
  }
  /// As above with a list made at run time. (A template, so that a braced list means the form above.)
  template <std::same_as<std::vector<SplitFactor>> List>
  std::vector<LoopRef> split(LoopRef loop, const List& factors, Tail tail = Tail::Guard,
                             Site site = Site::current()) {
    return split_list(loop, factors, tail, site);
  }

  /// Makes nested loops, outermost first, one.
  ///
  ///     for i in 0..n:          for i_j in 0..n*m:
  ///       for j in 0..m:   =>     A(vi = i_j floordiv m, vj = i_j floormod m)
  ///         A(vi = i, vj = j)
  ///
  /// Conditions: each loop is the only statement in the one before; all are serial.
  LoopRef fuse(const std::vector<LoopRef>& loops, Site site = Site::current());
  LoopRef fuse(LoopRef outer, LoopRef inner, Site site = Site::current()) {
    return fuse(std::vector<LoopRef>{outer, inner}, site);
  }

  /// Puts the loops into this order, in the places that they occupy together; loops between them that are not named stay.
  ///
  ///     reorder({j, i}):   for i: for k: for j:   =>   for j: for k: for i:
  ///
  /// Conditions: all lie on one path with single statements between; blocks below are complete or reductions; reduce loops
  /// change their order only under a reducer that is associative and commutative.
  void reorder(const std::vector<LoopRef>& order, Site site = Site::current());

  /// Runs the iterations on threads. Conditions: iterations are independent (no reduce variable bound to the loop, no two
  /// iterations write one element); no parallel loop above or below.
  void parallel(LoopRef loop, Site site = Site::current());
  /// Runs the iterations as lanes. Any extent: lowering cuts to the native width and masks the rest. Conditions as for
  /// parallel; the extent is constant; no vectorised loop above or below.
  void vectorize(LoopRef loop, Site site = Site::current());
  /// Repeats the body. Condition: the extent is constant.
  void unroll(LoopRef loop, Site site = Site::current());
  /// Binds the loop to a GPU thread axis. On a reduce loop (ThreadX/Y/Z alone): a cross-thread reduction, for which the
  /// reducer must be associative and commutative.
  void bind(LoopRef loop, ThreadAxis axis, Site site = Site::current());
  /// Notes a hint on a loop or block, for lowering and for target-specific code.
  void annotate(LoopRef loop, const std::string& key, std::int64_t value, Site site = Site::current());
  void annotate(BlockRef block, const std::string& key, std::int64_t value, Site site = Site::current());
  /// Asks lowering to cut this loop so that its steady state has no guards.
  void partition(LoopRef loop, Site site = Site::current());

  // ---- placement -------------------------------------------------------------------------------------------------

  /// Moves a producer into a loop of its consumers and shrinks it to what they need there.
  ///
  ///     for i: A(vi = i)                      for j_0:
  ///     for j_0: for j_1:                =>     for i: A(vi = j_0*8 + i)
  ///       B(vj = j_0*8 + j_1) reads A           for j_1: B(vj = j_0*8 + j_1) reads A
  ///
  /// Conditions: the block is complete or a reduction and the only writer of its buffer, which is no output; all its
  /// consumers are below the loop and all its producers before it; the region it must write there is known.
  /// `at_end` puts it right before its first consumer (default) or first in the loop.
  void compute_at(BlockRef block, LoopRef loop, Site site = Site::current());
  /// Moves a consumer into a loop of its producers. Conditions: all its producers are below the loop, the region they
  /// write there covers what it reads, no other block needs it before.
  void reverse_compute_at(BlockRef block, LoopRef loop, Site site = Site::current());
  /// Puts the block's expression into its consumers and drops the block. Conditions: complete, one store, subscripts are
  /// distinct variables, an intermediate buffer, no self read.
  void compute_inline(BlockRef block, Site site = Site::current());
  /// Applies the block's expression where its only producer stores. Conditions: the block is complete and elementwise in
  /// the producer's buffer, which it alone reads; a reduction producer must have run to its end (its loops' place).
  void reverse_compute_inline(BlockRef block, Site site = Site::current());

  /// Stages a read of the block through a new buffer in `scope`: a copy block (returned) that can be placed with compute_at.
  /// `buffer` counts the block's reads in order of first access.
  BlockRef cache_read(BlockRef block, int buffer, Scope scope, Site site = Site::current());
  BlockRef cache_read(BlockRef block, const Tensor& tensor, Scope scope, Site site = Site::current());
  /// Only one access of several to the buffer (x(k, i) * x(k, j)): `access` counts them in the order in which the block's
  /// expression has them, equal ones once. The others stay.
  BlockRef cache_read(BlockRef block, int buffer, Scope scope, int access, Site site = Site::current());
  BlockRef cache_read(BlockRef block, const Tensor& tensor, Scope scope, int access,
                      Site site = Site::current());
  /// The block writes a new buffer in `scope` and a copy block (returned) stores it to the old one.
  BlockRef cache_write(BlockRef block, Scope scope, Site site = Site::current());
  /// As above, but read-modify-write at a reduce loop: below `at` the block accumulates in the new buffer, which is
  /// initialised on the first pass, reloaded on later ones and stored after each. What register accumulators under a
  /// blocked reduction need. Returns the store block.
  BlockRef cache_write(BlockRef block, Scope scope, LoopRef at, Site site = Site::current());
  /// Where the block's (intermediate) buffer lives.
  void set_scope(BlockRef block, Scope scope, Site site = Site::current());

  // ---- reductions ------------------------------------------------------------------------------------------------

  /// Splits a reduction over `loop`: partial results, one for each iteration of `loop`, in a new buffer with a new
  /// dimension at `axis`, and a block that reduces them. Returns the partial block; `block` becomes the final reduction.
  /// Conditions: the reducer is associative and commutative; `loop` binds reduce variables of this block alone.
  BlockRef rfactor(BlockRef block, LoopRef loop, int axis = 0, Site site = Site::current());
  /// Puts the init into a nest of its own before `loop`. Returns the init block; the pair counts as one reduction.
  BlockRef decompose_reduction(BlockRef block, LoopRef loop, Site site = Site::current());

  /// Pads the domains of a block's variables to multiples, one a variable (1: as it is). Operands that the padded variables
  /// index are read from copies that hold zeros beyond the old ends; what the block writes grows likewise, and nobody reads
  /// the surplus. Returns the copying blocks, in the order of the block's reads: a place to pack.
  ///
  ///     for i: for j in 0..29: for k:     for k: for j in 0..32: B_padded(k, j) = j < 29 ? B(k, j) : 0
  ///       C(i, j) += A(i, k) * B(k, j) => for i: for j in 0..32: for k: C(i, j) += A(i, k) * B_padded(k, j)
  ///
  /// Conditions: the block's loops are as it was computed, one a variable; it writes an intermediate; a padded variable
  /// stands alone in the subscripts that mention it; a padded reduce variable indexes every factor of a sum of products.
  std::vector<BlockRef> pad_einsum(BlockRef block, const std::vector<Expr>& multiples,
                                   Site site = Site::current());

  // ---- layouts, hints ---------------------------------------------------------------------------

  /// Stores the buffer that the block writes (`buffer` < 0) or its read `buffer` in another layout: element [i…] at
  /// map(i…). Of a Constant parameter a copy is laid out so, which all its readers read instead; the copy is prepared (see
  /// below) and its block returned. Otherwise the result is undefined.
  BlockRef transform_layout(BlockRef block, int buffer, const IndexMap& map, Site site = Site::current());
  BlockRef transform_layout(BlockRef block, const Tensor& tensor,
                            const std::function<std::vector<Expr>(const std::vector<Var>&)>& map,
                            Site site = Site::current());
  /// Marks a block as one that runs once, ahead of the calls, for as long as its constant stays what it is: packing or
  /// transforming weights. A build makes `<name>_prepare` of it, and `<name>` takes what that made in the constant's place;
  /// `compile` still makes one kernel that does all in every call (see lathe/prepare.h).
  ///
  /// Conditions: the block reads one Constant parameter and nothing else, and alone reads it; it alone writes an
  /// intermediate in global memory; with its loops it stands by itself at the root.
  void prepare(BlockRef block, Site site = Site::current());
  /// Stores of the block bypass the caches.
  void store_hint(BlockRef block, bool non_temporal, Site site = Site::current());
  /// Declares that parameter `buffer` of the program starts at a multiple of `bytes`; checked at every call.
  void assume_aligned(const std::string& parameter, std::int64_t bytes, Site site = Site::current());
  void math(BlockRef block, MathMode mode, Site site = Site::current());
  /// In each iteration of the loop, brings near what the block will read of its read `buffer` `distance` iterations later:
  /// one prefetch instruction a cache line. Changes no value. Conditions: the loop encloses the block; the buffer exists
  /// outside the loop; at most 64 lines an iteration.
  void prefetch(BlockRef block, int buffer, LoopRef loop, int distance = 1, Site site = Site::current());
  void prefetch(BlockRef block, const Tensor& tensor, LoopRef loop, int distance = 1,
                Site site = Site::current());

  // ---- hardware that computes tiles ------------------------------------------------------------------------------

  /// Makes what one iteration of `loop`'s surroundings computes below it one block, which is returned: the loop and those
  /// below become its inside.
  ///
  ///     for i_0 in 0..4: for i_1 in 0..8:         for i_0 in 0..4:
  ///       A(vi = i_0*8 + i_1)               =>      block A_o(vo = i_0):
  ///                                                   for i_1 in 0..8: A(vi = vo*8 + i_1)
  ///
  /// Conditions: one block below the loop, complete or a reduction; each of its bindings is a part of loops outside times the
  /// extent of the part inside, plus the part inside; no guard.
  BlockRef blockize(LoopRef loop, Site site = Site::current());
  /// Computes what is below the loop by a declared intrinsic (lathe/tensor_intrinsic.h). Conditions: those of blockize; the
  /// inside is the intrinsic's description, with regions of buffers for its parameters.
  void tensorize(LoopRef loop, const std::string& intrinsic, Site site = Site::current());

  // ---- open decisions --------------------------------------------------------------------------------------------

  /// `n` factors whose product is the loop's extent, the last at most `max_innermost`.
  std::vector<Factor> sample_perfect_tile(LoopRef loop, int n, std::int64_t max_innermost = 64,
                                          Site site = Site::current());
  /// `n` factors of which the first is ceil(extent / product of the others), each of the others one of `choices` (all up to
  /// `max_innermost` that waste at most a third when empty): tiles that need not divide.
  std::vector<Factor> sample_tile(LoopRef loop, int n, std::int64_t max_innermost = 64,
                                  const std::vector<std::int64_t>& choices = {}, Site site = Site::current());
  /// One of the values. A search calls the decision by `name`, of the form "block.what"; without one, after the loop that
  /// the factor makes.
  Factor sample_choice(const std::vector<std::int64_t>& choices, const std::string& name = {},
                       Site site = Site::current());
  /// One of legal_compute_at(block), or an undefined loop: leave it where it is (compute_at with it does nothing).
  LoopRef sample_compute_location(BlockRef block, Site site = Site::current());
  /// Fixes what the next `sample_*` step decides, as if replayed; refused there when it is not an option.
  void next_decision(std::vector<std::int64_t> decision) { next_decision_ = std::move(decision); }
  /// A condition between decisions that must hold, e.g. `s.require(a * b <= 12)`.
  void require(const Expr& condition, Site site = Site::current());

  // ---- sugar: not in the trace by itself ---------------------------------------------------------------------------

  /// split + split + reorder: returns {x_outer, y_outer, x_inner, y_inner}.
  std::array<LoopRef, 4> tile(LoopRef x, LoopRef y, std::int64_t x_factor, std::int64_t y_factor,
                              Site site = Site::current());

  /// What this implementation of a schedule is made of (src/schedule/state.h); for primitives.
  struct State;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  explicit Schedule(std::unique_ptr<State> state);
  std::vector<LoopRef> split_list(LoopRef loop, const std::vector<SplitFactor>& factors, Tail tail,
                                  Site site);
  void check_count(std::size_t have, std::size_t want, BlockRef block, Site site) const;
  std::vector<Handle> apply(Instruction step, Site site);
  std::unique_ptr<State> state_;
  std::vector<std::int64_t> next_decision_;
};

/// The conditions on the whole program that single primitives cannot check: thread extents agree, scopes fit the threads
/// that read them, memory and threads within the target's limits, every intermediate fully written before it is read.
/// Throws ScheduleError.
void verify(const Schedule& schedule, const Target& target);
void verify(const Program& program, const Target& target);

/// All values that the decision of step `index` of the schedule's trace could take.
std::vector<std::vector<std::int64_t>> decision_options(const Schedule& schedule, std::size_t index);

}  // namespace lathe
