#include "lathe/emit.h"

#include "behaviour/driver/files.h"
#include "behaviour/schedule/programs.h"
#include "lathe/runtime/module.h"

using namespace lathe;
using test::Folder;
using test::shell;

namespace {

/// out[i] = x[i] * 2 for a run-time number of floats.
Program doubled() {
  Var n = size("n");
  Tensor x = placeholder("x", {n}, f32);
  Tensor out = compute("out", {n}, [&](Var i) { return x(i) * 2.f; });
  return program("doubled", {n, x}, {out});
}

const char* const kMain = R"(
#include "kernels.h"
#include <stdio.h>
#include <string.h>

static void* aligned(char* raw) { return (void*)(((uintptr_t)raw + 63) / 64 * 64); }

int main(void) {
  static char memory[3][64 * 4 + 64];
  float *a = aligned(memory[0]), *b = aligned(memory[1]), *c = aligned(memory[2]);
  for (int i = 0; i < 35; ++i) a[i] = i % 5;
  for (int i = 0; i < 45; ++i) b[i] = i % 7;
  printf("%d\n", my_mm(a, b, c));
  float want = 0;
  for (int k = 0; k < 5; ++k) want += a[6 * 5 + k] * b[k * 9 + 8];
  printf("%d\n", c[6 * 9 + 8] == want);

  printf("%d %s\n", my_mm(NULL, b, c), lathe_last_error());
  printf("%d %s\n", my_mm((float*)((char*)a + 4), b, c), lathe_last_error());
  printf("%d %s\n", my_mm(a, b, b), lathe_last_error());
  printf("%d\n", my_doubled(3, a, c));
  printf("%d\n", c[2] == 2 * a[2]);
  printf("%d %s\n", my_doubled(-1, a, c), lathe_last_error());

  int64_t shape[1] = {4};
  DLTensor x, y;
  memset(&x, 0, sizeof x);
  x.data = a;
  x.device.device_type = kDLCPU;
  x.ndim = 1;
  x.dtype.code = kDLFloat;
  x.dtype.bits = 32;
  x.dtype.lanes = 1;
  x.shape = shape;
  y = x;
  y.data = c;
  printf("%d\n", my_doubled_dlpack(4, &x, &y));
  printf("%d %s\n", my_doubled_dlpack(5, &x, &y), lathe_last_error());
  y.dtype.code = kDLInt;
  printf("%d %s\n", my_doubled_dlpack(4, &x, &y), lathe_last_error());
  printf("%d\n", my_doubled_dlpack(4, NULL, &y) != 0);

  void* buffers[] = {a, c};
  int64_t sizes[] = {2};
  printf("%d\n", my_doubled_kernel(buffers, sizes));
  return 0;
}
)";

}  // namespace

TEST_CASE("a C program calls an object file by pointers and by tensors, and bad calls give codes") {
  Folder folder;
  Program mm = test::matmul(7, 9, 5).program;
  mm = Program("mm", mm->params, mm->temps, mm->body);
  emit_object({mm, doubled()}, Target::host(), folder.file("kernels"), {.prefix = "my_"});
  CHECK(test::run_c_program(folder, kMain, "kernels.o") ==
        "0\n"
        "1\n"
        "2 my_mm: parameter 0 \"A\": has no data\n"
        "8 my_mm: parameter 0 \"A\": first element is 4 bytes past a multiple of 64, expected alignment to "
        "64 bytes\n"
        "9 my_mm: parameter 2 \"C\": output shares memory with parameter 1 \"B\"; give the kernel an output "
        "of its "
        "own\n"
        "0\n"
        "1\n"
        "10 my_doubled: scalar \"n\" is -1, expected at least 0\n"
        "0\n"
        "4 my_doubled: parameter 0 \"x\": shape is [4], expected [5]\n"
        "5 my_doubled: parameter 1 \"out\": element type is i32, expected f32\n"
        "1\n"
        "0\n");
}

TEST_CASE("a shared object of kernels loads as a module of the runtime") {
  Folder folder;
  emit_object({doubled()}, Target::host(), folder.file("kernels"));
  shell(std::string(TEST_CC) + " -shared -o " + folder.file("kernels.so") + " " + folder.file("kernels.o"));
  const runtime::Module module = runtime::Module::open(folder.file("kernels.so"));
  runtime::Tensor x(f32, {10}), y(f32, {10});
  for (std::int64_t i = 0; i < 10; ++i) x.set_value(i, static_cast<double>(i));
  module.kernel("doubled")({&x, &y}, {10});
  CHECK(y.value(9) == 18);
  CHECK_FALSE(module.has("tripled"));
}

TEST_CASE("hidden kernels are not exported") {
  Folder folder;
  emit_object({doubled()}, Target::host(), folder.file("kernels"), {.hidden = true});
  shell(std::string(TEST_CC) + " -shared -o " + folder.file("kernels.so") + " " + folder.file("kernels.o"));
  CHECK_FALSE(runtime::Module::open(folder.file("kernels.so")).has("doubled"));
}

TEST_CASE("object and header are the same bytes every time and name no path of this machine") {
  const EmittedKernels first = emit_kernels({doubled()}, Target::parse("zen3"), "kernels");
  const EmittedKernels again = emit_kernels({doubled()}, Target::parse("zen3"), "kernels");
  CHECK(first.object == again.object);
  CHECK(first.header == again.header);
  const std::string bytes(first.object.begin(), first.object.end());
  CHECK(bytes.find(std::filesystem::current_path().string()) == std::string::npos);
  CHECK(bytes.find("/home") == std::string::npos);
  CHECK(bytes.find("/usr") == std::string::npos);
}

TEST_CASE("a C header documents its kernels") {
  CHECK(emit_kernels({doubled()}, Target::parse("zen3"), "kernels")
            .header.find("/* doubled\n"
                         " *\n"
                         " *   n    size      int64_t, 0 or more\n"
                         " *   x    input     f32 [n], aligned to 64 bytes\n"
                         " *   out  output    f32 [n], aligned to 64 bytes\n"
                         " */\n"
                         "int32_t doubled(int64_t n, const float* x, float* out);\n"
                         "int32_t doubled_dlpack(int64_t n, const DLTensor* x, const DLTensor* out);\n"
                         "int32_t doubled_kernel(void* const* buffers, const int64_t* scalars);\n") !=
        std::string::npos);
}

TEST_CASE("what must be linked besides the runtime is named") {
  Tensor x = placeholder("x", {4}, f64);
  Tensor out = compute("out", {4}, [&](Var i) { return tan(x(i)); });
  const EmittedKernels kernels = emit_kernels({program("tangent", {x}, {out})}, Target::host(), "kernels");
  CHECK(kernels.needs == std::vector<std::string>{"tan"});
  CHECK(kernels.header.find("and with what defines tan.") != std::string::npos);
}

TEST_CASE("names that no C function can have are refused, and nothing is written") {
  Folder folder;
  auto named = [](const char* name) {
    const Program p = doubled();
    return Program(name, p->params, p->temps, p->body);
  };
  for (const char* name : {"1st", "a-b", "", "while", "x y"})
    CHECK_THROWS_AS(emit_object({named(name)}, Target::host(), folder.file("k")), UserError);
  CHECK_THROWS_AS(emit_object({named("a"), named("a")}, Target::host(), folder.file("k")), UserError);
  CHECK_THROWS_AS(emit_object({named("a"), named("a_dlpack")}, Target::host(), folder.file("k")), UserError);
  CHECK(std::filesystem::is_empty(folder.path));
  CHECK_THROWS_AS(emit_object({named("a")}, Target::host(), folder.file("none/such/k")), UserError);
}
