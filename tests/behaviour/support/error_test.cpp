#include "lathe/error.h"

#include "support/error_codes/te.h"

using namespace lathe;

TEST_CASE("an error's text is rendered only when it is read") {
  int rendered = 0;
  UserError error(code::D001, Message([&] {
                    ++rendered;
                    return std::string("text");
                  }));
  CHECK(rendered == 0);
  CHECK(std::string(error.what()) == "text  [LTH-D001]");
  CHECK(std::string(error.what()) == "text  [LTH-D001]");
  CHECK(rendered == 1);
}

TEST_CASE("an error's text shows the control characters that it quotes, and does not end at a zero") {
  const std::string input("a\0b\x1b[31m\r\x7f", 10);
  const std::string what = UserError(code::D001, "read \"" + input + "\"\n\tin \xc3\xa4").what();
  CHECK(what == "read \"a\\x00b\\x1b[31m\\x0d\\x7f\"\n\tin \xc3\xa4  [LTH-D001]");
}

TEST_CASE("every error code is found by its id, with and without the prefix") {
  for (const CodeInfo& info : error_catalogue()) {
    REQUIRE(find_code(info.id) == &info);
    REQUIRE(find_code(info.id.substr(4)) == &info);
    CHECK(!info.cause.empty());
    CHECK(!info.way_out.empty());
  }
  CHECK(find_code("LTH-Z999") == nullptr);
}
