#include "operators.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace lathe::bench {

namespace {

const std::vector<Operator>& all_operators() {
  static const std::vector<Operator> table = {
      {"GMM",
       "B,N,M,K",
       {{1, 128, 128, 128},
        {1, 512, 32, 512},
        {1, 512, 512, 512},
        {1, 1024, 1024, 1024},
        {1, 127, 131, 137},
        {1, 1000, 1, 1000},
        {1, 1, 4096, 4096}},
       true},
      {"GMV", "m,k", {{4096, 4096}, {11008, 4096}}},
      {"C1D",
       "N,L,CI,CO,k,s,p",
       {{1, 256, 64, 128, 3, 2, 1},
        {1, 128, 128, 256, 1, 2, 0},
        {1, 64, 256, 256, 5, 1, 2},
        {1, 32, 512, 512, 3, 1, 1}},
       true},
      {"C2D",
       "N,H,W,CI,CO,k,s,p",
       {{1, 224, 224, 3, 64, 7, 2, 3},
        {1, 56, 56, 64, 64, 1, 1, 0},
        {1, 14, 14, 256, 256, 3, 1, 1},
        {1, 7, 7, 512, 512, 3, 1, 1},
        {1, 17, 19, 13, 29, 3, 1, 1}},
       true},
      {"C3D",
       "N,D,H,W,CI,CO,k,s,p",
       {{1, 16, 224, 224, 3, 64, 7, 2, 3},
        {1, 16, 56, 56, 64, 64, 1, 1, 0},
        {1, 16, 14, 14, 256, 256, 3, 1, 1},
        {1, 16, 7, 7, 512, 512, 3, 1, 1}},
       true},
      {"GRP",
       "N,H,W,CI,CO,k,s,p",
       {{1, 56, 56, 64, 128, 3, 2, 1},
        {1, 56, 56, 64, 64, 1, 1, 0},
        {1, 14, 14, 256, 256, 3, 1, 1},
        {1, 7, 7, 512, 512, 3, 1, 1}},
       true},
      {"DIL",
       "N,H,W,CI,CO,k,s,p",
       {{1, 224, 224, 3, 64, 7, 2, 3},
        {1, 56, 56, 64, 64, 1, 1, 0},
        {1, 14, 14, 256, 256, 3, 1, 1},
        {1, 7, 7, 512, 512, 3, 1, 1}},
       true},
      {"DEP",
       "N,H,W,C,k,s,p",
       {{1, 112, 112, 32, 3, 1, 1},
        {1, 112, 112, 64, 3, 2, 1},
        {1, 14, 14, 512, 3, 2, 1},
        {1, 7, 7, 1024, 3, 1, 1}},
       true},
      {"T2D",
       "N,H,W,CI,CO,k,s,p",
       {{1, 4, 4, 512, 256, 4, 2, 1},
        {1, 8, 8, 256, 128, 4, 2, 1},
        {1, 16, 16, 128, 64, 4, 2, 1},
        {1, 32, 32, 64, 3, 4, 2, 1}},
       true},
      {"NRM", "B,M,N", {{1, 256, 256}, {1, 512, 512}, {1, 1024, 1024}, {1, 4096, 1024}}},
      {"SFM", "m,n", {{256, 256}, {512, 512}, {1024, 1024}, {2048, 2048}, {1536, 128}, {7, 50257}}},
      {"LN", "rows,cols", {{128, 768}, {4096, 1024}}},
      {"TRN", "m,n", {{1024, 1024}, {4096, 4096}, {1000, 777}}},
      {"EW", "elements", {{16777216}, {1000003}}},
      {"CBR",
       "N,H,W,CI,CO,k,s,p",
       {{1, 224, 224, 3, 64, 7, 2, 3},
        {1, 56, 56, 64, 128, 3, 2, 1},
        {1, 28, 28, 128, 256, 1, 2, 0},
        {1, 7, 7, 512, 512, 3, 1, 1}},
       true},
      {"RES", "N,H,W,CI,CO,k,s,p", {{1, 56, 56, 64, 64, 3, 1, 1}, {1, 14, 14, 256, 256, 3, 1, 1}}, true},
      {"CMP", "N,H,W,CI,CO", {{1, 56, 56, 64, 64}}, true},
      {"TBG", "B,seq,heads,dim", {{1, 128, 12, 64}, {1, 128, 16, 64}, {1, 64, 12, 128}, {1, 128, 12, 128}}},
      {"TBS", "B,seq,heads,dim", {{1, 128, 12, 64}, {1, 128, 16, 64}, {1, 64, 12, 128}, {1, 128, 12, 128}}},
      {"MBG", "M,K,N", {{128, 768, 3072}, {128, 3072, 768}}, true},
      {"QKV", "M,K,N", {{128, 768, 768}}, true},
      {"ATT", "B,heads,seq,dim", {{1, 12, 128, 64}}},
  };
  return table;
}

Operator resnet50() {
  return {"R50",
          "H,CI,CO,k,s",
          {{224, 3, 64, 7, 2},    {56, 64, 64, 1, 1},    {56, 64, 64, 3, 1},   {56, 64, 256, 1, 1},
           {56, 256, 64, 1, 1},   {56, 256, 128, 1, 1},  {56, 128, 128, 3, 2}, {56, 256, 512, 1, 2},
           {28, 128, 128, 3, 1},  {28, 128, 512, 1, 1},  {28, 512, 128, 1, 1}, {28, 512, 256, 1, 1},
           {28, 256, 256, 3, 2},  {28, 512, 1024, 1, 2}, {14, 256, 256, 3, 1}, {14, 256, 1024, 1, 1},
           {14, 1024, 256, 1, 1}, {14, 1024, 512, 1, 1}, {14, 512, 512, 3, 2}, {14, 1024, 2048, 1, 2},
           {7, 512, 512, 3, 1},   {7, 512, 2048, 1, 1},  {7, 2048, 512, 1, 1}},
          true};
}

// BERT-base's products, the batched ones of its attention, and ResNet-50's last layer, as (B,N,M,K).
const std::vector<Shape> NetworkProducts = {{1, 128, 768, 768}, {1, 128, 3072, 768}, {1, 128, 768, 3072},
                                            {12, 128, 128, 64}, {12, 128, 64, 128},  {1, 1, 1000, 2048}};

bool is_convolution(const std::string& key) {
  static const std::vector<std::string> convolutions = {"C1D", "C2D", "C3D", "GRP", "DIL", "DEP",
                                                        "T2D", "R50", "CBR", "RES", "CMP"};
  return std::ranges::count(convolutions, key) > 0;
}

void add(Problem& p, const char* name, Shape shape, bool constant = false) {
  Buffer buffer(element_count(shape));
  fill_signed(buffer, name);
  p.bytes += 4.0 * static_cast<double>(buffer.size());
  p.operands.push_back({name, std::move(shape), std::move(buffer), constant});
}

// Operands and counts of the convolutions, plain and fused.
void convolution_problem(Problem& p) {
  const Convolution c = convolution_of(p.what);
  const std::string& key = p.what.key;
  Shape x = {c.batch}, w(c.rank(), c.kernel), y = {c.batch};
  x.insert(x.end(), c.in.begin(), c.in.end());
  x.push_back(c.channels_in);
  y.insert(y.end(), c.out.begin(), c.out.end());
  y.push_back(c.channels_out);
  if (key != "DEP") w.push_back(c.channels_in / c.groups);
  w.push_back(c.channels_out);
  add(p, "x", x);
  add(p, "w", w, true);
  if (key == "R50" || key == "CBR" || key == "RES") add(p, "bias", {c.channels_out}, true);
  if (key == "CBR") {
    add(p, "scale", {c.channels_out}, true);
    add(p, "shift", {c.channels_out}, true);
  }
  if (key == "RES") add(p, "residual", y);
  if (key == "CMP") y = {c.batch, c.out[0] / 2, c.out[1] / 2, c.channels_out};
  p.output = y;
  p.flops = c.flops();
}

// Operands and counts of everything made of matrix products.
bool product_problem(Problem& p) {
  const std::string& key = p.what.key;
  const Shape& v = p.what.params;
  if (key == "GMM") {
    add(p, "a", {v[0], v[1], v[3]});
    add(p, "b", {v[0], v[3], v[2]}, true);
    p.output = {v[0], v[1], v[2]};
    p.flops = 2.0 * v[0] * v[1] * v[2] * v[3];
  } else if (key == "MBG") {
    add(p, "x", {v[0], v[1]});
    add(p, "w", {v[1], v[2]}, true);
    add(p, "bias", {v[2]}, true);
    p.output = {v[0], v[2]};
    p.flops = 2.0 * v[0] * v[1] * v[2];
  } else if (key == "QKV") {
    add(p, "x", {v[0], v[1]});
    add(p, "w", {3, v[1], v[2]}, true);
    p.output = {3, v[0], v[2]};
    p.flops = 6.0 * v[0] * v[1] * v[2];
  } else if (key == "TBG" || key == "TBS") {
    add(p, "q", v);
    add(p, "k", v);
    p.output = {v[0], v[2], v[1], v[1]};
    p.flops = 2.0 * v[0] * v[2] * v[1] * v[1] * v[3];
  } else if (key == "ATT") {
    for (const char* name : {"q", "k", "v"}) add(p, name, v);
    p.output = v;
    p.flops = 4.0 * v[0] * v[1] * v[2] * v[2] * v[3];
  } else {
    return false;
  }
  return true;
}

// Operands of what is bound by memory, or by the cost of one function.
void streaming_problem(Problem& p) {
  const std::string& key = p.what.key;
  const Shape& v = p.what.params;
  p.unit = Unit::GigabytesPerSecond;
  p.output = v;
  if (key == "GMV") {
    add(p, "a", v);
    add(p, "x", {v[1]});
    p.output = {v[0]};
  } else if (key == "EW") {
    add(p, "a", v);
    add(p, "b", v);
  } else {
    add(p, "x", v);
    if (key == "NRM") p.output = {v[0]};
    if (key == "TRN") p.output = {v[1], v[0]};
    if (key == "LN") {
      add(p, "gamma", {v[1]});
      add(p, "beta", {v[1]});
    }
    if (key == "exp" || key == "tanh" || key == "erf" || key == "sigmoid")
      p.unit = Unit::NanosecondsPerElement;
  }
}

}  // namespace

