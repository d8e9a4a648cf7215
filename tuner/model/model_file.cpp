#include "tuner/model/model_file.h"

#include <cstring>
#include <fstream>
#include <system_error>

#include "lathe/error.h"
#include "support/error_codes/tuner.h"

namespace lathe::tuner {
namespace {

constexpr char Magic[8] = {'L', 'A', 'T', 'H', 'E', 'M', 'D', 'L'};
constexpr std::size_t HeaderSize = 32, ChecksumSize = 8;

// FNV-1a: it guards against truncation and rot, not against malice; the readers bound-check everything
// besides.
std::uint64_t checksum(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;
  return hash;
}

std::uint64_t word_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= static_cast<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return value;
}

[[noreturn]] void refuse(Code code, const std::filesystem::path& path, const std::string& why) {
  throw UserError(code, "model file \"" + path.string() + "\": " + why);
}

}  // namespace

void ByteWriter::put(std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void ByteWriter::word(std::uint64_t value) { put(value, 8); }

void ByteWriter::floats(std::span<const float> values) {
  word(values.size());
  for (float v : values) put(std::bit_cast<std::uint32_t>(v), 4);
}

void ByteWriter::doubles(std::span<const double> values) {
  word(values.size());
  for (double v : values) put(std::bit_cast<std::uint64_t>(v), 8);
}

void ByteWriter::integers(std::span<const std::int32_t> values) {
  word(values.size());
  for (std::int32_t v : values) put(static_cast<std::uint32_t>(v), 4);
}

void ByteReader::require(bool condition) const {
  if (!condition) refuse(code::U004, file_, "its contents contradict each other; make it again");
}

std::uint64_t ByteReader::get(int count) {
  require(bytes_.size() - next_ >= static_cast<std::size_t>(count));
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) value |= static_cast<std::uint64_t>(bytes_[next_++]) << (8 * i);
  return value;
}

std::uint64_t ByteReader::word() { return get(8); }

std::uint64_t ByteReader::count_of(std::size_t size) {
  const std::uint64_t count = word();
  require(count <= (bytes_.size() - next_) / size);
  return count;
}

std::vector<float> ByteReader::floats() {
  std::vector<float> values(count_of(4));
  for (float& v : values) v = std::bit_cast<float>(static_cast<std::uint32_t>(get(4)));
  return values;
}

std::vector<double> ByteReader::doubles() {
  std::vector<double> values(count_of(8));
  for (double& v : values) v = std::bit_cast<double>(get(8));
  return values;
}

std::vector<std::int32_t> ByteReader::integers() {
  std::vector<std::int32_t> values(count_of(4));
  for (std::int32_t& v : values) v = static_cast<std::int32_t>(get(4));
  return values;
}

void write_model_file(const std::filesystem::path& path, std::uint64_t feature_set,
                      const ByteWriter& payload) {
  ByteWriter header;
  header.word(ModelFormatVersion);
  header.word(feature_set);
  header.word(payload.bytes().size());
  std::vector<std::uint8_t> file(Magic, Magic + sizeof Magic);
  file.insert(file.end(), header.bytes().begin(), header.bytes().end());
  file.insert(file.end(), payload.bytes().begin(), payload.bytes().end());
  ByteWriter tail;
  tail.word(checksum(file));
  file.insert(file.end(), tail.bytes().begin(), tail.bytes().end());

  const std::filesystem::path beside = path.string() + ".tmp";
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(beside, path, error);
  if (!out || error) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    refuse(code::U001, path, "cannot be written" + (error ? ": " + error.message() : std::string()));
  }
}

std::vector<std::uint8_t> read_model_file(const std::filesystem::path& path, std::uint64_t feature_set) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) refuse(code::U001, path, "is a folder");
  std::ifstream in(path, std::ios::binary);
  std::vector<std::uint8_t> file;
  if (in) file.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (!in || in.bad()) refuse(code::U001, path, "cannot be read");
  return read_model_bytes(file, path.string(), feature_set);
}

std::vector<std::uint8_t> read_model_bytes(std::span<const std::uint8_t> file, const std::string& path,
                                           std::uint64_t feature_set) {
  if (file.size() < HeaderSize + ChecksumSize || std::memcmp(file.data(), Magic, sizeof Magic) != 0) {
    const bool cut = file.size() >= sizeof Magic && std::memcmp(file.data(), Magic, sizeof Magic) == 0;
    refuse(cut ? code::U004 : code::U002, path,
           cut ? "cut off after " + std::to_string(file.size()) + " bytes" : "is no model file of Lathe");
  }
  const std::uint64_t version = word_at(file, 8), features = word_at(file, 16), size = word_at(file, 24);
  if (version != ModelFormatVersion) {
    refuse(code::U002, path,
           "format version " + std::to_string(version) + ", this build reads version " +
               std::to_string(ModelFormatVersion) + "; train it again with `lathe model train`");
  }
  if (size != file.size() - HeaderSize - ChecksumSize) {
    refuse(code::U004, path,
           "promises " + std::to_string(size) + " bytes of contents and has " +
               std::to_string(file.size() - HeaderSize - ChecksumSize));
  }
  if (word_at(file, HeaderSize + size) != checksum(file.first(HeaderSize + size))) {
    refuse(code::U004, path, "its checksum is wrong: some of its bytes were changed");
  }
  if (features != feature_set) {
    refuse(code::U003, path,
           "made for feature set " + std::to_string(features) + ", this build computes feature set " +
               std::to_string(feature_set) + "; train it again with `lathe model train`");
  }
  return {file.begin() + HeaderSize, file.end() - ChecksumSize};
}

}  // namespace lathe::tuner
