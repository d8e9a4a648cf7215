// get_block, get_loops: how a trace names what it works on.

#include "schedule/edit.h"

namespace lathe::schedule {

void run_get_block(Edit& edit) {
  const std::int64_t wanted = edit.integer(0);
  std::int64_t position = 0;
  Label found;
  for_each_block(edit.body(), [&](const Block& b, const Stmt&) {
    if (position++ == wanted) found = b.label;
    return true;
  });
  if (!found) {
    edit.refuse(code::S006, "the program has " + std::to_string(position) + " blocks, there is no block " +
                                std::to_string(wanted));
  }
  edit.output(found);
}

void run_get_loops(Edit& edit) {
  for (const Stmt& s : loops_on(edit.block(0))) edit.output(s.as<For>()->var);
}

}  // namespace lathe::schedule
