// The shapes that we measure (ResNet-50, BERT-base, the operator set of Ansor, groups, awkward sizes) can be asked for, and
// their default schedules pass verification and lowering.
#include "lathe/workload.h"
#include "support/check_schedule.h"

using namespace lathe;

namespace {

/// Fills the keys of `form` ("gemv(m=#,k=#)") with the numbers of each case in turn.
std::vector<std::string> filled(const std::string& form,
                                const std::vector<std::vector<std::int64_t>>& cases) {
  std::vector<std::string> out;
  for (const std::vector<std::int64_t>& values : cases) {
    std::string spec;
    std::size_t next = 0;
    for (char c : form) {
      if (c == '#')
        spec += std::to_string(values.at(next++));
      else
        spec += c;
    }
    REQUIRE(next == values.size());
    out.push_back(spec);
  }
  return out;
}

void check_lowers(const std::vector<std::string>& specs) {
  for (const std::string& spec : specs) {
    INFO(spec);
    const Workload w = Workload::parse(spec);
    const Schedule s = w.default_schedule(test::avx2());
    CHECK_NOTHROW(verify(s, test::avx2()));
    CHECK(well_formed(lower::lower(s.program(), test::avx2())).empty());
  }
}

/// n, h, w, ci, co, k, s, p; the second list with awkward sizes.
const std::vector<std::vector<std::int64_t>> kImages = {{1, 224, 224, 3, 64, 7, 2, 3},
                                                        {1, 56, 56, 64, 64, 1, 1, 0},
                                                        {1, 14, 14, 256, 256, 3, 1, 1},
                                                        {1, 7, 7, 512, 512, 3, 1, 1}};

}  // namespace

TEST_CASE("shapes of convolutions") {
  check_lowers(filled("conv1d(n=#,l=#,ci=#,co=#,k=#,s=#,p=#)", {{1, 256, 64, 128, 3, 2, 1},
                                                                {1, 128, 128, 256, 1, 2, 0},
                                                                {1, 64, 256, 256, 5, 1, 2},
                                                                {1, 32, 512, 512, 3, 1, 1}}));
  check_lowers(filled("conv2d(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)", kImages));
  check_lowers(filled("conv2d(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#,d=2)", kImages));
  check_lowers(filled("conv2d(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)", {{1, 17, 19, 13, 29, 3, 1, 1}}));
  check_lowers(filled("conv2d(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#,g=4)", {{1, 56, 56, 64, 128, 3, 2, 1},
                                                                        {1, 56, 56, 64, 64, 1, 1, 0},
                                                                        {1, 14, 14, 256, 256, 3, 1, 1},
                                                                        {1, 7, 7, 512, 512, 3, 1, 1}}));
  check_lowers(
      filled("conv3d(n=#,depth=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)", {{1, 16, 224, 224, 3, 64, 7, 2, 3},
                                                                   {1, 16, 56, 56, 64, 64, 1, 1, 0},
                                                                   {1, 16, 14, 14, 256, 256, 3, 1, 1},
                                                                   {1, 16, 7, 7, 512, 512, 3, 1, 1}}));
  check_lowers(filled("depthwise(n=#,h=#,w=#,c=#,k=#,s=#,p=#)", {{1, 112, 112, 32, 3, 1, 1},
                                                                 {1, 112, 112, 64, 3, 2, 1},
                                                                 {1, 14, 14, 512, 3, 2, 1},
                                                                 {1, 7, 7, 1024, 3, 1, 1}}));
  check_lowers(filled("conv2d_transposed(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)", {{1, 4, 4, 512, 256, 4, 2, 1},
                                                                               {1, 8, 8, 256, 128, 4, 2, 1},
                                                                               {1, 16, 16, 128, 64, 4, 2, 1},
                                                                               {1, 32, 32, 64, 3, 4, 2, 1}}));
}