std::vector<Operator> operators_of(const std::string& group) {
  if (group == "default") return all_operators();
  if (group == "tuned") {
    std::vector<Operator> all = all_operators();
    all[0].cases.insert(all[0].cases.end(), NetworkProducts.begin(), NetworkProducts.end());
    all.push_back(resnet50());
    return all;
  }
  if (group == "hand") {
    return {{"GMM", "B,N,M,K", {{1, 512, 512, 512}, {1, 1024, 1024, 1024}, {1, 2048, 2048, 2048}}, true},
            {"R50", "H,CI,CO,k,s", {{56, 64, 64, 3, 1}, {28, 128, 128, 3, 1}, {14, 256, 256, 3, 1}}, true},
            {"EW", "elements", {{16777216}}}};
  }
  if (group == "math") {
    std::vector<Operator> all;
    for (const char* key : {"exp", "tanh", "erf", "sigmoid"}) all.push_back({key, "elements", {{4096}}});
    return all;
  }
  return {};
}

namespace {

void add_variants(std::vector<Case>& cases, const Operator& op, const Shape& params, bool plain) {
  if (plain || !op.has_constants) cases.push_back({op.key, params, false});
  if (op.has_constants) cases.push_back({op.key, params, true});
}

const Operator& operator_named(const std::string& key) {
  static const std::vector<Operator> known = operators_of("tuned");
  const auto op = std::ranges::find(known, key, &Operator::key);
  if (op != known.end()) return *op;
  std::string keys;
  for (const Operator& o : known) keys += " " + o.key;
  throw std::runtime_error("there is no operator \"" + key + "\"; there are" + keys);
}

std::int64_t parse_number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || value < 0 || value > 1 << 24)
    throw std::runtime_error("\"" + std::string(text) + "\" is no extent from 0 to 2^24");
  return value;
}

