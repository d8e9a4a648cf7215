// Reductions and permutations of the library against plain loops.
#include <cmath>
#include <limits>

#include "behaviour/schedules/check_operator.h"

using namespace lathe;
using namespace lathe::test;

namespace {

void plain_reduce(const std::string& op, const std::vector<bool>& gone, const interp::Array& x, Arrays& out) {
  const std::vector<std::int64_t>& shape = x.shape();
  std::vector<std::int64_t> kept, extents;
  for (std::size_t d = 0; d < shape.size(); ++d) (gone[d] ? extents : kept).push_back(shape[d]);
  each_position(kept, [&](const std::vector<std::int64_t>& at) {
    double total = op == "prod" ? 1 : 0, best = op == "min" || op == "argmin" ? INFINITY : -INFINITY;
    std::int64_t position = 0, where = std::numeric_limits<std::int64_t>::max();
    each_position(extents, [&](const std::vector<std::int64_t>& r) {
      std::vector<std::int64_t> full;
      for (std::size_t d = 0, k = 0, g = 0; d < shape.size(); ++d) full.push_back(gone[d] ? r[g++] : at[k++]);
      const double v = x.get(full);
      total = op == "prod" ? total * v : total + v;
      const bool better = op == "min" || op == "argmin" ? v < best : v > best;
      if (better) best = v, where = position;
      ++position;
    });
    if (op == "mean") total /= double(position);
    out[0].set(at, op == "sum" || op == "prod" || op == "mean" ? total : best);
    if (out.size() > 1) out[1].set(at, double(where));
  });
}

}  // namespace

TEST_CASE("every reduction over every set of axes") {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{37}, {5, 19}, {3, 4, 9}, {1, 7, 1}}) {
    int turn = 0;
    for (unsigned mask = 1; mask < 1U << shape.size(); ++mask) {
      std::vector<std::int64_t> axes;
      std::vector<bool> gone(shape.size(), false);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if ((mask >> d & 1) != 0) axes.push_back(std::int64_t(d)), gone[d] = true;
      }
      for (const std::string op : {"sum", "prod", "min", "max", "mean", "argmin", "argmax"}) {
        const char* const types[] = {"f32", "i32", "f16", "u8"};
        const std::string dtype = op == "mean" ? "f32" : op == "prod" ? "f64" : types[turn++ % 4];
        const std::string spec =
            "reduce(shape=" + joined(shape, 'x') + ",axes=" + joined(axes, '+') + ",op=" + op + "):" + dtype;
        CHECK(check_operator(
                  spec, [&](const Arrays& in, Arrays& out) { plain_reduce(op, gone, in[0], out); },
                  Data::Integers, op == "mean" ? 1e-6 : 0) == "");
      }
    }
  }
}

TEST_CASE("sums of rows") {
  for (const char* spec :
       {"row_sum(m=4,n=33)", "row_sum(m=1,n=7):i8", "row_sum(m=3,n=0)", "row_sum(m=0,n=3):f16"}) {
    CHECK(check_operator(spec, [&](const Arrays& in, Arrays& out) {
            plain_reduce("sum", {false, true}, in[0], out);
          }) == "");
  }
}

TEST_CASE("every permutation of axes") {
  for (std::vector<std::int64_t> shape : {std::vector<std::int64_t>{9, 17}, {3, 5, 8}, {2, 3, 1, 5}}) {
    std::vector<std::int64_t> perm;
    for (std::size_t d = 0; d < shape.size(); ++d) perm.push_back(std::int64_t(d));
    int turn = 0;
    do {
      if (shape.size() == 4 && turn++ % 4 != 0) continue;
      const char* const types[] = {"f32", "i8", "f64", "bool"};
      const std::string spec =
          "permute(shape=" + joined(shape, 'x') + ",perm=" + joined(perm, '+') + "):" + types[turn % 4];
      CHECK(check_operator(spec, [&](const Arrays& in, Arrays& out) {
              each_position(shape, [&](const auto& from) {
                std::vector<std::int64_t> to;
                for (std::int64_t p : perm) to.push_back(from[std::size_t(p)]);
                out[0].set(to, in[0].get(from));
              });
            }) == "");
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST_CASE("transposes") {
  for (const char* spec :
       {"transpose(m=1,n=1)", "transpose(m=9,n=17)", "transpose(m=8,n=32):i8", "transpose(m=33,n=5):f64",
        "transpose(m=0,n=4)", "transpose(m=40,n=33)", "transpose(m=64,n=48)", "transpose(m=17,n=16):i32"}) {
    CHECK(check_operator(spec, [](const Arrays& in, Arrays& out) {
            each_position(in[0].shape(), [&](const auto& at) { out[0].set({at[1], at[0]}, in[0].get(at)); });
          }) == "");
  }
}
