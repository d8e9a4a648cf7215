// The `lathe` program.

#include "lathe/cli.h"

int main(int argc, char** argv) { return lathe::cli(argc, argv); }
