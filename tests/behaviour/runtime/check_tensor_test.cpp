#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lathe/runtime/c_api.h"

namespace {

/// A tensor that passes, and the spec it passes; tests change one thing.
struct Case {
  std::vector<std::int64_t> shape{2, 3, 4}, expected{2, 3, 4}, strides;
  alignas(64) float data[64] = {};
  DLTensor tensor{data, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, nullptr, nullptr, 0};
  lathe_tensor_spec spec{"x", {kDLFloat, 32, 1}, 3, nullptr, kDLCPU, 64, 0};

  std::int32_t check() {
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    spec.shape = expected.data();
    lathe_set_error(0, "");
    return lathe_check_tensor(&tensor, &spec, "scale", 1);
  }
  std::string text() {
    check();
    return lathe_last_error();
  }
};

}  // namespace

TEST_CASE("a compact row-major tensor passes, with strides and without") {
  Case with_null;
  CHECK(with_null.check() == LATHE_OK);
  Case with_strides;
  with_strides.strides = {12, 4, 1};
  CHECK(with_strides.check() == LATHE_OK);
}

TEST_CASE("strides of extent 1 do not matter, nor any of a tensor without elements") {
  Case ones;
  ones.shape = ones.expected = {2, 1, 4};
  ones.strides = {4, -999, 1};
  CHECK(ones.check() == LATHE_OK);
  Case empty;
  empty.shape = empty.expected = {2, 0, 4};
  empty.strides = {7, 7, 7};
  empty.tensor.data = nullptr;
  CHECK(empty.check() == LATHE_OK);
}

TEST_CASE("a scalar tensor has no shape") {
  Case scalar;
  scalar.tensor.ndim = scalar.spec.ndim = 0;
  CHECK(scalar.check() == LATHE_OK);
}

TEST_CASE("a negative expected extent takes any") {
  Case any;
  any.expected = {-1, 3, -1};
  for (std::int64_t n : {0, 1, 2, 5}) {
    any.shape = {n, 3, 2};
    CHECK(any.check() == LATHE_OK);
  }
  any.shape = {-4, 3, 2};
  CHECK(any.check() == LATHE_ERROR_SHAPE);
}

TEST_CASE("every difference has its code, and a text that names kernel and parameter, expected and got") {
  Case c;
  SECTION("dimensions") {
    c.tensor.ndim = 2;
    CHECK(c.check() == LATHE_ERROR_NDIM);
    CHECK(c.text() == "scale: parameter 1 \"x\": has 2 dimensions, expected 3 [2, 3, 4]");
  }
  SECTION("shape") {
    c.shape = {2, 3, 5};
    c.expected = {-1, 3, 4};
    CHECK(c.check() == LATHE_ERROR_SHAPE);
    CHECK(c.text() == "scale: parameter 1 \"x\": shape is [2, 3, 5], expected [any, 3, 4]");
  }
  SECTION("element type") {
    c.tensor.dtype = {kDLBfloat, 16, 1};
    CHECK(c.check() == LATHE_ERROR_DTYPE);
    CHECK(c.text() == "scale: parameter 1 \"x\": element type is bf16, expected f32");
  }
  SECTION("lanes") {
    c.tensor.dtype.lanes = 4;
    CHECK(c.check() == LATHE_ERROR_DTYPE);
    CHECK(c.text() == "scale: parameter 1 \"x\": element type is f32x4, expected f32");
  }
  SECTION("device") {
    c.tensor.device = {kDLCUDA, 1};
    CHECK(c.check() == LATHE_ERROR_DEVICE);
    CHECK(c.text() == "scale: parameter 1 \"x\": is on cuda, expected cpu");
  }
  SECTION("strides") {
    c.strides = {1, 2, 6};
    CHECK(c.check() == LATHE_ERROR_STRIDES);
    CHECK(c.text() ==
          "scale: parameter 1 \"x\": strides are [1, 2, 6] for shape [2, 3, 4], expected those of a compact "
          "row-major "
          "tensor; copy it to a contiguous one first");
  }
  SECTION("alignment by offset") {
    c.tensor.byte_offset = 4;
    CHECK(c.check() == LATHE_ERROR_ALIGNMENT);
    CHECK(c.text() ==
          "scale: parameter 1 \"x\": first element is 4 bytes past a multiple of 64, expected alignment to "
          "64 bytes "
          "(byte_offset is 4)");
  }
  SECTION("alignment by address") {
    c.tensor.data = c.data + 8;
    CHECK(c.check() == LATHE_ERROR_ALIGNMENT);
    CHECK(c.text() ==
          "scale: parameter 1 \"x\": first element is 32 bytes past a multiple of 64, expected alignment to "
          "64 bytes");
  }
  SECTION("no data") {
    c.tensor.data = nullptr;
    CHECK(c.check() == LATHE_ERROR_NULL_TENSOR);
    CHECK(c.text() == "scale: parameter 1 \"x\": has no data");
  }
  SECTION("a count that does not fit") {
    c.expected = {-1, -1, -1};
    c.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40, 2};
    CHECK(c.check() == LATHE_ERROR_SHAPE);
  }
}

