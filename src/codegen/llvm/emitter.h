#pragma once
// From a lowered program to LLVM IR, one to one.
//
// A ModuleContext is what the functions of a module share. An Emitter emits one function: the kernel, or the
// body of one of its parallel loops. Its methods are spread over files by concept: statement.cpp,
// parallel.cpp, expression.cpp, memory.cpp, integer.cpp, convert.cpp, intrinsic.cpp.
//
// Memory    A temporary whose size is a constant and small is an alloca in the function's entry block, where
// constant
//           subscripts make LLVM keep its elements in registers: that is how accumulators are made. A larger
//           one comes from the host's workspace, and a failure there is the kernel's return code.
// Aliasing  Every buffer has an alias scope: an access to one is known not to touch another.
// State     Nothing writable is global: kernels run on many threads at once.

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/ops.h"
#include "lathe/program.h"

namespace lathe::codegen::cpu {

class ModuleContext {
 public:
  ModuleContext(::llvm::Module& module, const Features& features, const Options& options);

  ::llvm::Module& module;
  ::llvm::LLVMContext& context;
  const Features features;
  Options options;

  /// Marks an access of the buffer's memory.
  void mark_access(::llvm::Instruction* access, const Buffer& buffer);
  /// The buffers of the kernel that is emitted next.
  void declare_buffers(const Program& program);

  /// The host's functions (lathe/runtime/c_api.h) and what a program calls by name.
  ::llvm::FunctionCallee hook(const char* name, ::llvm::FunctionType* type);
  ::llvm::Function* new_function(const std::string& name, ::llvm::FunctionType* type, bool internal);
  /// A pointer to text in constant data.
  ::llvm::Constant* text(const std::string& value);
  int next_parallel_loop = 0;

 private:
  struct AliasLists {
    ::llvm::MDNode *own = nullptr, *others = nullptr;
  };
  std::unordered_map<const BufferNode*, AliasLists> alias_;
  std::map<std::string, ::llvm::Constant*> texts_;
};

class Emitter {
 public:
  using Value = ::llvm::Value*;
  using Type = ::llvm::Type*;

  Emitter(ModuleContext& module, ::llvm::Function* function, std::string kernel);

  void define(const VarNode* var, Value value) { vars_[var] = value; }
  void define(const BufferNode* buffer, Value address) { buffers_[buffer] = address; }

  void emit(const Stmt& s);
  Value emit(const Expr& e);

  /// Ends the function: done.
  void finish();
  Builder& builder() { return b; }

 private:
  // ---- statement.cpp
  void emit_for(const For& loop);
  void emit_serial(const For& loop, Value first, Value end, bool runs);
  void emit_if(const If& s);
  void emit_allocate(const Allocate& s);
  void emit_stack(const Allocate& s, std::int64_t elements);
  void emit_workspace(const Allocate& s);
  void emit_evaluate(const Expr& e);
  /// Returns `code` from the function after giving the workspace back.
  void emit_return(Value code);
  ::llvm::BasicBlock* new_block(const char* name);

  // ---- parallel.cpp
  void emit_parallel(const For& loop);

  // ---- expression.cpp
  Value emit_node(const Expr& e);
  Value emit_binary(const Binary& e);
  Value emit_comparison(BinaryOp op, DataType type, Value x, Value y);
  Value emit_logical(const Binary& e);
  Value emit_select(const Select& e);
  Value emit_ramp(const Ramp& e);
  Value emit_literal(DataType type, double value);
  /// Two values, one of which is computed, where the condition decides at run time.
  Value emit_branches(Value condition, const std::function<Value()>& if_true,
                      const std::function<Value()>& if_false);

  // ---- integer.cpp
  Value emit_integer(BinaryOp op, DataType type, Value x, Value y);
  /// A scalar of index_type in 64 bits; `overflow` becomes true when they do not hold it, which is undefined elsewhere.
  Value emit_checked_index(const Expr& e, Value& overflow);
  Value emit_divide(DataType type, Value x, Value y, bool floor, bool remainder);
  Value emit_shift(bool left, DataType type, Value x, Value amount);

  // ---- convert.cpp
  Value emit_cast(DataType to, DataType from, Value x);
  Value float_to_integer(DataType to, Value x);
  Value integer_to_float(DataType to, DataType from, Value x);
  Value emit_reinterpret(DataType to, DataType from, Value x);

  // ---- memory.cpp
  Value emit_load(const Load& e);
  void emit_store(const Store& s);
  /// Stores those of consecutive lanes that are named, in runs of powers of two.
  void store_runs(const Buffer& buffer, Value value, Value place, const std::vector<bool>& lanes);
  struct Access;
  Access access_of(const Buffer& buffer, const std::vector<Expr>& indices);
  Value load_lanes(const Access& access, Value mask);
  Value load_strided(const Access& access);
  Value load_column(const Access& access, Value mask);
  std::int64_t multiple_of(const Expr& e) const;
  Value address(const Buffer& buffer, Value index);
  Value from_memory(DataType type, Value x);
  Value to_memory(DataType type, Value x);
  /// Of the first lane's element.
  Value address_of(const Load& e);
  Value emit_prefetch(const Load& e);

  // ---- intrinsic.cpp
  Value emit_call(const Call& e);
  Value emit_float_call(const Call& e, std::vector<Value> args);
  Value emit_integer_call(const Call& e, const std::vector<Value>& args);
  Value emit_reduction(const Call& e, Value x);
  Value emit_extern(const Call& e);
  void emit_effect(const Call& e);
  /// Calls a function of scalars lane by lane.
  Value call_by_lane(const std::string& symbol, Type result, const std::vector<Value>& args, bool pure);

  Type value_type_of(DataType t) { return value_type(module_.context, t); }
  Value convert_index(Value x, Type type);

  /// Values of expression nodes that the current statement has computed on the way here. Programs are DAGs:
  /// without this a shared node would be emitted as often as there are paths to it.
  struct MemoScope;
  std::unordered_map<const ExprNode*, Value> memo_;
  std::vector<Expr>
      memo_order_;  ///< keeps the nodes alive: a new one at an old address is another expression

  ModuleContext& module_;
  ::llvm::Function* function_;
  std::string kernel_;
  Builder b;
  Ops ops;
  std::unordered_map<const VarNode*, Value> vars_;
  std::unordered_map<const BufferNode*, Value> buffers_;
  std::unordered_map<const VarNode*, std::int64_t> multiples_;  ///< of variables: a known divisor
  std::vector<Value> workspaces_;                               ///< to give back, innermost last
  std::int64_t stack_bytes_ = 0;
  bool streamed_ = false;  ///< has stored past the caches: a fence ends the function
};

}  // namespace lathe::codegen::cpu
