#pragma once
// Model files.
//
// A model is only as good as the agreement on what its inputs mean, so a file says what it is and is refused
// when anything differs; there is no fallback to random weights, and none to "probably the same features".
//
//   offset  bytes
//        0      8   magic "LATHEMDL"
//        8      8   format version (ModelFormatVersion)
//       16      8   feature-set version, given by who computes the features
//       24      8   size of the payload
//       32      n   payload
//     32+n      8   checksum of all before
//
// Numbers are little-endian; a float is its IEEE bits. The same model gives the same bytes.

#include <bit>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lathe::tuner {

inline constexpr std::uint64_t ModelFormatVersion = 1;

/// Appends numbers to a payload.
class ByteWriter {
 public:
  void word(std::uint64_t value);
  void real(float value) { word(std::bit_cast<std::uint32_t>(value)); }
  void floats(std::span<const float> values);
  void doubles(std::span<const double> values);
  void integers(std::span<const std::int32_t> values);
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  void put(std::uint64_t value, int count);
  std::vector<std::uint8_t> bytes_;
};

/// Reads them back. What does not fit (a length beyond the end, a broken promise) throws UserError U004, and
/// never allocates more than the payload's size allows.
class ByteReader {
 public:
  ByteReader(std::span<const std::uint8_t> bytes, std::string file) : bytes_(bytes), file_(std::move(file)) {}
  std::uint64_t word();
  float real() { return std::bit_cast<float>(static_cast<std::uint32_t>(word())); }
  std::vector<float> floats();
  std::vector<double> doubles();
  std::vector<std::int32_t> integers();
  bool at_end() const { return next_ == bytes_.size(); }
  /// Throws U004 unless `condition`: the payload contradicts itself.
  void require(bool condition) const;

 private:
  std::uint64_t get(int count);
  std::uint64_t count_of(std::size_t size);
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
  std::string file_;
};

/// Writes a model file, through a temporary file beside it, so that a reader never sees half of one.
/// Throws UserError U001 when the file cannot be written.
void write_model_file(const std::filesystem::path& path, std::uint64_t feature_set,
                      const ByteWriter& payload);

/// Reads a model file's payload. Throws UserError: U001 cannot be read · U002 no model file, or of another
/// format version · U003 made for another feature set than `feature_set` · U004 damaged.
std::vector<std::uint8_t> read_model_file(const std::filesystem::path& path, std::uint64_t feature_set);

/// The same of a file's bytes, for one that is part of the program; `name` stands for it in errors.
std::vector<std::uint8_t> read_model_bytes(std::span<const std::uint8_t> file, const std::string& name,
                                           std::uint64_t feature_set);

}  // namespace lathe::tuner
