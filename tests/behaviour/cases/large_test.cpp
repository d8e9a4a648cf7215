// More elements than 32 bits can count. The tensors are address space without memory behind it: a page appears when it is
// written to, and reads as zeros before.
#include <sys/mman.h>

#include "behaviour/cases/case.h"
#include "lathe/compile.h"

using namespace lathe;
using namespace lathe::cases;

namespace {

class AddressSpace {
 public:
  explicit AddressSpace(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~AddressSpace() {
    if (there()) munmap(data_, bytes_);
  }
  AddressSpace(const AddressSpace&) = delete;
  bool there() const { return data_ != MAP_FAILED; }
  template <class T = std::uint8_t>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Runs a kernel on addresses, which must be multiples of 64.
void run(const Schedule& s, std::vector<void*> addresses, std::vector<std::int64_t> sizes = {}) {
  REQUIRE(compile(s, Target::host()).run(addresses.data(), sizes.data()) == 0);
}

constexpr std::int64_t k2G = std::int64_t{1} << 31;

}  // namespace

TEST_CASE("A15: the last elements of a tensor of more than 2^31") {
  AddressSpace memory(k2G + 16);
  if (!memory.there()) {
    WARN("no 2 GiB of address space");
    return;
  }
  for (int i = 0; i < 16; ++i) memory.as()[k2G + i] = static_cast<std::uint8_t>(i + 1);
  memory.as()[0] = 99;  // where an index of 32 bits would come out
  for (int way = 0; way < 4; ++way) {
    INFO(way);
    Tensor x = placeholder("x", {k2G + 16}, u8);
    Axis r = reduce_axis(16, "r");
    Tensor y = compute("y", {16}, [&](Var i) { return x(i + k2G); });
    Tensor total = compute("total", {}, [&] { return sum(cast(i32, x(r + k2G)), {r}); });
    Schedule s(program("p", {x}, {y, total}));
    const LoopRef i = s.loops<1>(s.block(y))[0];
    if (way == 1) s.vectorize(i);
    if (way == 2) s.vectorize(s.split(i, {_, 5})[1]);  // masks
    if (way == 3) {
      s.compute_at(s.cache_read(s.block(y), x, Scope::Local), s.split(i, {_, 4}, Tail::Peel)[0]);
      s.parallel(s.loops(s.block(y))[0]);
    }
    alignas(64) std::uint8_t out[16] = {};
    alignas(64) std::int32_t sum = 0;
    run(s, {memory.as(), out, &sum});
    for (int k = 0; k < 16; ++k) CHECK(out[k] == k + 1);
    CHECK(sum == 136);
  }
}

TEST_CASE("A15: strides whose products pass 2^31, gathered by lanes") {
  // x[4096, 64, 112, 112] minus a channel's value, at sixteen places.
  AddressSpace memory(std::size_t{4096} * 64 * 112 * 112);
  if (!memory.there()) {
    WARN("no 3 GiB of address space");
    return;
  }
  auto at = [](std::int64_t i, std::int64_t c) { return ((i * 64 + c) * 112 + 111) * 112 + 111; };
  alignas(64) std::uint8_t channel[64];
  for (int c = 0; c < 64; ++c) channel[c] = static_cast<std::uint8_t>(c);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t c = 0; c < 4; ++c)
      memory.as()[at(i * 1365, c * 21)] = static_cast<std::uint8_t>(100 + i * 10 + c);
  }
  for (int way = 0; way < 3; ++way) {
    INFO(way);
    Tensor x = placeholder("x", {4096, 64, 112, 112}, u8), m = placeholder("m", {64}, u8);
    Tensor y = compute("y", {4, 4}, [&](Var i, Var c) { return x(i * 1365, c * 21, 111, 111) - m(c * 21); });
    Schedule s(program("p", {x, m}, {y}));
    auto [i, c] = s.loops<2>(s.block(y));
    if (way == 1) s.vectorize(i);
    if (way == 2) s.vectorize(s.fuse(i, c));
    alignas(64) std::uint8_t out[16] = {};
    run(s, {memory.as(), channel, out});
    for (int k = 0; k < 16; ++k) CHECK(out[k] == 100 + k / 4 * 10 + k % 4 - k % 4 * 21);
  }
}

