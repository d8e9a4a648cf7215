// Vector accesses of every shape against a loop in C++. The arrays end at a page that may not be touched, so an access past
// the last element is caught.

#include <sys/mman.h>
#include <unistd.h>

#include "tests/behaviour/codegen/build.h"

using namespace lathe;
using namespace lathe::codegen_test;

namespace {

/// n floats whose end is the end of readable memory.
class Fenced {
 public:
  explicit Fenced(std::size_t n) : n_(n), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    whole_ = (n * sizeof(float) + page_ - 1) / page_ * page_ + page_;
    base_ =
        static_cast<char*>(mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + whole_ - page_, page_, PROT_NONE);
    data_ = reinterpret_cast<float*>(base_ + whole_ - page_) - n;
    for (std::size_t i = 0; i < n; ++i) data_[i] = static_cast<float>(i + 1);
  }
  ~Fenced() { munmap(base_, whole_); }
  Fenced(const Fenced&) = delete;
  float* data() { return data_; }
  float operator[](std::size_t i) const { return data_[i]; }
  std::size_t size() const { return n_; }

 private:
  std::size_t n_, page_, whole_;
  char* base_;
  float* data_;
};

/// A buffer whose base is aligned to its elements alone.
Buffer unaligned(const char* name, std::int64_t n, DataType type = f32) {
  auto* node = new BufferNode;
  node->name = name;
  node->dtype = type;
  node->shape = {make_index(n)};
  node->alignment = type.bytes();
  return Buffer(node);
}

Expr lane_mask(int lanes, const Expr& bits) {
  // lane < limit for contiguous bits from 0, else a test of single bits through a shift.
  const Expr lane = ramp(make_index(0), make_index(1), lanes);
  const Expr word = broadcast(bits, lanes);
  const Expr shifted = call(Intrinsic::ShiftRight, {word, cast(i32.with_lanes(lanes), lane)});
  return call(Intrinsic::BitAnd, {shifted, make_const(i32.with_lanes(lanes), 1)}) !=
         make_const(i32.with_lanes(lanes), 0);
}

Expr lane_mask(int lanes, std::uint32_t bits) { return lane_mask(lanes, make_int(i32, bits)); }

constexpr std::uint32_t kMasks[] = {0xffff, 0x0000, 0x0001, 0x0003, 0x007f, 0x5a, 0x80, 0x8000, 0xfff};

}  // namespace

TEST_CASE("strided, reversed and broadcast loads read exactly their lanes") {
  for (const Machine& machine : machines())
    for (const int lanes : {2, 3, 8, 16})
      for (const std::int64_t stride : {0, 1, 2, 3, 4, 5, 7, -1, -2}) {
        const std::int64_t span = (lanes - 1) * std::abs(stride) + 1;
        Buffer in = unaligned("in", span), out = unaligned("out", lanes);
        const Expr first = make_index(stride < 0 ? span - 1 : 0);
        const Program program("strided", {input(in), output(out)}, {},
                              store(out, load(in, {ramp(first, make_index(stride), lanes)}),
                                    ramp(make_index(0), make_index(1), lanes)));
        Fenced from(static_cast<std::size_t>(span)), to(static_cast<std::size_t>(lanes));
        void* buffers[] = {from.data(), to.data()};
        REQUIRE(compile(program, machine).function()(buffers, nullptr) == 0);
        for (int lane = 0; lane < lanes; ++lane) {
          CAPTURE(machine.cpu, lanes, stride, lane);
          CHECK(to[static_cast<std::size_t>(lane)] ==
                from[static_cast<std::size_t>(stride < 0 ? span - 1 + lane * stride : lane * stride)]);
        }
      }
}

TEST_CASE("a masked load reads nothing in lanes that are off and gives 0 there") {
  for (const Machine& machine : machines())
    for (const int lanes : {8, 16})
      for (const std::int64_t stride : {0, 1, 2, -1})
        for (const std::uint32_t bits : kMasks) {
          // The array ends after the last lane that is on.
          int last = -1;
          for (int lane = 0; lane < lanes; ++lane)
            if (bits >> lane & 1) last = lane;
          const std::int64_t size = stride < 0 ? lanes : std::max<std::int64_t>(1, last * stride + 1);
          Buffer in = unaligned("in", size), out = unaligned("out", lanes);
          const Expr first = make_index(stride < 0 ? lanes - 1 : 0);
          const Program program(
              "masked", {input(in), output(out)}, {},
              store(out, masked_load(in, ramp(first, make_index(stride), lanes), lane_mask(lanes, bits)),
                    ramp(make_index(0), make_index(1), lanes)));
          Fenced from(static_cast<std::size_t>(size)), to(static_cast<std::size_t>(lanes));
          void* buffers[] = {from.data(), to.data()};
          REQUIRE(compile(program, machine).function()(buffers, nullptr) == 0);
          for (int lane = 0; lane < lanes; ++lane) {
            CAPTURE(machine.cpu, lanes, stride, bits, lane);
            const auto at = static_cast<std::size_t>(stride < 0 ? lanes - 1 - lane : lane * stride);
            CHECK(to[static_cast<std::size_t>(lane)] == (bits >> lane & 1 ? from[at] : 0.f));
          }
        }
}

