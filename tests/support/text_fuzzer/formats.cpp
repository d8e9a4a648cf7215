#include "support/text_fuzzer/formats.h"

#include "lathe/error.h"

namespace lathe::fuzz {
namespace {

/// As a document, one or three elements are damaged; the text that comes of it is still JSON.
std::string damaged_document(const std::string& text, Random& random) {
  nlohmann::json document = nlohmann::json::parse(text);
  for (std::size_t times = 1 + random.below(3); times > 0; --times) damage(document, odd_values(), random);
  return document.dump();
}

std::string damaged_line(const std::string& text, Random& random) {
  std::vector<std::string> lines;
  for (std::size_t from = 0, end; (end = text.find('\n', from)) != std::string::npos; from = end + 1)
    lines.push_back(text.substr(from, end - from));
  const std::size_t at = random.below(lines.size());
  switch (random.below(8)) {
    case 0: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 1: std::swap(lines[at], lines[random.below(lines.size())]); break;
    case 2: lines.push_back(lines[at]); break;
    default: lines[at] = damaged_document(lines[at], random);
  }
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

std::vector<Format> formats() {
  std::vector<Format> all = language_formats();
  for (std::vector<Format> more : {store_formats(), file_formats()})
    for (Format& f : more) all.push_back(std::move(f));
  return all;
}

std::string input_of(const Format& format, std::uint64_t seed, std::size_t& sample) {
  Random random(Random::mix(seed) ^ Random::hash(format.name));
  sample = random.below(format.samples.size());
  const std::string& text = format.samples[sample];
  if (!format.json || random.chance(40)) return damaged(text, format.words, random);
  return format.lines ? damaged_line(text, random) : damaged_document(text, random);
}

Outcome try_text(const Format& format, const std::string& text, std::size_t sample) {
  try {
    format.read(text, sample);
    return {true, {}};
  } catch (const UserError& e) {
    const std::string what = e.what();
    const bool rendered = what.size() > 20 && what.find(describe(e.code()).id) != std::string::npos;
    return {false, rendered ? std::string() : "an error without a text: " + what};
  } catch (const Violation& e) {
    return {true, std::string("accepted, but ") + e.what()};
  } catch (const std::exception& e) {
    return {false, std::string("neither accepted nor refused: ") + e.what()};
  }
}

}  // namespace lathe::fuzz
