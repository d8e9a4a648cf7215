#include "lathe/runtime/tensor.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "lathe/error.h"

using namespace lathe;
using namespace lathe::runtime;

namespace {

const DataType kAllTypes[] = {f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean, index_type};

}  // namespace

TEST_CASE("a new tensor is zero, aligned, and has the size of its shape") {
  for (DataType type : kAllTypes) {
    for (std::uint64_t align : {1, 64, 4096}) {
      Tensor tensor(type, {3, 5, 7}, {.alignment = align});
      CHECK(tensor.size() == 105);
      CHECK(tensor.bytes() == 105 * static_cast<std::uint64_t>(type.bytes()));
      CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % align == 0);
      CHECK(tensor.value(104) == 0);
    }
  }
}

TEST_CASE("scalars and tensors without elements exist") {
  CHECK(Tensor(f32, {}).size() == 1);
  Tensor empty(f32, {3, 0, std::int64_t{1} << 62});
  CHECK(empty.size() == 0);
  CHECK(empty.bytes() == 0);
  CHECK(empty.clone().size() == 0);
}

TEST_CASE("what cannot be a tensor is refused with its reason") {
  CHECK_THROWS_WITH(Tensor(f32, {2, -1}), "tensor f32 [2, -1]: an extent is negative  [LTH-X001]");
  CHECK_THROWS_WITH(
      Tensor(f32, {std::int64_t{1} << 40, std::int64_t{1} << 40}),
      "tensor f32 [1099511627776, 1099511627776]: is larger than any address space  [LTH-X001]");
  CHECK_THROWS_WITH(Tensor(f32.with_lanes(8), {2}),
                    "tensor f32x8 [2]: tensors cannot have this element type  [LTH-X001]");
  CHECK_THROWS_WITH(Tensor(f32, {2}, {.alignment = 48}),
                    "tensor f32 [2]: alignment 48 is no power of two  [LTH-X001]");
}

TEST_CASE("values come back as they were stored, in every type") {
  for (DataType type : kAllTypes) {
    Tensor tensor(type, {4});
    tensor.set_value(2, 1);
    CHECK(tensor.value(2) == 1);
    CHECK(tensor.value(1) == 0);
    CHECK(tensor.value(3) == 0);
  }
  Tensor bytes(i8, {1});
  bytes.set_value(0, -128);
  CHECK(bytes.value(0) == -128);
}

TEST_CASE("values are rounded, truncated and saturated to the type") {
  const double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    DataType type;
    double stored, read;
  };
  const Case cases[] = {
      {i8, 127.9, 127},
      {i8, 128, 127},
      {i8, -1e9, -128},
      {i8, -1.9, -1},
      {u8, -3, 0},
      {u8, 256, 255},
      {i32, 3e9, 2147483647},
      {i64, infinity, 9223372036854775807.0},
      {u64, 1e30, 18446744073709551615.0},
      {i64, -infinity, -9223372036854775808.0},
      {i16, std::nan(""), 0},
      {boolean, 0.5, 1},
      {f16, 2049, 2048},
      {bf16, 257, 256},
      {f32, 16777217, 16777216},
      {f16, 1e6, infinity},
  };
  for (const Case& c : cases) {
    Tensor tensor(c.type, {1});
    tensor.set_value(0, c.stored);
    CHECK(tensor.value(0) == c.read);
  }
}

TEST_CASE("elements are read as the tensor's own C++ type alone") {
  Tensor tensor(f32, {2});
  tensor.as<float>()[1] = 3;
  CHECK(tensor.value(1) == 3);
  CHECK_THROWS_WITH(tensor.as<double>(), "tensor f32 [2]: read as f64  [LTH-X004]");
  CHECK_THROWS_WITH(tensor.as<std::uint32_t>(), "tensor f32 [2]: read as u32  [LTH-X004]");
  CHECK(Tensor(f16, {2}).as<std::uint16_t>().size() == 2);
  CHECK(Tensor(bf16, {2}).as<std::uint16_t>().size() == 2);
  CHECK(Tensor(boolean, {2}).as<bool>().size() == 2);
  CHECK(Tensor(index_type, {2}).as<std::int64_t>().size() == 2);
}

