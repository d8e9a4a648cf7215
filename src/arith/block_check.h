#pragma once
// Is a block what nearly all legality rests on: a complete block, or a reduction?
//
//   complete    all variables spatial, no other block writes what it writes, it reads nothing that it writes
//   reduction   has an init (or the init was decomposed off into its partner), reduce variables do not index
//               its output, no other block (its partner aside) writes what it writes
//
// The answers give the broken condition as a sentence, made to be a part of an error text.

#include <string>

#include "arith/iter_map.h"
#include "lathe/program.h"

namespace lathe::arith {

/// Which blocks of a statement write and read each buffer, in order of appearance.
class BlockIndex {
 public:
  explicit BlockIndex(const Stmt& root);
  const std::vector<const Block*>& blocks() const { return blocks_; }
  const std::vector<const Block*>& writers(const Buffer& buffer) const;
  const std::vector<const Block*>& readers(const Buffer& buffer) const;

 private:
  using Table = std::unordered_map<const BufferNode*, std::vector<const Block*>>;
  std::vector<const Block*> blocks_;
  Table writers_, readers_;
  std::vector<const Block*> none_;
};

/// The condition of a complete block that this one breaks; nothing when it is complete.
std::optional<std::string> why_not_complete(const Block& block, const BlockIndex& index);
/// The condition of a reduction that this one breaks; nothing when it is one.
std::optional<std::string> why_not_reduction(const Block& block, const BlockIndex& index);
inline bool is_complete(const Block& block, const BlockIndex& index) {
  return !why_not_complete(block, index);
}
inline bool is_reduction(const Block& block, const BlockIndex& index) {
  return !why_not_reduction(block, index);
}
/// The decomposed half of a reduction that sets its output to the identity.
bool is_init_half(const Block& block);

/// What the bindings of a block make of the loops round it.
struct BindingCheck {
  bool quasi_affine = false;  ///< sums of split loop variables
  bool injective = false;     ///< no iteration is run twice
  bool covers = false;        ///< every iteration of the domain is run
  bool in_domain = false;     ///< no binding leaves 0 .. extent while the predicate holds
};
BindingCheck check_bindings(const Block& block, const std::vector<Domain>& loops, Analyzer& analyzer);

/// What a block declares to read and write contains what its init and body access? The problems as sentences,
/// empty when none. (Names, arities and types are the business of `well_formed`.)
std::vector<std::string> check_blocks(const Program& program);

}  // namespace lathe::arith
