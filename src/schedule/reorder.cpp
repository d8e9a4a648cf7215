// reorder: loops on one path change places.

#include <algorithm>

#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/runs.h"

namespace lathe::schedule {
namespace {

/// Refuses when a block's reduce loops would run in another order than its reducer allows.
void check_reductions(const Edit& edit, const Stmt& innermost, const std::vector<Stmt>& before,
                      const std::vector<Stmt>& after) {
  for (const Stmt& s : blocks_below(innermost)) {
    const Block& block = *s.as<Block>();
    const std::vector<const VarNode*> reducing = reduce_loops(block, after);
    if (!reducing.empty()) {
      const auto outermost = std::ranges::find_if(
          after, [&](const Stmt& l) { return l.as<For>()->var.node() == reducing.front(); });
      if (const For* again = repeating_loop(block, std::vector<Stmt>(outermost, after.end()))) {
        edit.refuse(code::S015,
                    "loop \"" + again->var.name() + "\" repeats block \"" + block.name() +
                        "\"; inside its reduction it would add to the same sums again",
                    {{s.get(), "here"}});
      }
    }
    // Where fuse has mixed both kinds, only the order in which they were fused meets a sum's first element first.
    if (const auto mixed = mixed_loops(block, after); mixed != mixed_loops(block, before)) {
      edit.refuse(code::S015,
                  "loops \"" + mixed[0]->name + "\" and \"" + mixed[1]->name +
                      "\" both carry spatial and reduce variables of block \"" + block.name() +
                      "\"; in another order a sum would go on before it is initialised",
                  {{s.get(), "here"}}, "do not fuse a reduce loop with others");
    }
    const bool free = block.is_reduction() && block.reducer->associative && block.reducer->commutative;
    if (free || reduce_loops(block, before) == reduce_loops(block, after)) continue;
    if (!block.is_reduction()) continue;
    edit.refuse(code::S016,
                "reducer \"" + block.reducer->name + "\" of block \"" + block.name() +
                    "\" is not declared associative and commutative, so its reduce loops keep their order",
                {{s.get(), "here"}}, "declare the properties where the reducer is made, if they hold");
  }
}

}  // namespace

void run_reorder(Edit& edit) {
  std::vector<Path> wanted = edit.loops(0);
  if (wanted.empty()) edit.refuse(code::S015, "no loops were given");
  const Path* deepest = &wanted[0];
  for (const Path& p : wanted) {
    if (p.size() > deepest->size()) deepest = &p;
  }
  // All on the path to the deepest one, each once.
  std::vector<std::size_t> places;
  for (const Path& p : wanted) {
    const std::size_t depth = p.size() - 1;
    if (depth >= deepest->size() || !(*deepest)[depth].same_as(p.back())) {
      edit.refuse(code::S015, "the loops do not lie inside one another",
                  {{deepest->back().get(), "here"}, {p.back().get(), "and here"}},
                  "reorder loops of one nest");
    }
    if (std::find(places.begin(), places.end(), depth) != places.end()) {
      edit.refuse(code::S015, "loop \"" + p.back().as<For>()->var.name() + "\" is named twice");
    }
    places.push_back(depth);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t d = places.front(); d < places.back(); ++d) {
    const For* loop = (*deepest)[d].as<For>();
    if (!loop || !loop->body.same_as((*deepest)[d + 1])) {
      std::vector<Mark> marks;
      if (const Seq* seq = (*deepest)[d].as<Seq>())
        for (const Stmt& child : seq->stmts)
          marks.push_back({child.get(), child.same_as((*deepest)[d + 1]) ? "here" : "in the way"});
      edit.refuse(code::S015, "there are other statements between the loops", marks,
                  "move them away first, with compute_at for instance");
    }
  }
  // The new column of loops, outermost first.
  std::vector<Stmt> before(deepest->begin() + places.front(), deepest->begin() + places.back() + 1),
      after = before;
  for (std::size_t i = 0; i < places.size(); ++i) after[places[i] - places.front()] = wanted[i].back();
  check_reductions(edit, deepest->back(), before, after);

  Stmt nest = deepest->back().as<For>()->body;
  for (std::size_t i = after.size(); i-- > 0;) nest = with_body(after[i], nest);
  const Path top(deepest->begin(), deepest->begin() + places.front() + 1);
  edit.set_body(replace(top, nest));
}

}  // namespace lathe::schedule
