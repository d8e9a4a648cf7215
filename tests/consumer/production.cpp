// A production program: links lathe::runtime alone, and runs a parallel loop as generated code does.
#include <lathe/error.h>
#include <lathe/runtime/c_api.h>

#include <atomic>

int main() {
  std::atomic<std::int64_t> sum{0};
  const auto add = [](void* context, std::int64_t begin, std::int64_t end) -> std::int32_t {
    for (std::int64_t i = begin; i < end; ++i) *static_cast<std::atomic<std::int64_t>*>(context) += i;
    return LATHE_OK;
  };
  if (lathe_parallel_launch(add, &sum, 100) != LATHE_OK || sum != 4950) return 1;
  return lathe::find_code("LTH-D001") != nullptr ? 0 : 2;
}
