#pragma once
// A trace: the ordered list of primitives with their decisions that made a schedule.
//
// The trace is what the search mutates, what the record store keeps, what a production build replays, and what is printed
// as JSON or as C++ source that a person can paste and edit. Blocks and loops are named by handle numbers, counted in the
// order in which instructions define them; the first instruction of any chain is `get_block`, which names a block by its
// position in the canonical (pre-order) walk of the program. Names and call sites ride along as comments, so a trace
// replays on a renamed equal program.
//
// A replay rejects a decision that no longer fits, saying which step and why. It never repairs one silently.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lathe/program.h"

namespace lathe {

/// A loop of a schedule. Consumed by the primitive that rewrites it (`split`, `fuse`); using it then is an error that
/// names that primitive.
class LoopRef {
 public:
  LoopRef() = default;
  explicit LoopRef(std::uint32_t id) : id_(id) {}
  std::uint32_t id() const { return id_; }
  bool defined() const { return id_ != kNone; }
  friend bool operator==(LoopRef, LoopRef) = default;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t id_ = kNone;
};

/// A block of a schedule. Consumed by `compute_inline` and the like.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(std::uint32_t id) : id_(id) {}
  std::uint32_t id() const { return id_; }
  bool defined() const { return id_ != kNone; }
  friend bool operator==(BlockRef, BlockRef) = default;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t id_ = kNone;
};

/// An integer that a `sample_*` decided. It takes part in expressions: `s.split(x, {_, f * 2})`, `s.require(f * g <= 12)`.
class Factor : public Expr {
 public:
  Factor() = default;
  Factor(std::uint32_t id, Var var) : Expr(var), id_(id) {}
  std::uint32_t id() const { return id_; }

 private:
  std::uint32_t id_ = UINT32_MAX;
};

/// Leaves a value to be inferred: `s.split(x, {_, 8})`.
struct Inferred {};
inline constexpr Inferred _{};

/// A function from indices to indices, for `transform_layout`.
struct IndexMap {
  std::vector<Var> from;
  std::vector<Expr> to;
};

/// A word of the language as an argument: an enumerator such as "Scope::Local". Printed as it stands in C++.
struct Symbol {
  std::string text;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

/// An argument of an instruction.
struct Arg;
using ArgList = std::vector<Arg>;
struct Arg
    : std::variant<Inferred, std::int64_t, std::string, Symbol, LoopRef, BlockRef, Expr, IndexMap, ArgList> {
  using variant::variant;
  template <class T>
  const T* get() const {
    return std::get_if<T>(static_cast<const variant*>(this));
  }
};

/// What a handle number stands for.
enum class HandleKind : std::uint8_t { Loop, Block, Factor };
struct Handle {
  HandleKind kind;
  std::uint32_t id;
};

/// One step.
struct Instruction {
  std::string op;                      ///< name of the primitive
  ArgList args;                        ///< in the order of the C++ call
  std::vector<Handle> outputs;         ///< defined by the step
  std::vector<std::int64_t> decision;  ///< of a `sample_*`: what was chosen
  std::string comment;                 ///< names, for people
  std::string site;                    ///< "file:line" of the call, for people
};

class Trace {
 public:
  std::vector<Instruction> steps;

  /// Deterministic text, one step a line when indent >= 0. Comments and sites are left out when `bare`.
  std::string to_json(bool bare = false) const;
  /// Throws UserError (LTH-F…) saying where the text is malformed.
  static Trace from_json(const std::string& text);

  /// The body of a C++ function `void apply(Schedule& s)`: compiles, and gives the identical program.
  std::string to_cpp() const;

  /// Positions in `steps` of the `sample_*` instructions.
  std::vector<std::size_t> decisions() const;
};

}  // namespace lathe