TEST_CASE("a masked store writes nothing in lanes that are off") {
  for (const Machine& machine : machines())
    for (const std::int64_t stride : {1, 2, 3, -1})
      for (std::uint32_t which = 0; which < 2 * std::size(kMasks); ++which) {
        constexpr int kLanes = 8;
        const std::uint32_t bits = kMasks[which / 2];
        const bool known = which % 2 == 0;  // when the code is made, not only when it runs
        const std::int64_t span = (kLanes - 1) * std::abs(stride) + 1;
        Buffer in = unaligned("in", kLanes), out = unaligned("out", span), word = unaligned("word", 1, i32);
        const Expr first = make_index(stride < 0 ? span - 1 : 0);
        const Expr mask = lane_mask(kLanes, known ? make_int(i32, bits) : load(word, {make_index(0)}));
        const Program program("masked", {input(in), output(out), input(word)}, {},
                              store(out,
                                    load(in, {ramp(make_index(0), make_index(1), kLanes)}) *
                                        make_const(f32.with_lanes(kLanes), 100),
                                    ramp(first, make_index(stride), kLanes), mask));
        Fenced from(kLanes), to(static_cast<std::size_t>(span)), before(static_cast<std::size_t>(span));
        auto word_value = static_cast<std::int32_t>(bits);
        void* buffers[] = {from.data(), to.data(), &word_value};
        REQUIRE(compile(program, machine).function()(buffers, nullptr) == 0);
        for (std::int64_t k = 0; k < span; ++k) {
          const std::int64_t distance = stride < 0 ? span - 1 - k : k;
          const std::int64_t lane = distance / std::abs(stride);
          const bool written = distance % std::abs(stride) == 0 && (bits >> lane & 1);
          CAPTURE(machine.cpu, stride, bits, known, k);
          CHECK(to[static_cast<std::size_t>(k)] ==
                (written ? from[static_cast<std::size_t>(lane)] * 100 : before[static_cast<std::size_t>(k)]));
        }
      }
}

TEST_CASE("gather and scatter through computed subscripts") {
  constexpr int kLanes = 8;
  Buffer index = unaligned("index", kLanes, i32), in = unaligned("in", 50), out = unaligned("out", 50);
  const Expr at =
      cast(index_type.with_lanes(kLanes), load(index, {ramp(make_index(0), make_index(1), kLanes)}));
  const Program program("gather", {input(index), input(in), output(out)}, {}, store(out, load(in, {at}), at));
  for (const Machine& machine : machines()) {
    Array<std::int32_t> indices{49, 0, 7, 7, 13, 48, 2, 31};
    Fenced from(50), to(50);
    for (std::size_t i = 0; i < 50; ++i) to.data()[i] = -1;
    void* buffers[] = {indices.data(), from.data(), to.data()};
    REQUIRE(compile(program, machine).function()(buffers, nullptr) == 0);
    for (std::size_t i = 0; i < 50; ++i)
      CHECK(to[i] == (std::count(indices.begin(), indices.end(), static_cast<int>(i)) ? from[i] : -1.f));
  }
}

TEST_CASE("bool and 16-bit elements in masked vectors") {
  constexpr int kLanes = 16;
  Buffer flag = unaligned("flag", 11, boolean), half = unaligned("half", 11, f16),
         out = unaligned("out", 11, f16), flags = unaligned("flags", 11, boolean);
  const Expr at = ramp(make_index(0), make_index(1), kLanes), mask = lane_mask(kLanes, 0x7ff);
  const Expr value = masked_load(half, at, mask);
  const Program program(
      "halves", {input(flag), input(half), output(out), output(flags)}, {},
      make_seq({store(out, select(masked_load(flag, at, mask), value, make_const(f16.with_lanes(kLanes), 2)),
                      at, mask),
                store(flags, !masked_load(flag, at, mask), at, mask)}));
  for (const Machine& machine : machines()) {
    Array<std::uint8_t> on(11), off(16, std::uint8_t{9});
    Array<std::uint16_t> bits(11), got(16, std::uint16_t{0xffff});
    for (std::size_t i = 0; i < 11; ++i) on[i] = i % 3 == 0, bits[i] = static_cast<std::uint16_t>(0x3c00 + i);
    REQUIRE(run(compile(program, machine), {}, on, bits, got, off) == 0);
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(got[i] == (i < 11 ? (on[i] ? bits[i] : 0x4000) : 0xffff));
      CHECK(off[i] == (i < 11 ? 1 - on[i] : 9));
    }
  }
}

