#pragma once
// Statements, blocks and loops.
//
// A program in *block form* is a tree of loops whose leaves are blocks. A block is the unit of scheduling:
// its body sees only its own iteration variables, and the bindings say which loop values those take.
// Scheduling rearranges the loops and bindings round a block and never its body:
//
//     for i in 0..32:
//       for j in 0..4:
//         block C(vi: spatial 0..32 = i, vj: spatial 0..30 = j*8 + k) where j*8 + k < 30
//           reads A[vi, vj]   writes C[vi, vj]
//           C[vi, vj] = A[vi, vj] * 2
//
// A *complete* block has only spatial variables, is the only writer of what it writes, and reads nothing that
// it writes. A *reduction* block has an init, and its reduce variables do not index its output. Nearly all
// legality rests on these two, on dominance and on region cover.
//
// Init   runs when all reduce variables of the block are 0, under the spatial part of the predicate.
// Predicate   an iteration for which it is false does nothing.
// Buffers of a program in block form that are not parameters have one instance per iteration of the lowest
//   common ancestor of their accesses (and per thread or block by their scope), poisoned at entry.
// Regions   what executed accesses touch: over-approximated for reads only.
// Thread axes   before synchronisation is inserted a thread-bound loop is a parallel loop with an implicit
//   barrier after each statement at its level, and a bound reduce loop is the serial reduction; afterwards it
//   is SIMT with explicit barriers. The interpreter runs both meanings.

#include <map>
#include <variant>

#include "lathe/expr.h"

