#pragma once
// What the types of nodes have to satisfy, one node at a time. The checked constructors of lathe/expr.h make
// only such nodes; what comes out of files or of passes is checked against these.

#include <optional>
#include <string>

#include "lathe/program.h"

namespace lathe {

/// Is it one of the element types, with at least one lane?
bool is_valid_type(DataType t);

/// What is wrong with the node `e`, its operands taken as right; nothing when it is well typed.
std::optional<std::string> type_problem(const Expr& e);
/// Of a store: rank, subscripts, value, mask.
std::optional<std::string> type_problem(const Store& s);
/// Of a buffer's declaration, whatever variables its shape mentions.
std::optional<std::string> type_problem(const Buffer& b);
std::optional<std::string> type_problem(const Reducer& r);

}  // namespace lathe
