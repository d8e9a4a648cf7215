#include <filesystem>
#include <fstream>

#include "lathe/target.h"

using namespace lathe;

namespace {

std::string parse_error(const std::string& text) {
  try {
    Target::parse(text);
  } catch (const TargetError& error) {
    return error.what();
  }
  return "(no error)";
}

std::string json_error(const std::string& text) {
  try {
    Target::from_json(text, "prod.target.json");
  } catch (const TargetError& error) {
    return error.what();
  }
  return "(no error)";
}

/// The JSON of zen3 with one piece of text replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string json = Target::parse("zen3").to_json();
  const std::size_t at = json.find(from);
  REQUIRE(at != std::string::npos);
  return json.replace(at, from.size(), to);
}

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

}  // namespace

TEST_CASE("an unknown name lists what there is, and the nearest") {
  const std::string text = parse_error("znever3");
  CHECK(starts_with(
      text,
      "unknown target \"znever3\" (did you mean \"znver3\"?)\n  this machine: host, cuda, cuda:N\n"
      "  CPUs: x86-64, x86-64-v2, "));
  CHECK(text.find("  GPUs: t4, a100, ") != std::string::npos);
  CHECK(text.find("[LTH-T001]") != std::string::npos);
  CHECK(starts_with(parse_error("frobnicator"), "unknown target \"frobnicator\"\n"));
  CHECK(starts_with(parse_error("cuda:x"), "unknown target \"cuda:x\""));
  CHECK(starts_with(parse_error("cuda:-1"), "unknown target \"cuda:-1\""));
}

TEST_CASE("malformed text shows the form") {
  const std::string form =
      "; the form is NAME, NAME(field=value, +feature, -feature, ...) or @FILE  [LTH-T002]";
  CHECK(parse_error("") == "target \"\": is empty" + form);
  CHECK(parse_error("  ") == "target \"  \": is empty" + form);
  CHECK(parse_error("zen3(cores=2") == "target \"zen3(cores=2\": parentheses do not match" + form);
  CHECK(parse_error("zen3)") == "target \"zen3)\": parentheses do not match" + form);
  CHECK(parse_error("(cores=2)") == "target \"(cores=2)\": parentheses do not match" + form);
  CHECK(parse_error("zen3((cores=2))") == "target \"zen3((cores=2))\": parentheses do not match" + form);
  CHECK(parse_error("zen3(cores=2,,fma)") == "target \"zen3(cores=2,,fma)\": a change is empty" + form);
}

TEST_CASE("unknown fields and features list what there is") {
  CHECK(parse_error("zen3(core=2)") ==
        "target \"zen3(core=2)\": unknown field \"core\" (did you mean \"cores\"?); there are arch, "
        "microarchitecture, "
        "features, vector_bits, vector_registers, l1_bytes, l2_bytes, l3_bytes, line_bytes, cores, contract, "
        "nnan, "
        "fast_math  [LTH-T003]");
  CHECK(starts_with(
      parse_error("zen3(-axv2)"),
      "target \"zen3(-axv2)\": unknown feature \"axv2\" (did you mean \"avx2\"?); x86_64 has amx-bf16, "));
  CHECK(parse_error("h100(+avx2)") ==
        "target \"h100(+avx2)\": a GPU has no features to add or take away  [LTH-T003]");
}

TEST_CASE("values of the wrong kind or out of range are refused") {
  CHECK(parse_error("zen3(cores=many)") ==
        "target \"zen3(cores=many)\": field \"cores\" cannot be \"many\"  [LTH-T004]");
  CHECK(parse_error("zen3(cores)") ==
        "target \"zen3(cores)\": field \"cores\" needs a value: cores=...  [LTH-T004]");
  CHECK(parse_error("zen3(cores=0)") == "target: field \"cores\" is 0, allowed are 1 to 65536  [LTH-T004]");
  CHECK(parse_error("zen3(l1_bytes=99999999999999999999)") ==
        "target \"zen3(l1_bytes=99999999999999999999)\": field \"l1_bytes\" cannot be "
        "\"99999999999999999999\"  "
        "[LTH-T004]");
  CHECK(parse_error("zen3(l1_bytes=9007199254740993G)") ==
        "target \"zen3(l1_bytes=9007199254740993G)\": field \"l1_bytes\" cannot be \"9007199254740993G\"  "
        "[LTH-T004]");
  CHECK(parse_error("zen3(l1_bytes=32Q)") ==
        "target \"zen3(l1_bytes=32Q)\": field \"l1_bytes\" cannot be \"32Q\"  [LTH-T004]");
  CHECK(parse_error("zen3(fast_math=maybe)") ==
        "target \"zen3(fast_math=maybe)\": field \"fast_math\" cannot be \"maybe\"  [LTH-T004]");
  CHECK(
      parse_error("zen3(features=avx)") ==
      "target \"zen3(features=avx)\": features are changed one by one: +NAME adds one, -NAME takes one away  "
      "[LTH-T004]");
  CHECK(parse_error("a100(f32_tflops=nan)") ==
        "target: field \"f32_tflops\" is nan, allowed are 0 to 1000000  [LTH-T004]");
}