TEST_CASE("shapes of matrix products") {
  check_lowers(filled("batch_matmul(b=#,m=#,n=#,k=#)", {{1, 128, 128, 128},
                                                        {1, 512, 32, 512},
                                                        {1, 512, 512, 512},
                                                        {1, 1024, 1024, 1024},
                                                        {1, 127, 131, 137},
                                                        {1, 1000, 1, 1000},
                                                        {1, 1, 4096, 4096},
                                                        {12, 128, 128, 64},
                                                        {12, 128, 64, 128}}));
  check_lowers(
      filled("matmul(m=#,n=#,k=#)",
             {{128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {1, 1000, 2048}, {2048, 2048, 2048}}));
  check_lowers(filled("gemv(m=#,k=#)", {{4096, 4096}, {11008, 4096}}));
}

TEST_CASE("shapes of rows, elements and transposes") {
  check_lowers(filled("norm(b=#,m=#,n=#)", {{1, 256, 256}, {1, 512, 512}, {1, 1024, 1024}, {1, 4096, 1024}}));
  check_lowers(filled("softmax(m=#,n=#)",
                      {{256, 256}, {512, 512}, {1024, 1024}, {2048, 2048}, {7, 50257}, {1536, 128}}));
  check_lowers(filled("layer_norm(m=#,n=#)", {{128, 768}, {4096, 1024}}));
  check_lowers(filled("transpose(m=#,n=#)", {{1024, 1024}, {4096, 4096}, {1000, 777}}));
  check_lowers(filled("add_relu_sigmoid(n=#)", {{16777216}, {1000003}}));
}

TEST_CASE("shapes of fused groups") {
  check_lowers(
      filled("conv2d_bias_bn_relu(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)", {{1, 224, 224, 3, 64, 7, 2, 3},
                                                                        {1, 56, 56, 64, 128, 3, 2, 1},
                                                                        {1, 28, 28, 128, 256, 1, 2, 0},
                                                                        {1, 7, 7, 512, 512, 3, 1, 1}}));
  check_lowers(filled("conv2d_bias_residual_relu(n=#,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)",
                      {{1, 56, 56, 64, 64, 3, 1, 1}, {1, 14, 14, 256, 256, 3, 1, 1}}));
  for (const char* softmax : {",softmax=0)", ",softmax=1)"}) {
    check_lowers(filled(std::string("transpose_batch_matmul(b=#,seq=#,heads=#,dim=#") + softmax,
                        {{1, 128, 12, 64}, {1, 128, 16, 64}, {1, 64, 12, 128}, {1, 128, 12, 128}}));
  }
  check_lowers(filled("dense(m=#,k=#,n=#,act=gelu)", {{128, 768, 3072}, {128, 3072, 768}}));
  check_lowers(filled("conv2d_max_pool(n=#,h=#,w=#,ci=#,co=#)", {{1, 56, 56, 64, 64}}));
  check_lowers(filled("attention(b=#,heads=#,seq=#,dim=#)", {{1, 12, 128, 64}}));
  check_lowers(filled("qkv(m=#,k=#,n=#)", {{128, 768, 768}}));
}

TEST_CASE("shapes of ResNet-50's convolutions") {
  // h, ci, co, k, s; padded by k/2.
  for (const auto& [h, ci, co, k, s] : std::vector<std::array<std::int64_t, 5>>{
           {224, 3, 64, 7, 2},    {56, 64, 64, 1, 1},    {56, 64, 64, 3, 1},   {56, 64, 256, 1, 1},
           {56, 256, 64, 1, 1},   {56, 256, 128, 1, 1},  {56, 128, 128, 3, 2}, {56, 256, 512, 1, 2},
           {28, 128, 128, 3, 1},  {28, 128, 512, 1, 1},  {28, 512, 128, 1, 1}, {28, 512, 256, 1, 1},
           {28, 256, 256, 3, 2},  {28, 512, 1024, 1, 2}, {14, 256, 256, 3, 1}, {14, 256, 1024, 1, 1},
           {14, 1024, 256, 1, 1}, {14, 1024, 512, 1, 1}, {14, 512, 512, 3, 2}, {14, 1024, 2048, 1, 2},
           {7, 512, 512, 3, 1},   {7, 512, 2048, 1, 1},  {7, 2048, 512, 1, 1}}) {
    check_lowers(
        filled("conv2d_bias_relu(n=1,h=#,w=#,ci=#,co=#,k=#,s=#,p=#)", {{h, h, ci, co, k, s, k / 2}}));
  }
}
