#include "lathe/ref.h"

#include <vector>

namespace lathe::detail {

void destroy(const Node* node) noexcept {
  // Members of a node are released by its destructor, recursively; below this depth they wait for the outermost call.
  constexpr int kDeepest = 200;
  thread_local int depth = 0;
  thread_local std::vector<const Node*>* waiting = nullptr;
  if (depth == kDeepest) return waiting->push_back(node);
  if (depth > 0) {
    ++depth;
    delete node;
    --depth;
    return;
  }
  std::vector<const Node*> later;
  waiting = &later;
  depth = 1;
  delete node;
  while (!later.empty()) {
    const Node* next = later.back();
    later.pop_back();
    delete next;
  }
  depth = 0;
  waiting = nullptr;
}

}  // namespace lathe::detail
