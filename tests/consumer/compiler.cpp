// A program that links the compiler: every layer's objects are reachable from one expression printed.
#include <lathe/program.h>

int main() {
  const lathe::Var i("i");
  return lathe::to_string(i * 4 + 1) == "i*4 + 1" ? 0 : 1;
}
