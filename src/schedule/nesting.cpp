#include "schedule/nesting.h"

#include <algorithm>
#include <array>

#include "schedule/placement.h"

namespace lathe::schedule {
namespace {

/// The innermost block that the path's last statement lies in; undefined when none does.
Stmt block_round(const Path& path) {
  for (std::size_t i = path.size() - 1; i-- > 0;) {
    if (path[i].as<Block>()) return path[i];
  }
  return {};
}

bool contains_block(const Block& block) { return !blocks_below(block.body).empty(); }

class Refresh : public Mutator {
 protected:
  using Mutator::mutate_node;
  Stmt mutate_node(const Block& n, const Stmt& self) override {
    if (!contains_block(n)) return self;
    auto out = copy(n);
    out->body = mutate(n.body);
    return with_fresh_regions(std::move(out));
  }
};

}  // namespace

void need_outermost(const Edit& edit) {
  static constexpr std::array kMoves = {
      "compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline",
      "cache_read", "cache_write",        "rfactor",        "decompose_reduction",
      "set_scope",  "transform_layout",   "pad_einsum",     "blockize",
      "tensorize"};
  if (std::find(kMoves.begin(), kMoves.end(), edit.step().op) == kMoves.end()) return;
  for (std::size_t i = 0; i < edit.arg_count(); ++i) {
    const bool is_block = edit.arg(i).get<BlockRef>() != nullptr;
    const LoopRef* loop = edit.arg(i).get<LoopRef>();
    if (!is_block && !(loop && loop->defined())) continue;  // no loop: sample_compute_location left the block
    const Path path = is_block ? edit.block(i) : edit.loop(i);
    const Stmt outer = block_round(path);
    if (!outer.defined()) continue;
    const std::string what = is_block ? "block \"" + path.back().as<Block>()->name() + "\""
                                      : "loop \"" + path.back().as<For>()->var.name() + "\"";
    edit.refuse(code::S040, what + " lies inside block \"" + outer.as<Block>()->name() + "\"",
                {{outer.get(), "outer"}, {path.back().get(), "here"}},
                "move and stage blocks before blockize; the loops inside may be reordered and marked");
  }
}

Stmt with_outer_regions(const Stmt& body) {
  bool nested = false;
  for_each_block(body, [&](const Block& b, const Stmt&) {
    nested |= contains_block(b);
    return false;
  });
  return nested ? Refresh().mutate(body) : body;
}

}  // namespace lathe::schedule