TEST_CASE("a vector sum, product, minimum and maximum of any number of lanes") {
  for (const int lanes : {2, 3, 4, 5, 8, 16}) {
    Buffer in = unaligned("in", lanes), whole = unaligned("whole", lanes, i32), out = unaligned("out", 4),
           counts = unaligned("counts", 4, i32);
    const Expr at = ramp(make_index(0), make_index(1), lanes);
    std::vector<Stmt> stores;
    int k = 0;
    for (const Intrinsic op :
         {Intrinsic::VectorSum, Intrinsic::VectorProd, Intrinsic::VectorMin, Intrinsic::VectorMax}) {
      stores.push_back(store(out, call(op, {load(in, {at})}), make_index(k)));
      stores.push_back(store(counts, call(op, {load(whole, {at})}), make_index(k++)));
    }
    const Program program("reduce", {input(in), input(whole), output(out), output(counts)}, {},
                          make_seq(stores));
    Array<float> x(static_cast<std::size_t>(lanes)), y(4);
    Array<std::int32_t> n(static_cast<std::size_t>(lanes)), m(4);
    float sum = 0, product = 1;
    for (int i = 0; i < lanes; ++i) {
      x[static_cast<std::size_t>(i)] = static_cast<float>((i * 5) % 7 - 3) + 0.5f;
      n[static_cast<std::size_t>(i)] = (i * 5) % 7 - 3;
      sum += x[static_cast<std::size_t>(i)];
      product *= x[static_cast<std::size_t>(i)];
    }
    REQUIRE(run(compile(program, machines()[0]), {}, x, n, y, m) == 0);
    CAPTURE(lanes);
    CHECK(y[0] == sum);
    CHECK(y[1] == product);
    CHECK(y[2] == *std::min_element(x.begin(), x.end()));
    CHECK(y[3] == *std::max_element(x.begin(), x.end()));
    CHECK(m[2] == *std::min_element(n.begin(), n.end()));
    CHECK(m[3] == *std::max_element(n.begin(), n.end()));
  }
}

TEST_CASE("streaming stores bypass the caches, are fenced, and store the same") {
  constexpr std::int64_t kCount = 64;
  Buffer in("in", f32, {kCount}), out("out", f32, {kCount});
  Var i("i");
  const Expr at = ramp(i * 8, make_index(1), 8);
  const Program program(
      "stream", {input(in), output(out)}, {},
      loop(i, make_index(kCount / 8), store(out, load(in, {at}), at, {}, /*streaming=*/true)));
  const std::string text = codegen::cpu::assembly(program, {"x86_64-unknown-linux-gnu", "znver3", ""});
  CHECK(text.find("vmovntps") != std::string::npos);
  CHECK(text.find("sfence") != std::string::npos);
  Array<float> x(kCount), y(kCount);
  for (std::size_t k = 0; k < kCount; ++k) x[k] = static_cast<float>(k);
  for (const Machine& machine : machines()) {
    REQUIRE(run(compile(program, machine), {}, x, y) == 0);
    for (std::size_t k = 0; k < kCount; ++k) CHECK(y[k] == x[k]);
  }
}

TEST_CASE("a prefetch may point past the end") {
  Buffer in("in", f32, {16}), out("out", f32, {16});
  Var i("i");
  const Program program(
      "fetch", {input(in), output(out)}, {},
      loop(i, make_index(16),
           make_seq({make_stmt<Evaluate>(call(Intrinsic::Prefetch, {load(in, {i + 100000})})),
                     store(out, load(in, {i}), i)})));
  CHECK(codegen::cpu::assembly(program, {"x86_64-unknown-linux-gnu", "znver3", ""}).find("prefetcht0") !=
        std::string::npos);
  Fenced x(16), y(16);
  Array<float> from(16, 3.f), to(16);
  REQUIRE(run(compile(program, machines()[0]), {}, from, to) == 0);
  CHECK(to[15] == 3.f);
}
