// verify: the conditions on the whole program that no single primitive can check.

#include <algorithm>
#include <map>

#include "lathe/target.h"
#include "lathe/tensor_intrinsic.h"
#include "schedule/blockize.h"
#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/prepare.h"

namespace lathe {
namespace {

using namespace schedule;

[[noreturn]] void refuse(Code code, const Program& program, std::string condition, std::vector<Mark> marks,
                         std::string way_out) {
  throw ScheduleError(code, Message([=] {
                        std::string text = "verify(\"" + program->name + "\"): " + condition;
                        if (!marks.empty()) text += "\n" + outline(program->body, marks);
                        if (!way_out.empty()) text += "\n  " + way_out;
                        return text;
                      }));
}

/// Whoever replays a trace must have declared the intrinsics that it names; and no later step may have changed what they
/// compute.
void verify_intrinsics(const Program& program) {
  for_each_block(program->body, [&](const Block& b, const Stmt& self) {
    const auto note = b.annotations.find(kIntrinsicNote);
    const std::string* name = note == b.annotations.end() ? nullptr : std::get_if<std::string>(&note->second);
    if (!name) return true;
    const TensorIntrinsic* intrinsic = find_tensor_intrinsic(*name);
    if (!intrinsic) {
      refuse(code::S069, program, "no intrinsic is called \"" + *name + "\"", {{self.get(), "here"}},
             "declare it with register_tensor_intrinsic");
    }
    if (std::string why = why_not_intrinsic(b, *intrinsic, program); !why.empty()) {
      refuse(code::S069, program,
             "block \"" + b.name() + "\" is no longer what intrinsic \"" + *name + "\" computes: " + why,
             {{self.get(), "here"}}, "tensorize last");
    }
    return true;
  });
}

void verify_cpu(const Program& program, const Target& target) {
  walk(program->body, [&](const Stmt& s) {
    const For* loop = s.as<For>();
    if (loop && loop->for_kind == ForKind::ThreadBound) {
      refuse(code::S070, program,
             "loop \"" + loop->var.name() + "\" is bound to " + spelling(loop->axis) + ", which \"" +
                 target.name + "\" does not have",
             {{s.get(), "here"}}, "use parallel and vectorize for a CPU");
    }
    return true;
  });
  for (const Buffer& b : program->temps) {
    if (b->scope == Scope::Shared || b->scope == Scope::Fragment) {
      refuse(code::S071, program,
             "\"" + b->name + "\" lives in " + spelling(b->scope) + " memory, which \"" + target.name +
                 "\" does not have",
             {}, "use Scope::Local or Scope::Global for a CPU");
    }
  }
}

/// A buffer that each block (or thread) has for itself is of no use to the others.
void verify_scopes(const Program& program) {
  for (const Buffer& b : program->temps) {
    if (b->scope != Scope::Shared && b->scope != Scope::Local) continue;
    const Path common = path_to(program->body, lowest_common_ancestor(program->body, b).get());
    for_each_block(program->body, [&](const Block& block, const Stmt& self) {
      if (!reads(block, b) && !writes(block, b)) return true;
      for (const Stmt& s : path_to(program->body, self.get())) {
        const For* loop = s.as<For>();
        const bool apart = loop && loop->for_kind == ForKind::ThreadBound &&
                           (b->scope == Scope::Local || loop->axis < ThreadAxis::ThreadX);
        if (!apart || std::ranges::any_of(common, [&](const Stmt& c) { return c.same_as(s); })) continue;
        refuse(code::S074, program,
               "\"" + b->name + "\" lives in " + spelling(b->scope) + " memory, of which each " +
                   (b->scope == Scope::Local ? "thread" : "block of threads") + " has its own, but block \"" +
                   block.name() + "\" uses it in loop \"" + loop->var.name() + "\" (" + spelling(loop->axis) +
                   ") and others do outside",
               {{s.get(), "here"}, {self.get(), "uses it"}},
               "compute it inside the loop, or use a wider scope");
      }
      return true;
    });
  }
}

/// Threads of the same axis in one kernel must agree; blocks have a limited size.
void verify_gpu(const Program& program, const Target& target) {
  std::map<ThreadAxis, std::pair<std::int64_t, const StmtNode*>> extents;
  walk(program->body, [&](const Stmt& s) {
    const For* loop = s.as<For>();
    if (!loop || loop->for_kind != ForKind::ThreadBound || loop->axis < ThreadAxis::ThreadX ||
        loop->axis > ThreadAxis::ThreadZ)
      return true;
    const std::int64_t extent = as_int(loop->extent).value_or(0);
    auto [it, fresh] = extents.emplace(loop->axis, std::make_pair(extent, s.get()));
    if (!fresh && it->second.first != extent) {
      refuse(code::S072, program,
             std::string(spelling(loop->axis)) + " has the extents " + std::to_string(it->second.first) +
                 " and " + std::to_string(extent),
             {{it->second.second, std::to_string(it->second.first)}, {s.get(), std::to_string(extent)}},
             "give all loops bound to one axis the same extent");
    }
    return true;
  });
  std::int64_t threads = 1;
  for (const auto& [axis, extent] : extents) threads *= extent.first;
  if (threads > target.gpu().max_threads_per_block) {
    refuse(code::S073, program,
           "a block has " + std::to_string(threads) + " threads, " + target.name + " allows " +
               std::to_string(target.gpu().max_threads_per_block),
           {}, "split the thread loops further");
  }
}

/// Steps after `prepare` may have moved the block, or given its constant another reader.
void verify_prepared(const Program& program) {
  for_each_block(program->body, [&](const Block& block, const Stmt& self) {
    Preparation ignored;
    if (!is_marked_prepared(block)) return true;
    if (const std::string why = why_not_prepared(program, block, ignored); !why.empty())
      refuse(code::S075, program,
             "block \"" + block.name() + "\" was prepared and can no longer run ahead of the calls: " + why,
             {{self.get(), "here"}}, "leave a prepared block at the root, and its constant to it alone");
    return true;
  });
}

}  // namespace

void verify(const Program& program, const Target& target) {
  if (!program.defined())
    throw ScheduleError(code::S077, Message([] { return std::string("verify: an empty Program"); }));
  verify_intrinsics(program);
  verify_prepared(program);
  if (target.is_cpu())
    verify_cpu(program, target);
  else
    verify_gpu(program, target);
  verify_scopes(program);
}

void verify(const Schedule& schedule, const Target& target) { verify(schedule.program(), target); }

}  // namespace lathe
