#pragma once
// A program: named parameters, intermediate buffers, a body.

#include "lathe/digest.h"
#include "lathe/stmt.h"

namespace lathe {

enum class ParamRole : std::uint8_t {
  Input,     ///< read
  Constant,  ///< read, and the same at every call (weights): may be laid out anew once, ahead of the calls
  Output,    ///< every element written, none read before it is written
  InOut,     ///< read and written
  Size       ///< a scalar of index_type, usable as an extent
};
const char* spelling(ParamRole role);

struct Param {
  ParamRole role = ParamRole::Input;
  Buffer buffer;  ///< undefined for Size
  Var size;       ///< defined for Size alone
  const std::string& name() const { return role == ParamRole::Size ? size.name() : buffer->name; }
};

struct ProgramNode : Node {
  std::string name;
  std::vector<Param> params;
  std::vector<Buffer> temps;  ///< intermediate buffers in block form; lowering turns them into Allocate
  Stmt body;
};

class Program : public Ref<ProgramNode> {
 public:
  Program() = default;
  Program(std::nullptr_t) {}
  explicit Program(const ProgramNode* node) : Ref(node) {}
  Program(std::string name, std::vector<Param> params, std::vector<Buffer> temps, Stmt body);
  /// The same program with another body (and intermediates).
  Program with_body(Stmt body) const;
  Program with_body(Stmt body, std::vector<Buffer> temps) const;
};

/// The program as a short readable loop nest.
std::string to_string(const Program& program);
std::string to_string(const Stmt& stmt);
std::string to_string(const Expr& expr);

/// 128 bits; the same on every platform.
using StructuralHash = Digest;
/// Of the program as written: parameters, intermediates and body; names ignored.
StructuralHash structural_hash(const Program& program);
/// Equal up to names: variables, buffers and blocks that both define correspond one to one; those that a
/// statement or expression only uses must be the same ones.
bool structural_equal(const Program& a, const Program& b);
bool structural_equal(const Stmt& a, const Stmt& b);
bool structural_equal(const Expr& a, const Expr& b);

/// JSON both ways; the text is deterministic. `program_from_json` throws UserError (LTH-F…) saying where it
/// is malformed.
std::string to_json(const Program& program, int indent = -1);
Program program_from_json(const std::string& text);

/// Checks that variables are defined where used, arities and types fit, handles are unique. The problems as
/// sentences, empty when none.
std::vector<std::string> well_formed(const Program& program);

}  // namespace lathe
