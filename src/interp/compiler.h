#pragma once
// From a program with known sizes to instructions.

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "interp/bytecode.h"
#include "interp/scopes.h"

namespace lathe::interp {

class Compiler {
 public:
  Compiler(const Program& program, const std::vector<std::int64_t>& sizes, const Options& options);
  /// Throws UserError LTH-I005, LTH-I006.
  Bytecode compile();
  bool has_parallel() const { return has_parallel_; }
  bool block_form() const { return blocks_; }

 private:
  /// The value of an expression: its first register, and its number when it is a known integer.
  struct Operand {
    std::uint32_t reg = kNone;
    std::optional<std::int64_t> known;
    /// An index between these, both included; {} when nothing is known.
    struct Between {
      std::int64_t low, high;
    };
    std::optional<Between> between;
  };

  // compile_expr.cpp
  Operand expr(const Expr& e);
  Operand compile_expr(const Expr& e);
  void expr_into(const Expr& e, std::uint32_t dst);
  Operand binary_expr(const Binary& n);
  Operand logical_expr(const Binary& n);
  Operand select_expr(const Select& n);
  void select_lanes(const Select& n, std::uint32_t dst);
  Operand load_expr(const Load& n);
  Operand call_expr(const Call& n);
  Operand extern_expr(const Call& n);
  Operand cast_expr(const Cast& n);
  Operand spread_expr(const Expr& e);  ///< Ramp, Broadcast
  std::optional<std::int64_t> fold(BinaryOp op, DataType t, const Operand& a, const Operand& b);
  Operand constant(DataType t, Slot value, std::optional<std::int64_t> known);
  Operand index_constant(std::int64_t value) { return constant(index_type, {.i = value}, value); }
  std::optional<Operand::Between> bounds(BinaryOp op, DataType t, const Operand& a, const Operand& b);
  Access* make_access(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& mask, int lanes);
  int access_rank(const Access& access) const;
  Instr& emit_access(Fn fn, std::uint32_t dst, int lanes, const Access* access);

  // compile_stmt.cpp
  void stmt(const Stmt& s);
  void bare_stmt(const Stmt& s);
  void for_stmt(const For& n);
  void zero_extent(const For& n);
  void store_stmt(const Store& n);
  bool update_stmt(const Store& n);
  void if_stmt(const If& n);
  void evaluate_stmt(const Evaluate& n);
  void allocate(const Buffer& buffer);
  void free_buffer(const Buffer& buffer);
  void implicit_barrier();

  // hoist.cpp
  void hoist_from(const Stmt& body, const For& loop);
  void hoist(const Expr& e, const VarNode* loop);
  bool can_hoist(const Expr& e);

  // compile_block.cpp
  void block_stmt(const Block& n);
  void init_of_empty(const Block& n);
  bool is_complete(const Block& n);
  void split_predicate(const Block& n, std::vector<Expr>& spatial, std::vector<Expr>& reduce);
  void check_domains(const Block& n, const std::vector<Operand>& values);
  void find_writers();
  bool goes_on_at(const Block& n, const VarNode* loop);

  // compiler.cpp
  std::uint32_t new_register(int lanes = 1);
  Instr& emit(Fn fn);
  std::size_t emit_jump(Fn fn, std::uint32_t a = kNone, int lanes = 1);
  void land(std::size_t jump);  ///< the jump leads here
  std::size_t here() const { return code_.instrs.size(); }
  std::uint32_t buffer_register(const Buffer& buffer);
  BufferInfo& buffer_info(const Buffer& buffer);
  void open_tally(bool iteration = false);
  [[noreturn]] void refuse(const std::string& what);
  void push_scope(const Var& var, std::uint32_t reg);
  void pop_scope() { scope_ = code_.scopes[scope_].parent; }
  void place_constants();

  const Program& program_;
  const std::vector<std::int64_t>& sizes_;
  const Options& options_;
  Bytecode code_;
  Scopes scopes_;
  LoopVars loop_vars_;
  bool blocks_ = false;        ///< block form
  bool synchronized_ = false;  ///< SIMT with explicit barriers
  bool has_parallel_ = false;
  bool shadow_ = false;

  std::unordered_map<const VarNode*, Operand> vars_;
  std::unordered_map<const BufferNode*, std::uint32_t> buffer_registers_;
  std::unordered_map<const BufferNode*, BufferInfo*> infos_;
  std::unordered_map<const BufferNode*, AllocateInfo*> allocated_;  ///< alive here
  std::map<std::pair<int, std::int64_t>, std::uint32_t> constants_;
  std::vector<Slot> constant_values_;
  std::uint32_t registers_ = 0, most_registers_ = 0;
  int scope_ = -1;
  int tally_ = -1;              ///< -1: nothing is counted
  std::uint32_t mask_ = kNone;  ///< lanes that are on where an expression is evaluated
  bool complete_ = false;       ///< in a complete block
  const Block* block_ = nullptr;
  bool init_only_ = false;                          ///< in the pass for empty reduce domains
  std::unordered_set<const VarNode*> empty_loops_;  ///< of extent 0, standing at 0 in that pass
  int thread_depth_ = 0;                            ///< thread-bound loops around
  bool uniform_ = true;                             ///< all threads of a block come by here
  std::unordered_set<const VarNode*> thread_vars_;
  std::unordered_map<const BufferNode*, std::unordered_set<const Node*>> writers_;  ///< labels of blocks
  /// Thread axes over which a reduction into the buffer goes.
  std::unordered_map<const BufferNode*, std::array<bool, 8>> reduced_over_;
  /// Labels of reductions over threads or lanes, which take turns at the output.
  std::unordered_set<const Node*> take_turns_;
  std::vector<const For*> loops_;  ///< around
  /// What was computed in an outer loop already, and the variables that such may use.
  std::unordered_map<const ExprNode*, Operand> hoisted_;
  std::unordered_set<const VarNode*> defined_;
  std::vector<const ExprNode*> hoisted_order_;
};

}  // namespace lathe::interp