TEST_CASE("no tensor at all is an error, not a crash") {
  Case c;
  c.check();
  CHECK(lathe_check_tensor(nullptr, &c.spec, "scale", 0) == LATHE_ERROR_NULL_TENSOR);
  CHECK(std::string(lathe_last_error()) == "scale: parameter 0 \"x\": is NULL, expected a tensor");
}

TEST_CASE("an offset that restores the alignment passes") {
  Case c;
  c.tensor.data = c.data + 1;
  c.tensor.byte_offset = 60;
  CHECK(c.check() == LATHE_OK);
  CHECK(lathe_tensor_data(&c.tensor) == c.data + 16);
}

TEST_CASE("bool comes as DLPack's bool or as one unsigned bit, never as a byte of any value") {
  Case c;
  c.spec.dtype = {6, 8, 1};
  c.tensor.dtype = {6, 8, 1};
  CHECK(c.check() == LATHE_OK);
  c.tensor.dtype = {kDLUInt, 1, 1};
  CHECK(c.check() == LATHE_OK);
  c.tensor.dtype = {kDLUInt, 8, 1};
  CHECK(c.check() == LATHE_ERROR_DTYPE);
}

TEST_CASE("an output that shares a byte with another parameter is refused") {
  Case in, out;
  in.shape = in.expected = out.shape = out.expected = {2, 2, 4};
  in.check();
  out.check();
  out.spec.is_output = 1;
  out.spec.name = "y";
  const DLTensor* tensors[] = {&in.tensor, &out.tensor};
  lathe_tensor_spec specs[] = {in.spec, out.spec};
  CHECK(lathe_check_overlap(tensors, specs, 2, "scale") == LATHE_OK);
  out.tensor.data = in.data + 15;  // the last element of the input
  CHECK(lathe_check_overlap(tensors, specs, 2, "scale") == LATHE_ERROR_OVERLAP);
  CHECK(std::string(lathe_last_error()) ==
        "scale: parameter 1 \"y\": output shares memory with parameter 0 \"x\"; give the kernel an output of "
        "its own");
  out.tensor.data = in.data + 16;
  CHECK(lathe_check_overlap(tensors, specs, 2, "scale") == LATHE_OK);
  specs[1].is_output = 0;  // inputs may share
  out.tensor.data = in.data;
  CHECK(lathe_check_overlap(tensors, specs, 2, "scale") == LATHE_OK);
}

TEST_CASE("run-time sizes are checked against their range") {
  CHECK(lathe_check_scalar(5, 0, 5, "n", "scale") == LATHE_OK);
  CHECK(lathe_check_scalar(6, 0, 5, "n", "scale") == LATHE_ERROR_SCALAR);
  CHECK(std::string(lathe_last_error()) == "scale: scalar \"n\" is 6, expected 0 to 5");
  CHECK(lathe_check_scalar(-1, 0, std::numeric_limits<std::int64_t>::max(), "n", "scale") ==
        LATHE_ERROR_SCALAR);
  CHECK(std::string(lathe_last_error()) == "scale: scalar \"n\" is -1, expected at least 0");
}

TEST_CASE("error texts are per thread, bounded, and cut between characters") {
  lathe_set_error(3, nullptr);
  CHECK(std::string(lathe_last_error()).empty());
  std::string text(1022, 'a');
  text += "\xC3\xA9 and more";  // a two-byte character across the limit
  lathe_set_error(3, text.c_str());
  CHECK(std::string(lathe_last_error()) == std::string(1022, 'a'));
  CHECK(lathe_last_error_code() == 3);
  lathe_set_error(4, lathe_last_error());
  CHECK(std::string(lathe_last_error()) == std::string(1022, 'a'));
}
