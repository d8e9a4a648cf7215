#pragma once
// What stands behind the handles of lathe/te.h.
//
// A tensor is its buffer: loads in expressions refer to buffers, so a tensor's buffer also knows the compute
// that fills it, and `program` finds every compute by walking expressions. A compute does not know its
// tensors (that would be a cycle), only what they look like.

#include "lathe/te.h"

namespace lathe {

/// An index variable of a compute, or the variable of a reduce axis.
struct RangedVar : VarNode {
  Expr extent;
  bool is_axis;
  RangedVar(std::string name, Expr e, bool axis)
      : VarNode(std::move(name), index_type), extent(std::move(e)), is_axis(axis) {}
};
struct SizeVar : VarNode {
  explicit SizeVar(std::string name) : VarNode(std::move(name), index_type) {}
};
inline const RangedVar* ranged(const VarNode* v) { return dynamic_cast<const RangedVar*>(v); }
inline bool is_size(const VarNode* v) { return dynamic_cast<const SizeVar*>(v) != nullptr; }

struct Compute : Node {
  std::string name;
  std::vector<Expr> shape;
  std::vector<Var> indices;
  std::vector<Expr> values;              ///< over `indices` (and the reduction's axes); one a tensor
  std::vector<ReductionSpec> reduction;  ///< one, or none; its values have moved to `values`
  Site site;
  std::string output_name(std::size_t i) const {
    return values.size() == 1 ? name : name + "_" + std::to_string(i);
  }
};

struct TensorBuffer : BufferNode {
  ParamRole role = ParamRole::Input;  ///< of a placeholder
  Ref<Compute> compute;               ///< undefined for a placeholder
  int output = 0;                     ///< which of the compute's tensors
  Site site;
  /// The tensor that this one is a renamed copy of; undefined for an original.
  Buffer original;
};
inline const TensorBuffer* tensor_buffer(const BufferNode* b) { return dynamic_cast<const TensorBuffer*>(b); }
/// Do both stand for the same tensor?
bool same_tensor(const BufferNode* a, const BufferNode* b);
Buffer make_tensor_buffer(const Ref<Compute>& compute, int output);

/// The label of a compute's block.
struct ComputeLabel : LabelNode {
  Ref<Compute> compute;
  ComputeLabel(std::string name, Ref<Compute> c) : LabelNode(std::move(name)), compute(std::move(c)) {}
};

/// Throws UserError with the text and the caller's line.
[[noreturn]] void refuse(Code code, const std::string& text, Site site);
/// Checks the extents of `what` and folds their constants: index_type, over sizes alone, not negative, bytes
/// within 63 bits.
void check_shape(const std::string& what, std::vector<Expr>& shape, DataType dtype, Site site);
void check_extent(const std::string& what, Expr& extent, Site site);
void check_element_type(const std::string& what, DataType t, Site site);
/// Constant parts of an index expression, computed; left alone where they overflow.
Expr fold_constants(const Expr& e);
/// `e` as a value of type `t`: a literal is converted, anything else must have the type.
Expr convert_to(DataType t, const Expr& e, const std::string& what, Site site);
inline std::string quote(const std::string& name) { return "\"" + name + "\""; }

/// The loop nest and block of a compute whose tensors are `outputs`.
Stmt build_block(const Compute& compute, const std::vector<Buffer>& outputs, Label label);

}  // namespace lathe
