#include "records/json_text.h"

#include <nlohmann/json.hpp>
#include <random>

using namespace lathe::records;

namespace {

std::string random_json(std::mt19937& random, int depth) {
  auto pick = [&](std::initializer_list<const char*> of) {
    return std::string(*(of.begin() + random() % of.size()));
  };
  std::string space = random() % 4 == 0 ? pick({" ", "\n", "\t"}) : "";
  switch (random() % (depth > 4 ? 3 : 6)) {
    case 0:
      return space + pick({"0", "-0", "7", "-12", "123456789012345678", "12345678901234567890", "1.50", "1e3",
                           "-0.0", "1E-2", "18446744073709551615"});
    case 1: return pick({"true", "false", "null"}) + space;
    case 2: return pick({R"("")", R"("a b")", R"("\u00e4\n")", "\"\xc3\xa4\"", R"("\/")", "\"\x7f\""});
    case 3:
    case 4: {
      std::string text = "[";
      for (unsigned i = random() % 4; i > 0; --i)
        text += random_json(random, depth + 1) + (i > 1 ? "," + space : "");
      return text + "]";
    }
    default: {
      std::string text = "{";
      for (unsigned i = random() % 4; i > 0; --i)
        text += pick({"\"a\"", "\"b\"", "\"c\""}) + space + ":" + random_json(random, depth + 1) +
                (i > 1 ? "," : "");
      return text + space + "}";
    }
  }
}

}  // namespace

TEST_CASE(
    "canonical JSON is the compact form that a full reading and writing makes, and its own canonical form") {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random_json(random, 0);
    std::string expected = nlohmann::ordered_json::parse(text).dump();
    CAPTURE(text);
    if (canonical_json(text) != expected) FAIL(canonical_json(text));
    if (canonical_json(expected) != expected) FAIL(expected);
  }
}

TEST_CASE("what is not JSON is refused, whatever its form") {
  std::mt19937 random(2);
  const std::string alphabet = "[]{},:\"\\ 01-.eatrufnls\x01\xc3";
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (unsigned n = random() % 8; n > 0; --n) text += alphabet[random() % alphabet.size()];
    CAPTURE(text);
    bool accepted = true;
    try {
      (void)canonical_json(text);
    } catch (const JsonError&) {
      accepted = false;
    }
    if (accepted != nlohmann::json::accept(text)) FAIL("accepted: " << accepted);
  }
}

TEST_CASE("a nesting beyond the limit is refused before it is followed") {
  CHECK_NOTHROW(canonical_json(std::string(4000, '[') + std::string(4000, ']')));
  CHECK_THROWS_AS(canonical_json(std::string(4001, '[') + std::string(4001, ']')), JsonError);
  CHECK_THROWS_AS(canonical_json(std::string(1'000'000, '[')), JsonError);
}

TEST_CASE("clean text is valid UTF-8, cut between characters") {
  CHECK(clean_text("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(clean_text("\xff\xc3") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(clean_text("\xc0\x80") == "\xef\xbf\xbd\xef\xbf\xbd");          // overlong
  CHECK(clean_text("\xed\xa0\x80").find("\xed") == std::string::npos);  // a surrogate
  CHECK(clean_text("\xf0\x9f\x98\x80") == "\xf0\x9f\x98\x80");
  CHECK(clean_text("ab\xc3\xa9", 3) == "ab");
  CHECK(clean_text("ab\xc3\xa9", 4) == "ab\xc3\xa9");
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes, json;
    for (unsigned n = random() % 12; n > 0; --n) bytes += static_cast<char>(random());
    JsonObject::append_text(json, clean_text(bytes));
    if (!nlohmann::json::accept(json)) FAIL(json);
    if (nlohmann::json::parse(json).get<std::string>() != clean_text(bytes)) FAIL(json);
  }
}

TEST_CASE("numbers are written so that they read back exactly") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    std::string text;
    JsonObject::append_real(text, value);
    if (nlohmann::json::parse(text).get<double>() != value) FAIL(text);
  }
}
