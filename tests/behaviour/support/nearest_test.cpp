#include "support/nearest.h"

using namespace lathe;

TEST_CASE("edits are insertions, deletions, changes and swaps of neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("vectorise", "vectorsie") == 1);
  CHECK(edit_distance("ca", "abc") == 3);  // each place is edited once
}

TEST_CASE("the nearest name is within a third, whatever the case") {
  const std::vector<std::string> names{"split", "fuse", "reorder", "Reverse"};
  CHECK(nearest_name("splti", names) == "split");
  CHECK(nearest_name("REORDER", names) == "reorder");
  CHECK(nearest_name("fusee", names) == "fuse");
  CHECK(nearest_name("unroll", names) == std::nullopt);
  CHECK(nearest_name("", {}) == std::nullopt);
  CHECK(nearest_name(std::string(5000, 'x'), names) == std::nullopt);
  CHECK(did_you_mean("splti", names) == " (did you mean \"split\"?)");
  CHECK(did_you_mean("nothing like it", names).empty());
}
