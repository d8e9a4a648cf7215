#pragma once
// The notions on which legality rests: complete and reduction blocks, who feeds whom, independent iterations.

#include "schedule/tree.h"

namespace lathe::schedule {

/// Does `from` write a buffer that `to` reads (or, as an init block, that `to` updates)?
bool feeds(const Block& from, const Block& to);
bool reads(const Block& block, const Buffer& buffer);
bool writes(const Block& block, const Buffer& buffer);
/// Blocks of the program that write / read the buffer, in program order.
std::vector<Stmt> writers_of(const Stmt& root, const Buffer& buffer);
std::vector<Stmt> readers_of(const Stmt& root, const Buffer& buffer);
/// Blocks whose init or body names the buffer, even where no execution touches it.
std::vector<Stmt> naming(const Stmt& root, const Buffer& buffer);
bool is_param(const Program& program, const Buffer& buffer);

/// Complete: all variables spatial, no init, the only writer of what it writes, reads nothing that it writes.
/// The reason why not; empty when it is.
std::string why_not_complete(const Block& block, const Stmt& root);
/// Reduction: a reducer, the only writer (beside its decomposed init), reduce variables do not index what it writes.
std::string why_not_reduction(const Block& block, const Stmt& root);
/// Why it is neither; empty when it is one.
std::string why_not_schedulable(const Block& block, const Stmt& root);

/// The innermost statement that contains all accesses to the buffer: its instance lives for one iteration of that place.
Stmt lowest_common_ancestor(const Stmt& root, const Buffer& buffer);

/// A block that keeps the iterations of a loop from being independent, and why.
struct Dependence {
  const StmtNode* block;
  std::string reason;
};
/// Nothing when any two iterations of the loop (the path's last statement) can run at once.
std::optional<Dependence> loop_dependence(const Path& loop, const Program& program);
/// Nothing when no two iterations of the loop write one element of the buffer.
std::optional<Dependence> write_dependence(const Path& loop, const Program& program, const Buffer& buffer);

/// Loops of `loops` that a block's reduce variables are bound to, in order.
std::vector<const VarNode*> reduce_loops(const Block& block, const std::vector<Stmt>& loops);
/// Those of them that spatial variables are bound to as well, as after a fuse of both kinds.
std::vector<const VarNode*> mixed_loops(const Block& block, const std::vector<Stmt>& loops);

/// Position of `buffer` among the block's reads; throws the ScheduleError of `primitive`.
int read_position(const Block& block, const Buffer& buffer, const char* primitive, Site site);
/// The way out of having named another read: "choose one of the block's reads: 0: A, 1: B".
std::string reads_to_choose_from(const Block& block);

}  // namespace lathe::schedule
