// annotate, partition: hints on loops and blocks.

#include "schedule/edit.h"

namespace lathe::schedule {
namespace {

Stmt annotated(const Stmt& s, const std::string& key, std::int64_t value) {
  if (const For* loop = s.as<For>()) {
    auto fresh = copy(*loop);
    fresh->annotations[key] = value;
    return Stmt(fresh.release());
  }
  auto fresh = copy(*s.as<Block>());
  fresh->annotations[key] = value;
  return Stmt(fresh.release());
}

}  // namespace

void run_annotate(Edit& edit) {
  const Path path = edit.arg(0).get<BlockRef>() ? edit.block(0) : edit.loop(0);
  const std::string& key = edit.text(1);
  if (key.empty()) edit.refuse(code::S003, "the key is empty");
  edit.set_body(replace(path, annotated(path.back(), key, edit.integer(2))));
}

void run_partition(Edit& edit) {
  const Path path = edit.loop(0);
  const For& loop = *path.back().as<For>();
  if (loop.for_kind != ForKind::Serial && loop.for_kind != ForKind::Parallel) {
    edit.refuse(code::S011,
                "loop \"" + loop.var.name() + "\" is " + spelling(loop.for_kind) + " and cannot be cut",
                {{path.back().get(), "here"}}, "partition a serial loop round it");
  }
  edit.set_body(replace(path, annotated(path.back(), "partition", 1)));
}

}  // namespace lathe::schedule
