#include "support/unseen/programs.h"

#include "support/unseen/shorthand.h"

namespace lathe::test {

std::vector<UnseenProgram> unseen_programs() {
  std::vector<UnseenProgram> all;
  add_operands(all);
  add_windows(all);
  add_reductions(all);
  add_chains(all);
  return all;
}

}  // namespace lathe::test
