#include "driver/shapes.h"

#include "arith/analyzer.h"

namespace lathe::driver {

VarMap size_values(const Program& program, const std::vector<std::int64_t>& sizes) {
  VarMap values;
  std::size_t next = 0;
  for (const Param& param : program->params) {
    if (param.role != ParamRole::Size) continue;
    if (next < sizes.size()) values.emplace(param.size.node(), make_index(sizes[next]));
    ++next;
  }
  return values;
}

std::vector<std::int64_t> shape_for(const Buffer& buffer, const VarMap& sizes) {
  std::vector<std::int64_t> shape;
  for (const Expr& extent : buffer->shape) {
    const std::optional<std::int64_t> value = as_int(arith::simplify(substitute(extent, sizes)));
    internal_check(value.has_value(), "a parameter's extent depends on size parameters alone");
    shape.push_back(*value);
  }
  return shape;
}

}  // namespace lathe::driver
