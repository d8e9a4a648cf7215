// Mutated program JSON: it is refused with a UserError, or it is a well-formed program that prints, hashes and
// comes back from JSON as itself. Nothing else may happen.

#include <nlohmann/json.hpp>
#include <random>

#include "lathe/te.h"

using namespace lathe;
using Json = nlohmann::json;

namespace {

std::vector<Program> seeds() {
  Var n = size("n");
  Tensor x = placeholder("x", {n, 5}, f32), w = placeholder("w", {5, 3}, i8, Constant);
  Axis r = reduce_axis(5, "r");
  Tensor padded = pad(x, {1, 2}, {0, 1}, 0.f);
  Tensor y = compute("y", {n, 3},
                     [&](Var i, Var j) { return sum(padded(i, r) * cast(f32, w(r, j)), {r}, where(r < i)); });
  auto best = compute("best", {n}, [&](Var i) { return argmax(x(i, r), {r}); });
  Tensor out = compute("out", {n, 3}, [&](Var i, Var j) {
    return select(y(i, j) < 0, exp(y(i, j)), pow(y(i, j), 2)) + cast(f32, best[1](i)) / 3.f;
  });
  Buffer flat("flat", f32, {64}), tmp("tmp", f32, {8}, Scope::Local);
  Var t("t"), v("v", f32);
  Expr lanes = ramp(t * 4, 1, 4);
  Stmt store = make_stmt<Store>(flat, broadcast(v, 4), std::vector<Expr>{lanes}, broadcast(t < 3, 4), true);
  Stmt body = make_stmt<Let>(v, load(tmp, {t}), make_stmt<If>(t < 7, store));
  Stmt loop = make_stmt<For>(t, 8, ForKind::ThreadBound, body, ThreadAxis::ThreadX,
                             Annotations{{"a", std::string("b")}});
  Program lowered("lowered", {{ParamRole::Output, flat, {}}}, {}, make_stmt<Allocate>(tmp, loop));
  return {program("p", {n, x, w}, {out, best[0]}), lowered};
}

/// Every element of a document.
void elements(Json& j, std::vector<Json*>& all) {
  all.push_back(&j);
  if (j.is_structured()) {
    for (Json& child : j) elements(child, all);
  }
}

Json replacement(std::mt19937& random, const Json& anywhere) {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           false,
                                           0,
                                           1,
                                           -1,
                                           2,
                                           7,
                                           1000000,
                                           INT64_MIN,
                                           INT64_MAX,
                                           UINT64_MAX,
                                           0.5,
                                           -1e300,
                                           "",
                                           "var",
                                           "f32",
                                           "i64",
                                           "index",
                                           "f32x4",
                                           "bool",
                                           "nan",
                                           "-inf",
                                           "+",
                                           "&&",
                                           "floordiv",
                                           "load",
                                           "reduce",
                                           "parallel",
                                           "exp",
                                           "extern",
                                           Json::array(),
                                           Json::object(),
                                           Json::array({"var", 0}),
                                           Json::array({"f32", 1.0}),
                                           Json::array({"!", true}),
                                           Json::array({"cast", "f32", 1}),
                                           Json::array({"ramp", 0, 1, 4})};
  const std::size_t i = random() % (values.size() + 6);
  return i < values.size() ? values[i] : anywhere;
}

void mutate(Json& document, std::mt19937& random) {
  std::vector<Json*> all;
  elements(document, all);
  Json& target = *all[random() % all.size()];
  const Json anywhere = *all[random() % all.size()];
  switch (random() % 5) {
    case 0:
      if (target.is_array() && !target.empty()) target.erase(random() % target.size());
      return;
    case 1:
      if (target.is_object() && !target.empty())
        target.erase(std::next(target.begin(), random() % target.size()));
      return;
    case 2:
      if (target.is_array()) target.push_back(replacement(random, anywhere));
      return;
    case 3:
      if (target.is_number_integer())
        target = target.get<std::int64_t>() + static_cast<int>(random() % 5) - 2;
      return;
    default: target = replacement(random, anywhere);
  }
}

/// Was it read? Checks what holds for every program that was.
bool survives(const std::string& text, const Program& original) {
  Program p;
  try {
    p = program_from_json(text);
  } catch (const UserError& e) {
    REQUIRE(std::string(e.what()).size() > 10);
    return false;
  }
  REQUIRE(well_formed(p).empty());
  REQUIRE(!to_string(p).empty());
  const Program again = program_from_json(to_json(p));
  REQUIRE(structural_equal(p, again));
  REQUIRE(structural_hash(p) == structural_hash(again));
  REQUIRE(structural_equal(p, original) == (structural_hash(p) == structural_hash(original)));
  return true;
}

}  // namespace

TEST_CASE("mutated documents are refused, or are programs") {
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  int read = 0, different = 0;
  for (const Program& original : seeds()) {
    const Json document = Json::parse(to_json(original));
    REQUIRE(survives(document.dump(), original));
    for (int round = 0; round < 4000; ++round) {
      Json changed = document;
      for (unsigned i = 0; i <= random() % 3; ++i) mutate(changed, random);
      const std::string text = changed.dump();
      INFO("seed " << seed << " round " << round << "\n" << text);
      if (!survives(text, original)) continue;
      ++read;
      different += !structural_equal(program_from_json(text), original);
    }
  }
  // Both kinds must occur, or nothing was tested.
  CHECK(read > 100);
  CHECK(different > 50);
}

TEST_CASE("text cut or changed by a byte is refused, or is a program") {
  std::mt19937 random(7);
  for (const Program& original : seeds()) {
    const std::string text = to_json(original);
    for (int round = 0; round < 1500; ++round) {
      std::string changed = text;
      if (round % 3 == 0) changed.resize(random() % changed.size());
      if (round % 3 != 0) changed[random() % changed.size()] = static_cast<char>(random() % 256);
      survives(changed, original);
    }
  }
}
