#include "onednn.h"

#include <omp.h>

namespace lathe::bench {

dnnl::engine& dnnl_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& dnnl_stream() {
  static dnnl::stream stream(dnnl_engine());
  return stream;
}

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

dnnl::memory::desc strided(const Dims& dims, const Dims& strides) {
  return {dims, dnnl::memory::data_type::f32, strides};
}

dnnl::memory::desc dense(const Dims& dims) { return strided(dims, row_major(dims)); }

dnnl::memory::desc any_layout(const Dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

dnnl::memory wrap(const dnnl::memory::desc& desc, const float* data) {
  return dnnl::memory(desc, dnnl_engine(), const_cast<float*>(data));
}

dnnl::memory arranged(const dnnl::memory& from, const dnnl::memory::desc& wanted) {
  if (from.get_desc() == wanted) return from;
  dnnl::memory to(wanted, dnnl_engine());
  dnnl::memory source = from;
  dnnl::reorder(source, to).execute(dnnl_stream(), source, to);
  dnnl_stream().wait();
  return to;
}

Step copy_step(const dnnl::memory& from, const dnnl::memory& to) {
  return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

Callable dnnl_callable(const std::string& name, int threads, std::vector<Step> steps, dnnl::memory output,
                       dnnl::memory::desc natural) {
  auto run = [threads, steps = std::move(steps)] {
    omp_set_num_threads(threads);
    for (const Step& step : steps) step.primitive.execute(dnnl_stream(), step.arguments);
    dnnl_stream().wait();
  };
  auto result = [output, natural] {
    const Dims dims = natural.dims();
    std::vector<float> values(element_count(Shape(dims.begin(), dims.end())));
    dnnl::memory from = output, to(natural, dnnl_engine(), values.data());
    dnnl::reorder(from, to).execute(dnnl_stream(), from, to);
    dnnl_stream().wait();
    return values;
  };
  return make_callable(name, std::move(run), std::move(result));
}

namespace {

const bool joined = register_version([] {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch);
});

}  // namespace

}  // namespace lathe::bench