/// Throws unless the operator makes sense with the parameters.
void check_case(const Operator& op, const Case& what) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(op.key + "(" + op.parameters + ") cannot be " + what.text() + ": " + why);
  };
  const std::int64_t expected = 1 + std::ranges::count(op.parameters, ',');
  if (std::ssize(what.params) != expected) refuse("it has " + std::to_string(expected) + " parameters");
  const bool padded = op.parameters.ends_with(",p");
  for (std::size_t i = 0; i < what.params.size(); ++i) {
    const bool may_be_zero = padded && i + 1 == what.params.size();
    if (what.params[i] == 0 && !may_be_zero) refuse("an extent is 0");
  }
  // The three parts of one array have to be aligned.
  if (op.key == "QKV" &&
      (what.params[0] * what.params[2] % 16 != 0 || what.params[1] * what.params[2] % 16 != 0))
    refuse("M*N and K*N have to be multiples of 16");
  if (is_convolution(op.key)) {
    const Convolution c = convolution_of(what);
    if (c.channels_in % c.groups != 0 || c.channels_out % c.groups != 0)
      refuse("the channels are not divided by " + std::to_string(c.groups) + " groups");
    if (std::ranges::min(c.out) < 1) refuse("the kernel is larger than the image");
  }
}

}  // namespace

