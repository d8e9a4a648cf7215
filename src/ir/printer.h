#pragma once
// The readable form of programs, with room for an error's finger.
//
//     program add(a: input f32[8, n], n: size, b: output f32[8, n])
//       for i in 0..8:
//         for j in 0..n vectorized:
//           block b(vi: i, vj: j)
//             b[vi, vj] = a[vi, vj] + 1.f    <-- here
//
// Different variables never share a printed name: the second `i` is `i_1`. `Names` hands these names out, so
// that the sentence of an error and its excerpt call a loop the same.

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "lathe/program.h"

namespace lathe {

/// Unique names for variables, buffers and labels, in order of first mention. Variables and buffers share one
/// name space, labels have their own.
class Names {
 public:
  Names() = default;
  /// Names everything in the program, in order of definition.
  explicit Names(const Program& program);
  /// Names everything in the statement, in order of definition.
  explicit Names(const Stmt& stmt);

  const std::string& of(const VarNode* var) { return unique(var, var->name, values_); }
  const std::string& of(const Var& var) { return of(var.node()); }
  const std::string& of(const Buffer& buffer) { return unique(buffer.get(), buffer->name, values_); }
  const std::string& of(const Label& label) { return unique(label.get(), label->name, labels_); }

 private:
  using Taken =
      std::unordered_map<std::string, int>;  ///< names in use, each with the last suffix tried on it
  const std::string& unique(const void* node, const std::string& wanted, Taken& taken);
  void add(const Stmt& stmt);

  std::unordered_map<const void*, std::string> names_;
  Taken values_, labels_;
};

struct PrintOptions {
  /// The note to print behind a statement's first line ("here" gives `<-- here`), or nothing.
  std::function<std::optional<std::string>(const Stmt&)> mark;
  /// At most so many lines (0: all). Marked lines and what encloses them are kept, gaps become `...`.
  int max_lines = 0;
  /// Also print each block's domains, regions, reducer and partner.
  bool regions = false;
};

std::string to_string(const Program& program, const PrintOptions& options);
std::string to_string(const Stmt& stmt, const PrintOptions& options);
/// With the names of a larger whole, or of what the program was before a change.
std::string to_string(const Program& program, const PrintOptions& options, Names& names);
std::string to_string(const Stmt& stmt, const PrintOptions& options, Names& names);
std::string to_string(const Expr& expr, Names& names);
std::string to_string(const BufferRegion& region, Names& names);

}  // namespace lathe