namespace lathe {

#define LATHE_STMT_KINDS(X) X(For) X(Block) X(Store) X(Seq) X(If) X(Let) X(Allocate) X(Evaluate)

enum class StmtKind : std::uint8_t {
#define X(name) name,
  LATHE_STMT_KINDS(X)
#undef X
};

struct StmtNode : Node {
  StmtKind kind;
  explicit StmtNode(StmtKind k) : kind(k) {}
};

class Stmt : public Ref<StmtNode> {
 public:
  Stmt() = default;
  Stmt(std::nullptr_t) {}
  explicit Stmt(const StmtNode* node) : Ref(node) {}
  StmtKind kind() const { return get()->kind; }
  template <class T>
  const T* as() const {
    return get() && get()->kind == T::Kind ? static_cast<const T*>(get()) : nullptr;
  }
};

/// What a primitive noted on a loop or block. Ordered, so that printing and hashing are deterministic.
using Annotation = std::variant<std::int64_t, std::string>;
using Annotations = std::map<std::string, Annotation>;

enum class ForKind : std::uint8_t { Serial, Parallel, Vectorized, Unrolled, ThreadBound };
const char* spelling(ForKind kind);

enum class ThreadAxis : std::uint8_t { None, BlockX, BlockY, BlockZ, ThreadX, ThreadY, ThreadZ, VThread };
const char* spelling(ThreadAxis axis);  ///< "blockIdx.x", …
std::optional<ThreadAxis> thread_axis_named(std::string_view text);

/// for var in 0..extent. `var` is unique in its program and is the loop's identity.
struct For : StmtNode {
  static constexpr StmtKind Kind = StmtKind::For;
  Var var;
  Expr extent;
  ForKind for_kind = ForKind::Serial;
  ThreadAxis axis = ThreadAxis::None;
  Annotations annotations;
  Stmt body;
  For(Var v, Expr e, ForKind k, Stmt b, ThreadAxis a = ThreadAxis::None, Annotations n = {})
      : StmtNode(Kind),
        var(std::move(v)),
        extent(std::move(e)),
        for_kind(k),
        axis(a),
        annotations(std::move(n)),
        body(std::move(b)) {}
};

enum class IterKind : std::uint8_t { Spatial, Reduce };

/// An iteration variable of a block, ranging over 0..extent.
struct IterVar {
  Var var;
  Expr extent;
  IterKind kind = IterKind::Spatial;
};

/// min .. min + extent
struct Range {
  Expr min, extent;
};
struct BufferRegion {
  Buffer buffer;
  std::vector<Range> ranges;  ///< one a dimension
};

/// How a reduction combines: n-tuples a (so far) and b (new) to the n values of `result`. Properties are
/// declared; the default is neither. `rfactor`, reordering of reduce loops and thread reductions need both.
struct ReducerNode : Node {
  std::string name;
  std::vector<Var> a, b;
  std::vector<Expr> result, identity;
  bool associative = false, commutative = false;
};
using Reducer = Ref<ReducerNode>;

/// A block's identity through all rewrites; the name is for people, and unique in a program.
struct LabelNode : Node {
  std::string name;
  explicit LabelNode(std::string n) : name(std::move(n)) {}
};
using Label = Ref<LabelNode>;
inline Label make_label(std::string name) { return Label(new LabelNode(std::move(name))); }

struct Block : StmtNode {
  static constexpr StmtKind Kind = StmtKind::Block;
  Label label;
  std::vector<IterVar> iters;
  std::vector<Expr>
      bindings;    ///< one for each iteration variable, over loop variables (and enclosing blocks' variables)
  Expr predicate;  ///< Bool over loop variables; the literal true when there is none
  std::vector<BufferRegion> reads,
      writes;  ///< over `iters`; a reduction's read of its own output is not listed
  Stmt init;   ///< undefined when the block is no reduction (or its init was decomposed off)
  Stmt body;
  Reducer reducer;  ///< undefined when the block is no reduction
  Label partner;    ///< of a decomposed reduction: the init block's update and the update block's init
  Annotations annotations;
  Block() : StmtNode(Kind) {}
  const std::string& name() const { return label->name; }
  bool is_reduction() const { return reducer.defined(); }
};

/// buffer[indices] = value. A tuple reduction computes all values in Lets before its Stores.
struct Store : StmtNode {
  static constexpr StmtKind Kind = StmtKind::Store;
  Buffer buffer;
  Expr value;
  std::vector<Expr> indices;
  Expr mask;               ///< only after vectorisation; a lane that is off writes nothing
  bool streaming = false;  ///< asked for by `store_hint`: bypass the caches
  Store(Buffer b, Expr v, std::vector<Expr> i, Expr m = {}, bool s = false)
      : StmtNode(Kind),
        buffer(std::move(b)),
        value(std::move(v)),
        indices(std::move(i)),
        mask(std::move(m)),
        streaming(s) {}
};

struct Seq : StmtNode {
  static constexpr StmtKind Kind = StmtKind::Seq;
  std::vector<Stmt> stmts;  ///< may be empty: nothing is done
  explicit Seq(std::vector<Stmt> s) : StmtNode(Kind), stmts(std::move(s)) {}
};

struct If : StmtNode {
  static constexpr StmtKind Kind = StmtKind::If;
  Expr condition;
  Stmt then_case, else_case;  ///< else_case may be undefined
  If(Expr c, Stmt t, Stmt e = {})
      : StmtNode(Kind), condition(std::move(c)), then_case(std::move(t)), else_case(std::move(e)) {}
};

struct Let : StmtNode {
  static constexpr StmtKind Kind = StmtKind::Let;
  Var var;
  Expr value;
  Stmt body;
  Let(Var v, Expr x, Stmt b) : StmtNode(Kind), var(std::move(v)), value(std::move(x)), body(std::move(b)) {}
};

/// Gives `buffer` memory for the duration of `body`. Made by lowering.
struct Allocate : StmtNode {
  static constexpr StmtKind Kind = StmtKind::Allocate;
  Buffer buffer;
  Stmt body;
  Allocate(Buffer b, Stmt s) : StmtNode(Kind), buffer(std::move(b)), body(std::move(s)) {}
};

/// Evaluates a call for its effect.
struct Evaluate : StmtNode {
  static constexpr StmtKind Kind = StmtKind::Evaluate;
  Expr value;
  explicit Evaluate(Expr v) : StmtNode(Kind), value(std::move(v)) {}
};

/// Makes a statement node: `make_stmt<For>(var, extent, ForKind::Serial, body)`.
template <class T, class... Args>
Stmt make_stmt(Args&&... args) {
  return Stmt(new T(std::forward<Args>(args)...));
}
/// The statements one after another; nested sequences flattened, a single statement as itself.
Stmt make_seq(std::vector<Stmt> stmts);
/// The literal true.
Expr true_expr();
inline bool is_true(const Expr& e) { return e.dtype().is_bool() && is_int(e, 1); }

}  // namespace lathe
