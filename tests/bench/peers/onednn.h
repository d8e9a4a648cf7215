#pragma once
// What the oneDNN peers share. A primitive descriptor may take its memory in the problem's own layout or
// choose ("any"); what it chose is filled by reorders, outside the timing where the case is prepared.

#include <dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../harness/bench.h"

namespace lathe::bench {

using Dims = dnnl::memory::dims;
using Arguments = std::unordered_map<int, dnnl::memory>;

dnnl::engine& dnnl_engine();
dnnl::stream& dnnl_stream();

/// Strides of a row-major array.
Dims row_major(const Dims& dims);
/// f32 memory of these extents and strides (in elements).
dnnl::memory::desc strided(const Dims& dims, const Dims& strides);
dnnl::memory::desc dense(const Dims& dims);
/// f32 memory whose layout the primitive chooses.
dnnl::memory::desc any_layout(const Dims& dims);
/// Memory over a problem's data, which oneDNN does not write.
dnnl::memory wrap(const dnnl::memory::desc& desc, const float* data);

/// `from` in the layout `wanted`, copied once now; `from` itself when it has that layout.
dnnl::memory arranged(const dnnl::memory& from, const dnnl::memory::desc& wanted);

/// One execution of a primitive.
struct Step {
  dnnl::primitive primitive;
  Arguments arguments;
};
/// A step that copies `from` to `to`, for what has to be paid in each call.
Step copy_step(const dnnl::memory& from, const dnnl::memory& to);

/// A callable that runs the steps on `threads` threads and whose result is `output`, read in the layout
/// `natural`.
Callable dnnl_callable(const std::string& name, int threads, std::vector<Step> steps, dnnl::memory output,
                       dnnl::memory::desc natural);

/// oneDNN's plain C++ loops, orders of magnitude slower than its kernels: no measure of anything.
template <class PrimitiveDesc>
bool is_reference(const PrimitiveDesc& desc) {
  return std::string(desc.impl_info_str()).rfind("ref", 0) == 0;
}

/// The value of `make`, or nothing where oneDNN has no such primitive.
template <class Make>
auto if_supported(Make make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

}  // namespace lathe::bench
