// prefetch: what a later iteration of a loop will read is brought near in this one.
//
// The request is a note on the loop, "prefetch NAME" = distance; lowering turns it into prefetch instructions at the head of
// the loop's body, one a cache line of what the body reads of the buffer.

#include "schedule/edit.h"
#include "schedule/legality.h"
#include "schedule/placement.h"

namespace lathe::schedule {
namespace {

/// Lines that one iteration may ask for; a core has some ten to fifty requests in flight.
constexpr std::int64_t kMaxLines = 64;
constexpr std::int64_t kLineBytes = 64;

/// Cache lines of a box; nothing when its size is not a constant.
std::optional<std::int64_t> lines_of(const BufferRegion& region) {
  std::int64_t lines = 1;
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    const std::optional<std::int64_t> extent = as_int(region.ranges[d].extent);
    if (!extent) return std::nullopt;
    const bool last = d + 1 == region.ranges.size();
    const std::int64_t along =
        last ? (*extent * region.buffer->dtype.bytes() + kLineBytes - 1) / kLineBytes : *extent;
    if (along > 0 && lines > (std::int64_t{1} << 40) / along) return std::int64_t{1} << 40;
    lines *= along;
  }
  return lines;
}

}  // namespace

void run_prefetch(Edit& edit) {
  const Path from = edit.block(0), at = edit.loop(2);
  const Block& block = *from.back().as<Block>();
  const For& loop = *at.back().as<For>();
  const std::int64_t which = edit.integer(1), distance = edit.integer(3);
  const std::string here = "loop \"" + loop.var.name() + "\"";
  if (which < 0 || which >= static_cast<std::int64_t>(block.reads.size())) {
    edit.refuse(code::S008,
                "block \"" + block.name() + "\" reads " + std::to_string(block.reads.size()) +
                    " buffers, there is no read " + std::to_string(which),
                {{from.back().get(), "here"}}, reads_to_choose_from(block));
  }
  const Buffer buffer = block.reads[static_cast<std::size_t>(which)].buffer;
  if (!contains(at.back(), from.back().get())) {
    edit.refuse(code::S066, here + " does not enclose block \"" + block.name() + "\"",
                {{at.back().get(), "the loop"}, {from.back().get(), "the block"}},
                "choose a loop round the block");
  }
  if (distance < 1) {
    edit.refuse(code::S066, "the distance is " + std::to_string(distance) + " iterations",
                {{at.back().get(), "here"}}, "give the number of iterations ahead, 1 or more");
  }
  if (!is_param(edit.program(), buffer) &&
      contains(at.back(), lowest_common_ancestor(edit.body(), buffer).get())) {
    edit.refuse(
        code::S066,
        "each iteration of " + here + " has a \"" + buffer->name + "\" of its own, which it makes itself",
        {{at.back().get(), "here"}}, "prefetch what that is made from");
  }
  arith::Analyzer analyzer;
  bind_sizes(analyzer, edit.program());
  bind_path(analyzer, at);
  const std::optional<arith::Region> read = region_below(loop.body, buffer, /*writes=*/false, analyzer);
  internal_check(read.has_value(), "a block below the loop reads the buffer");
  const std::optional<std::int64_t> lines = lines_of(read->region);
  if (!lines || *lines > kMaxLines) {
    edit.refuse(code::S066,
                "an iteration of " + here + " reads " +
                    (lines ? std::to_string(*lines) + " cache lines of \"" + buffer->name + "\", at most " +
                                 std::to_string(kMaxLines) + " can be on their way"
                           : "a part of \"" + buffer->name + "\" whose size is known at run time only"),
                {{at.back().get(), "here"}}, "choose a loop further in");
  }
  auto noted = copy(loop);
  noted->annotations["prefetch " + buffer->name] = distance;
  edit.set_body(replace(at, Stmt(noted.release())));
}

}  // namespace lathe::schedule