TEST_CASE("share gives the same elements, clone gives others") {
  Tensor a(f32, {4}, {.guard_bytes = 32});
  Tensor shared = a.share(), copy = a.clone();
  a.set_value(0, 5);
  CHECK(shared.value(0) == 5);
  CHECK(copy.value(0) == 0);
  a = Tensor(f32, {1});
  CHECK(shared.value(0) == 5);
  static_cast<float*>(copy.data())[4] = 0;
  CHECK(copy.broken_guard().has_value());
}

TEST_CASE("a guard tells how much was written where") {
  Tensor tensor(f32, {5}, {.alignment = 64, .guard_bytes = 100});
  CHECK(!tensor.broken_guard());
  auto* bytes = static_cast<unsigned char*>(tensor.data());
  SECTION("the element after the last") {
    std::memset(bytes + 20, 0, 4);
    CHECK(*tensor.broken_guard() == "4 bytes written 0 bytes past the end");
  }
  SECTION("the last byte of the zone") {
    bytes[20 + 127] ^= 1;
    CHECK(*tensor.broken_guard() == "1 byte written 127 bytes past the end");
  }
  SECTION("before the first") {
    bytes[-1] ^= 1;
    CHECK(*tensor.broken_guard() == "1 byte written 1 byte before the first element");
  }
  SECTION("far before the first") {
    bytes[-128] ^= 1;
    CHECK(*tensor.broken_guard() == "1 byte written 128 bytes before the first element");
  }
  SECTION("elements themselves are free") {
    std::memset(bytes, 0xFF, 20);
    CHECK(!tensor.broken_guard());
  }
}

TEST_CASE("a tensor that another library holds outlives ours, and ours theirs") {
  DLManagedTensor* exported = nullptr;
  {
    Tensor tensor(i32, {2, 3});
    tensor.set_value(5, 42);
    exported = tensor.to_dlpack();
  }
  CHECK(exported->dl_tensor.ndim == 2);
  CHECK(exported->dl_tensor.shape[1] == 3);
  Tensor back = Tensor::from_dlpack(exported);
  CHECK(back.value(5) == 42);
  CHECK(to_string(back) == "i32 [2, 3]");
}

TEST_CASE("another library's deleter runs once, with the last handle") {
  static int deleted = 0;
  float data[6] = {0, 1, 2, 3, 4, 5};
  std::int64_t shape[] = {2, 3}, strides[] = {3, 1};
  DLManagedTensor managed{{data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 4},
                          nullptr,
                          [](DLManagedTensor*) { ++deleted; }};
  SECTION("taken") {
    shape[0] = 1;
    {
      Tensor tensor = Tensor::from_dlpack(&managed);
      Tensor second = tensor.share();
      CHECK(second.value(0) == 1);  // byte_offset
      tensor = Tensor(f32, {1});
      CHECK(deleted == 0);
    }
    CHECK(deleted == 1);
  }
  deleted = 0;
  SECTION("refused") {
    strides[0] = 1;
    strides[1] = 2;
    CHECK_THROWS_WITH(
        Tensor::from_dlpack(&managed),
        "tensor from another library: strides are [1, 2] for shape [2, 3], expected those of a compact "
        "row-major tensor; copy it to a contiguous one first  [LTH-X003]");
    managed.dl_tensor.device.device_type = kDLCUDA;
    CHECK_THROWS_WITH(Tensor::from_dlpack(&managed),
                      "tensor from another library: is on cuda, expected cpu  [LTH-X003]");
    managed.dl_tensor.dtype.bits = 24;
    CHECK_THROWS_WITH(Tensor::from_dlpack(&managed),
                      "tensor from another library: its element type is (code 2, 24 bits)  [LTH-X003]");
    CHECK(deleted == 0);
  }
}

TEST_CASE("a view looks at memory of the caller's") {
  double data[4] = {1, 2, 3, 4};
  Tensor view = Tensor::view(data, f64, {2, 2});
  view.set_value(3, 9);
  CHECK(data[3] == 9);
  CHECK(!view.broken_guard());
}

TEST_CASE("names of element types are read and written") {
  for (DataType type : {f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, boolean}) {
    const DLDataType stored = stored_as(type);
    REQUIRE(is_element_type(stored));
    REQUIRE(element_type(to_string(stored)).has_value());
    CHECK(same(*element_type(to_string(stored)), stored));
    CHECK(to_string(stored) == type.str());
  }
  CHECK(!element_type("f31"));
  CHECK(same(stored_as(index_type), {kDLInt, 64, 1}));
}
