// A program that links the compiler.
#include <lathe/error.h>

int main() { return lathe::error_catalogue().empty() ? 1 : 0; }
