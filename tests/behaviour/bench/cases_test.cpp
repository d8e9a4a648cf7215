// The cases that a user writes.
#include "bench/harness/operators.h"

using namespace lathe::bench;

TEST_CASE("a case of one's own comes plain and prepared where the operator has constants") {
  const std::vector<Case> products = parse_cases("GMM:1,300,200,100");
  REQUIRE(products.size() == 2);
  CHECK(products[0].text() == "1,300,200,100");
  CHECK(products[1].text() == "1,300,200,100 prepared");
  CHECK(make_problem(products[0], 1).output == Shape{1, 300, 200});
  CHECK(parse_cases("SFM:3,5").size() == 1);
}

TEST_CASE("a case that is none says why") {
  const auto why = [](const std::string& text) -> std::string {
    try {
      parse_cases(text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(why("GMM:1,3") == "GMM(B,N,M,K) cannot be 1,3: it has 4 parameters");
  CHECK(why("GMM:1,3,0,5") == "GMM(B,N,M,K) cannot be 1,3,0,5: an extent is 0");
  CHECK(why("DEP:1,2,2,8,5,1,0") ==
        "DEP(N,H,W,C,k,s,p) cannot be 1,2,2,8,5,1,0: the kernel is larger than the image");
  CHECK(why("DEP:1,2,2,8,5,1,2") == "accepted");
  CHECK(why("GRP:1,8,8,6,8,3,1,1") ==
        "GRP(N,H,W,CI,CO,k,s,p) cannot be 1,8,8,6,8,3,1,1: the channels are not divided by 4 groups");
  CHECK(why("GMM") == "a case is written KEY:1,2,3, not \"GMM\"");
  for (const char* number : {"", "x", "-1", "1.5", "1e3", " 2", "99999999999999999999"}) {
    CHECK(why("GMV:4," + std::string(number)) ==
          "\"" + std::string(number) + "\" is no extent from 0 to 2^24");
  }
  CHECK(why("ABC:1").starts_with("there is no operator \"ABC\"; there are GMM GMV"));
}