TEST_CASE("A15: subscripts that come from data, and from a run-time size") {
  AddressSpace memory(std::size_t{4} * (k2G + 8));  // u32: offsets in bytes pass 2^33
  if (!memory.there()) {
    WARN("no 8 GiB of address space");
    return;
  }
  for (std::int64_t k = 0; k < 8; ++k)
    memory.as<std::uint32_t>()[k2G + k] = static_cast<std::uint32_t>(7 * k + 1);
  Var n = size("n");
  Tensor x = placeholder("x", {n}, u32), where = placeholder("where", {8}, i64);
  Tensor y = compute("y", {8}, [&](Var i) { return x(cast(index_type, where(i))); });
  Tensor z = compute("z", {8}, [&](Var i) { return if_inside(x, {n - 4 + i}, 5); });
  Schedule s(program("p", {n, x, where}, {y, z}));
  for (const Tensor& t : {y, z}) s.vectorize(s.loops<1>(s.block(t))[0]);
  alignas(64) std::int64_t at[8];
  for (int k = 0; k < 8; ++k) at[k] = k2G + 7 - k;
  alignas(64) std::uint32_t gathered[8] = {};
  alignas(64) std::uint32_t last[8] = {};
  run(s, {memory.as(), at, gathered, last}, {k2G + 8});
  for (std::uint32_t k = 0; k < 8; ++k) {
    CHECK(gathered[k] == 7 * (7 - k) + 1);
    CHECK(last[k] == (k < 4 ? 7 * (k + 4) + 1 : 5));
  }
}

TEST_CASE("A15: stores beyond 2^31 elements, alone and in lanes") {
  // An output of 2^32 + 64 elements of which the innermost dimension is written: lowered by hand.
  constexpr std::int64_t step = std::int64_t{1} << 28, lanes = 8;
  AddressSpace memory(std::size_t{16} * step + 64);
  if (!memory.there()) {
    WARN("no 4 GiB of address space");
    return;
  }
  Tensor x = placeholder("x", {16}, u8);
  const Buffer in = x.buffer(), out("out", u8, {16 * step + 64});
  Var i("i");
  const Stmt scalar = make_stmt<Store>(out, load(in, {i}), std::vector<Expr>{i * step + 5});
  const Stmt scattered =
      make_stmt<Store>(out, Expr(new Load(in, {ramp(i * lanes, 1, lanes)})),
                       std::vector<Expr>{ramp(i * (lanes * step) + 6, make_index(step), lanes)});
  const Program p("p", {{ParamRole::Input, in, {}}, {ParamRole::Output, out, {}}}, {},
                  make_seq({make_stmt<For>(i, 16, ForKind::Serial, scalar),
                            make_stmt<For>(i, 2, ForKind::Serial, scattered)}));
  alignas(64) std::uint8_t data[16];
  for (int k = 0; k < 16; ++k) data[k] = static_cast<std::uint8_t>(k + 40);
  void* addresses[] = {data, memory.as()};
  REQUIRE(compile(p, Target::host()).run(addresses, nullptr) == 0);
  for (std::int64_t k = 0; k < 16; ++k) {
    CHECK(memory.as()[k * step + 5] == k + 40);
    CHECK(memory.as()[k * step + 6] == k + 40);
  }
}

TEST_CASE("A15: the iterations of a fused loop pass 2^31 though those of its parts do not") {
  constexpr std::int64_t m = 65536, n = 40001;
  Tensor x = placeholder("x", {m, n}, u8);
  Tensor y = compute("y", {m, n}, [&](Var i, Var j) { return x(i, j) + make_int(u8, 1); });
  Schedule s(program("p", {x}, {y}));
  auto [i, j] = s.loops<2>(s.block(y));
  const LoopRef fused = s.fuse(i, j);
  CHECK(s.extent(fused) == m * n);
  auto [outer, inner] = s.split(fused, {_, 7});
  CHECK(s.extent(outer) == m * n / 7 + 1);
  s.vectorize(inner);
  s.parallel(outer);
  const std::string lowered = to_string(lower_until(s.program(), Target::host()));
  CHECK(lowered.find("0.." + std::to_string(m * n / 7 + 1)) != std::string::npos);
  compile(s, Target::host());
}

TEST_CASE("A15: tensors whose bytes no address can hold are refused in words") {
  const std::string why = test::error_text([&] { placeholder("x", {k2G, k2G, 4}, f32); });
  CHECK(why.find("LTH-D005") != std::string::npos);
  Tensor x = placeholder("x", {k2G, k2G}, u8);  // 2^62: an address space's worth, and legal
  Tensor y = compute("y", {2}, [&](Var i) { return x(i * (k2G - 1), i * (k2G - 1)); });
  Schedule s(program("p", {x}, {y}));
  s.vectorize(s.loops<1>(s.block(y))[0]);
  compile(s, Target::host());
}
