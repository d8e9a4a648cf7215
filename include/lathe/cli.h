#pragma once
// The `lathe` program as a function, for programs with operators of their own:
//
//     #include "lathe/cli.h"
//     LATHE_WORKLOAD(my_scale, "y = 2 x", {{"n", 1024, "elements"}}) { … }
//     int main(int argc, char** argv) { return lathe::cli(argc, argv); }
//
// Linked with lathe::cli, it does all that `lathe` does, and knows `my_scale`. Candidates are measured in child processes
// of the same program, so nothing but the call may happen in main() before.

namespace lathe {

/// Does what the arguments say and returns the exit code: 0 done, 1 refused or failed (a text on standard error says why),
/// 2 wrong usage, 3 interrupted and resumable, 4 no record found where one was required. Throws nothing. Handles SIGINT and
/// SIGTERM from the call on.
int cli(int argc, char** argv);

}  // namespace lathe
