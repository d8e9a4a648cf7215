#pragma once
// The threads of a block.
//
// A thread-bound loop forks the thread that reaches it, one thread an iteration, and waits for them. All
// threads below the outermost such loop form a group; it runs them in phases: each runs until it meets a
// barrier, ends, or forks; when none can go on, a barrier is passed and a new epoch begins. A loop over an
// axis that a surrounding loop has bound already is entered by each thread once, with the thread's own
// coordinate: lowering will unify the two.

#include "interp/bytecode.h"

namespace lathe::interp {

class ThreadGroup {
 public:
  explicit ThreadGroup(Context& outside) : outside_(outside), machine_(*outside.machine) {}
  ~ThreadGroup();

  /// Runs the loop that `outside` met at `loop`. False: the run stops.
  bool run(const Instr* loop);

  /// The instance that this execution of the allocation `at` shares with other threads.
  Instance* shared_instance(Context& thread, const Instr* at, const AllocateInfo& info,
                            std::vector<std::int64_t> shape, std::vector<std::int64_t> strides);

 private:
  struct Thread {
    Context context;
    std::vector<Slot> registers;
    int parent = -1;                          ///< the thread that forked it
    int children = 0;                         ///< not yet ended
    std::map<const Instr*, int> allocations;  ///< how often it came by
  };
  using InstanceKey = std::tuple<const Instr*, int, std::array<std::int64_t, 8>>;

  void fork(int parent, const Instr* loop);
  int place();
  void end(int number);
  void forget_children(int parent);
  bool run_phase();
  bool pass_barriers();
  bool check_divergence();
  void collect();
  std::uint32_t linear(const Context& context) const;

  Context& outside_;
  Machine& machine_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<int> free_;                  ///< places in threads_ that are empty
  std::array<std::int64_t, 8> extents_{};  ///< of the axes bound so far
  std::map<InstanceKey, Instance*> shared_;
  std::uint32_t epoch_ = 0;
};

}  // namespace lathe::interp
