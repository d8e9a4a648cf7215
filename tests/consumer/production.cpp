// A production program: links lathe::runtime alone.
#include <lathe/error.h>

int main() { return lathe::find_code("LTH-D001") != nullptr ? 0 : 1; }
