#include "specs.h"

#include <algorithm>

namespace lathe::bench {

namespace {

using Arguments = std::vector<std::pair<const char*, std::int64_t>>;

/// "name(key=value,…)", or nothing when no workload has this name and these keys.
std::optional<std::string> spec(const std::string& name, const Arguments& arguments) {
  const std::vector<WorkloadKind> kinds = workload_kinds();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const WorkloadKind& k) { return k.name == name; });
  if (kind == kinds.end()) return std::nullopt;
  std::string text = name + "(";
  for (const auto& [key, value] : arguments) {
    const bool known = std::any_of(kind->params.begin(), kind->params.end(),
                                   [&, wanted = std::string(key)](const auto& p) { return p.key == wanted; });
    if (!known) return std::nullopt;
    if (text.back() != '(') text += ",";
    text += std::string(key) + "=" + std::to_string(value);
  }
  return text + ")";
}

std::optional<std::string> convolution_spec(const Case& what) {
  const std::string& key = what.key;
  const Convolution c = convolution_of(what);
  const std::int64_t ci = c.channels_in, co = c.channels_out, k = c.kernel, s = c.stride, p = c.pad;
  if (key == "C1D") {
    return spec("conv1d",
                {{"n", c.batch}, {"l", c.in[0]}, {"ci", ci}, {"co", co}, {"k", k}, {"s", s}, {"p", p}});
  }
  if (key == "DEP") {
    return spec("depthwise",
                {{"n", c.batch}, {"h", c.in[0]}, {"w", c.in[1]}, {"c", ci}, {"k", k}, {"s", s}, {"p", p}});
  }
  if (key == "CMP") {
    return spec("conv2d_max_pool", {{"n", c.batch}, {"h", c.in[0]}, {"w", c.in[1]}, {"ci", ci}, {"co", co}});
  }
  Arguments all = {{"n", c.batch}};
  if (key == "C3D") all.emplace_back("depth", c.in[0]);
  all.insert(all.end(), {{"h", c.in[c.in.size() - 2]},
                         {"w", c.in.back()},
                         {"ci", ci},
                         {"co", co},
                         {"k", k},
                         {"s", s},
                         {"p", p}});
  if (key == "GRP") all.emplace_back("g", c.groups);
  if (key == "DIL") all.emplace_back("d", c.dilation);
  const char* name = key == "C3D"   ? "conv3d"
                     : key == "T2D" ? "conv2d_transposed"
                     : key == "R50" ? "conv2d_bias_relu"
                     : key == "CBR" ? "conv2d_bias_bn_relu"
                     : key == "RES" ? "conv2d_bias_residual_relu"
                                    : "conv2d";
  return spec(name, all);
}

std::optional<std::string> spec_of(const Case& what) {
  const std::string& key = what.key;
  const std::vector<std::int64_t>& v = what.params;
  static const std::vector<std::string> convolutions = {"C1D", "C2D", "C3D", "GRP", "DIL", "DEP",
                                                        "T2D", "R50", "CBR", "RES", "CMP"};
  if (std::find(convolutions.begin(), convolutions.end(), key) != convolutions.end())
    return convolution_spec(what);
  if (key == "GMM") {
    Arguments all = {{"m", v[1]}, {"n", v[2]}, {"k", v[3]}, {"cb", what.prepared}};
    if (v[0] != 1) all.emplace_back("b", v[0]);
    return spec(v[0] == 1 ? "matmul" : "batch_matmul", all);
  }
  if (key == "GMV") return spec("gemv", {{"m", v[0]}, {"k", v[1]}});
  if (key == "SFM") return spec("softmax", {{"m", v[0]}, {"n", v[1]}});
  if (key == "LN") return spec("layer_norm", {{"m", v[0]}, {"n", v[1]}});
  if (key == "TRN") return spec("transpose", {{"m", v[0]}, {"n", v[1]}});
  if (key == "EW") return spec("add_relu_sigmoid", {{"n", v[0]}});
  if (key == "NRM") return spec("norm", {{"b", v[0]}, {"m", v[1]}, {"n", v[2]}});
  if (key == "MBG") return spec("dense", {{"m", v[0]}, {"n", v[2]}, {"k", v[1]}, {"act", 2}});
  if (key == "QKV") return spec("qkv", {{"m", v[0]}, {"n", v[2]}, {"k", v[1]}});
  if (key == "TBG" || key == "TBS") {
    return spec("transpose_batch_matmul",
                {{"b", v[0]}, {"seq", v[1]}, {"heads", v[2]}, {"dim", v[3]}, {"softmax", key == "TBS"}});
  }
  if (key == "ATT") return spec("attention", {{"b", v[0]}, {"heads", v[1]}, {"seq", v[2]}, {"dim", v[3]}});
  return std::nullopt;
}

/// The same program, its constants being inputs: they may change from call to call, so nothing is laid out ahead.
Program without_constants(const Program& program) {
  std::vector<Param> params = program->params;
  for (Param& p : params) {
    if (p.role == ParamRole::Constant) p.role = ParamRole::Input;
  }
  return Program(program->name, params, program->temps, program->body);
}

}  // namespace

std::optional<Workload> workload_of(const Case& what) {
  const std::optional<std::string> text = spec_of(what);
  if (!text) return std::nullopt;
  Workload workload = Workload::parse(*text + ":f32");
  if (!what.prepared) workload.program = without_constants(workload.program);
  return workload;
}

}  // namespace lathe::bench