std::vector<Case> parse_cases(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw std::runtime_error("a case is written KEY:1,2,3, not \"" + text + "\"");
  const Operator& op = operator_named(text.substr(0, colon));
  Case what{op.key, {}, false};
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    what.params.push_back(parse_number(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  check_case(op, what);
  std::vector<Case> cases;
  add_variants(cases, op, what.params, true);
  return cases;
}

std::vector<Case> cases_of(const std::string& group, bool quick) {
  std::vector<Case> cases;
  for (const Operator& op : operators_of(group)) {
    std::size_t kept = 0;
    for (const Shape& params : op.cases) {
      if (quick && (kept == 2 || (group != "hand" && op.key == "C3D" && params[2] == 224))) continue;
      ++kept;
      add_variants(cases, op, params, !quick);
    }
  }
  return cases;
}

Problem make_problem(const Case& what, int threads) {
  Problem p;
  p.what = what;
  p.threads = threads;
  if (is_convolution(what.key)) {
    convolution_problem(p);
  } else if (!product_problem(p)) {
    streaming_problem(p);
  }
  p.bytes += 4.0 * static_cast<double>(element_count(p.output));
  return p;
}

double Convolution::flops() const {
  double taps = 1, points = 1;
  for (int d = 0; d < rank(); ++d) {
    taps *= static_cast<double>(kernel);
    points *= static_cast<double>(transposed ? in[d] : out[d]);
  }
  return 2.0 * static_cast<double>(batch) * points * taps * static_cast<double>(channels_in / groups) *
         static_cast<double>(channels_out);
}

Convolution convolution_of(const Case& what) {
  const std::string& key = what.key;
  const Shape& v = what.params;
  Convolution c;
  if (key == "R50") {
    c.in = {v[0], v[0]};
    c.channels_in = v[1], c.channels_out = v[2], c.kernel = v[3], c.stride = v[4], c.pad = v[3] / 2;
  } else if (key == "CMP") {
    c.batch = v[0], c.in = {v[1], v[2]}, c.channels_in = v[3], c.channels_out = v[4], c.kernel = 3, c.pad = 1;
  } else {
    const std::size_t rank = key == "C1D" ? 1 : key == "C3D" ? 3 : 2;
    std::size_t next = 0;
    c.batch = v[next++];
    while (next <= rank) c.in.push_back(v[next++]);
    c.channels_in = v[next++];
    c.channels_out = key == "DEP" ? c.channels_in : v[next++];
    c.kernel = v[next++], c.stride = v[next++], c.pad = v[next];
  }
  if (key == "GRP") c.groups = 4;
  if (key == "DEP") c.groups = c.channels_in;
  if (key == "DIL") c.dilation = 2;
  c.transposed = key == "T2D";
  for (std::int64_t extent : c.in) {
    const std::int64_t reach = c.dilation * (c.kernel - 1) + 1;
    c.out.push_back(c.transposed ? (extent - 1) * c.stride - 2 * c.pad + c.kernel
                                 : (extent + 2 * c.pad - reach) / c.stride + 1);
  }
  return c;
}

}  // namespace lathe::bench