TEST_CASE("contradictory fields are refused") {
  CHECK(parse_error("zen3(vector_bits=512)") ==
        "target: vector_bits is 512, but its features have vectors of 256 bits at most (and widths are "
        "powers of two)  "
        "[LTH-T008]");
  CHECK(parse_error("zen3(vector_bits=192)") ==
        "target: vector_bits is 192, but its features have vectors of 256 bits at most (and widths are "
        "powers of two)  "
        "[LTH-T008]");
  CHECK(parse_error("zen3(vector_registers=32)") ==
        "target: vector_registers is 32, but its features have 16  [LTH-T008]");
  CHECK(parse_error("h100(shared_per_block_optin=300K)") ==
        "target: shared_per_block_optin is 307200, more than shared_per_sm, which is 233472  [LTH-T008]");
  CHECK(json_error(edited("\"fma\",", "")) == "(no error)");
  CHECK(json_error(edited("\"sse3\",", "")) ==
        "target: feature \"ssse3\" cannot be without \"sse3\"  [LTH-T008]");
}

TEST_CASE("a target file that is not there or not JSON") {
  CHECK(parse_error("@no/such/file.json") == "target file \"no/such/file.json\" cannot be read  [LTH-T005]");
  CHECK(parse_error("@") == "target file \"\" cannot be read  [LTH-T005]");
  const std::string folder = std::filesystem::temp_directory_path().string();
  CHECK(parse_error(std::string("@").append(folder)).find("[LTH-T00") != std::string::npos);
  CHECK(json_error("") == "prod.target.json: line 1 is not JSON  [LTH-T006]");
  CHECK(json_error("{\n \"a\": 1,\n}") == "prod.target.json: line 3 is not JSON  [LTH-T006]");
  CHECK(json_error("{\"a\": 1e999}") == "prod.target.json: holds a number that is too large  [LTH-T006]");
  CHECK(json_error("[1]") == "prod.target.json: is not a JSON object  [LTH-T006]");
  CHECK(json_error(std::string(100'000, '[') + std::string(100'000, ']')) ==
        "prod.target.json: is nested too deeply  [LTH-T006]");
}

TEST_CASE("a target file of another format, incomplete, or with more in it") {
  CHECK(json_error("{}") ==
        "prod.target.json: is not a target file: it lacks \"lathe_target\": 1  [LTH-T006]");
  CHECK(json_error(edited("\"lathe_target\": 1", "\"lathe_target\": 2")) ==
        "prod.target.json: has target format 2; this Lathe reads format 1  [LTH-T006]");
  CHECK(json_error(edited("    \"cores\": 8\n", "    \"core\": 8\n")) ==
        "prod.target.json: unknown field \"cpu.core\" (did you mean \"cores\"?)  [LTH-T003]");
  CHECK(json_error(edited(",\n    \"cores\": 8\n", "\n")) ==
        "prod.target.json: field \"cpu.cores\" is missing; a target file describes its machine completely "
        "(`lathe targets "
        "show NAME` prints one to start from)  [LTH-T006]");
  CHECK(json_error(edited("\"cores\": 8", "\"cores\": \"8\"")) ==
        "prod.target.json: field \"cpu.cores\" is \"8\", expected a whole number  [LTH-T004]");
  CHECK(json_error(edited("\"cores\": 8", "\"cores\": 18446744073709551615")) ==
        "prod.target.json: field \"cpu.cores\" is 18446744073709551615, expected a whole number  [LTH-T004]");
  CHECK(json_error(edited("\"cores\": 8", "\"cores\": 1.5")) ==
        "prod.target.json: field \"cpu.cores\" is 1.5, expected a whole number  [LTH-T004]");
  CHECK(json_error(edited("\"avx2\"", "\"axv2\"")) ==
        "target: unknown feature \"axv2\" of x86_64 (did you mean \"avx2\"?)  [LTH-T003]");
  CHECK(json_error(edited("\"arch\": \"x86_64\"", "\"arch\": \"vax\"")) ==
        "target: architecture is \"vax\", known are x86_64 and aarch64  [LTH-T004]");
  CHECK(json_error(edited("\"cpu\"", "\"gpu\"")).find("unknown field \"gpu.arch\"") != std::string::npos);
  CHECK(json_error("{\"lathe_target\": 1}") ==
        "prod.target.json: must describe either a \"cpu\" or a \"gpu\"  [LTH-T006]");
}

TEST_CASE("whatever single character of a target file is broken, the answer is a target error or a target") {
  const std::string json = Target::parse("a100").to_json();
  for (std::size_t i = 0; i < json.size(); ++i) {
    for (char c : {'"', '}', '9', '\0', '\xff'}) {
      std::string broken = json;
      broken[i] = c;
      try {
        Target::from_json(broken).validate();
      } catch (const TargetError&) {
      }
    }
    if (i + 1 < json.size()) CHECK(json_error(json.substr(0, i)) != "(no error)");
  }
}
