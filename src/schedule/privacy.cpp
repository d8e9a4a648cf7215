#include "schedule/privacy.h"

#include <algorithm>

#include "schedule/legality.h"

namespace lathe::schedule {
namespace {

bool runs_at_once(const Stmt& s) {
  const For* loop = s.as<For>();
  return loop && loop->for_kind != ForKind::Serial && loop->for_kind != ForKind::Unrolled;
}

std::vector<Stmt> loops_run_at_once(const Stmt& root) {
  std::vector<Stmt> out;
  walk(root, [&](const Stmt& s) {
    if (runs_at_once(s)) out.push_back(s);
    return true;
  });
  return out;
}

bool accessed_below(const Stmt& root, const Buffer& buffer) {
  bool found = false;
  for_each_block(root, [&](const Block& b, const Stmt&) {
    found |= reads(b, buffer) || writes(b, buffer);
    return !found;
  });
  return found;
}

bool is_private(const Stmt& root, const Stmt& loop, const Buffer& buffer) {
  return contains(loop, lowest_common_ancestor(root, buffer).get());
}

}  // namespace

void need_private_or_separate(const Edit& edit) {
  const Stmt &before = edit.body(), &after = edit.changed_body();
  if (before.same_as(after)) return;
  const std::vector<Stmt> earlier = loops_run_at_once(before);
  const auto is_unchanged = [&](const Stmt& loop) {
    return std::ranges::any_of(earlier, [&](const Stmt& s) { return s.same_as(loop); });
  };
  for (const Stmt& loop : loops_run_at_once(after)) {
    if (is_unchanged(loop)) continue;
    const Path old = path_to_loop(before, loop.as<For>()->var.node());
    if (old.empty()) continue;
    for (const Buffer& buffer : edit.temps()) {
      if (!accessed_below(loop, buffer) || !accessed_below(old.back(), buffer)) continue;
      if (!is_private(before, old.back(), buffer) || is_private(after, loop, buffer)) continue;
      const Program changed = edit.program().with_body(after);
      if (auto dependence = write_dependence(path_to(after, loop.get()), changed, buffer)) {
        edit.refuse(code::S020,
                    "each iteration of loop \"" + loop.as<For>()->var.name() + "\" has a \"" + buffer->name +
                        "\" of its own, which it would have to share; " + dependence->reason,
                    {{old.back().get(), "here"}},
                    std::string("do this before the loop is made ") + spelling(loop.as<For>()->for_kind));
      }
    }
  }
}

}  // namespace lathe::schedule
