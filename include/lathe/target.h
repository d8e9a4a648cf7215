#pragma once
// What a kernel is built for.
//
// A Target is data: the features and caches of a CPU, or the limits of a GPU. Everything that depends on the
// machine reads it from here, so a build for another machine is a build with another Target. One that was
// read from a file, or picked by name, never looks at the machine it is used on.
//
//   Target::parse("host")                        this machine's CPU
//   Target::parse("zen3")                        a known CPU; also "x86-64-v3", "skylake-avx512",
//   "neoverse-v1", ... Target::parse("zen3(cores=4, -fma)")         with fields changed and features added or
//   taken away Target::parse("h100")                        a known GPU; also "a100", "sm_80", "rtx4090", ...
//   Target::parse("cuda:1")                      the second GPU of this machine
//   Target::parse("@prod.target.json")           from a file that to_json() wrote
//
// Identity
// --------
// Records are kept by the target's fingerprint. It covers what decides whether a schedule that was tuned here
// is worth anything there: microarchitecture, features and cache sizes of a CPU, model and limits of a GPU,
// and the options that change what code may compute. It leaves out the name, the number of cores that happen
// to be online, clocks and rates: those may differ between two machines that should share records.
// `difference` says what sets two targets apart.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lathe/digest.h"
#include "lathe/error.h"

namespace lathe {

/// A CPU. Sizes in bytes; a cache that is not there has size 0.
struct CpuTarget {
  std::string arch = "x86_64";               ///< "x86_64" or "aarch64"
  std::string microarchitecture = "x86-64";  ///< in LLVM's spelling: "znver3", "skylake-avx512", "x86-64-v3"
  std::vector<std::string> features;  ///< in LLVM's spelling, sorted: "avx2", "fma", ...; see cpu_features()
  std::int64_t vector_bits = 128;     ///< of one vector register
  std::int64_t vector_registers = 16;
  std::int64_t l1_bytes = 32 << 10;   ///< data cache of one core
  std::int64_t l2_bytes = 256 << 10;  ///< of one core (or what a core shares with few others)
  std::int64_t l3_bytes = 0;          ///< one instance of the last level
  std::int64_t line_bytes = 64;
  std::int64_t cores = 1;  ///< threads that a parallel loop may use

  bool has(std::string_view feature) const;
  bool fma() const;                                                  ///< fused multiply-add of f32 and f64
  bool converts_f16() const;                                         ///< f16 <-> f32 in one instruction
  bool computes_f16() const;                                         ///< arithmetic on f16 vectors
  bool computes_bf16() const;                                        ///< dot products of bf16 pairs into f32
  std::int64_t lanes(int bits) const { return vector_bits / bits; }  ///< elements of a native vector
  /// The last cache level: L3, or L2 where there is none.
  std::int64_t last_level_bytes() const { return l3_bytes > 0 ? l3_bytes : l2_bytes; }

  /// "x86_64-unknown-linux-gnu".
  std::string triple() const;
  /// Every feature Lathe knows for this architecture, "+avx2,-avx512f,...": LLVM's own list for a
  /// microarchitecture has features that a virtual machine or an option may have taken away.
  std::string llvm_features() const;
};

/// A CUDA device. "Block" and "SM" as in CUDA. Rates are those of dense arithmetic, as published; 0 where
/// there is none.
struct GpuTarget {
  std::string model;                    ///< "h100-sxm", or what the driver calls a device unknown to Lathe
  std::int64_t compute_capability = 0;  ///< 10 * major + minor: 80, 90
  std::int64_t multiprocessors = 0;
  std::int64_t warp_size = 32;
  std::int64_t max_threads_per_block = 1024;
  std::int64_t max_threads_per_sm = 0;
  std::int64_t max_blocks_per_sm = 0;
  std::int64_t registers_per_sm = 65536;  ///< 32-bit registers
  std::int64_t max_registers_per_thread = 255;
  std::int64_t shared_per_block = 48 << 10;  ///< bytes of shared memory a block may have without opting in
  std::int64_t shared_per_block_optin = 0;   ///< bytes with opting in
  std::int64_t shared_per_sm = 0;
  std::int64_t shared_reserved_per_block = 0;  ///< bytes the system takes for each block
  std::int64_t l2_bytes = 0;
  std::int64_t dram_bytes = 0;
  double dram_gb_per_s = 0;
  double clock_ghz = 0;                    ///< boost
  double f32_tflops = 0, tf32_tflops = 0;  ///< tf32 and below: tensor cores, f32 accumulation
  double f16_tflops = 0, bf16_tflops = 0, i8_tops = 0;

  bool has_tensor_cores() const { return compute_capability >= 70; }
  bool has_async_copy() const { return compute_capability >= 80; }
  bool computes_bf16() const { return compute_capability >= 80; }
  /// "sm_80".
  std::string architecture() const { return "sm_" + std::to_string(compute_capability); }
};

/// What generated code may do beyond the exact meaning of the program. All of it enters the fingerprint.
struct TargetOptions {
  bool contract = true;    ///< form fused multiply-adds
  bool nnan = false;       ///< assume that no NaN occurs: max and min in one instruction
  bool fast_math = false;  ///< reassociate, use approximate division; implies nnan

  friend bool operator==(const TargetOptions&, const TargetOptions&) = default;
};

/// A field in which two targets differ.
struct TargetDifference {
  std::string field;  ///< "cpu.l3_bytes"
  std::string left;   ///< for a list, what only the left one has
  std::string right;
  bool identifies;  ///< whether it makes the fingerprints differ
};

struct Target {
  std::string name;  ///< for people
  std::variant<CpuTarget, GpuTarget> device = CpuTarget{};
  TargetOptions options;

  bool is_cpu() const { return std::holds_alternative<CpuTarget>(device); }
  bool is_gpu() const { return std::holds_alternative<GpuTarget>(device); }
  const CpuTarget& cpu() const { return std::get<CpuTarget>(device); }
  const GpuTarget& gpu() const { return std::get<GpuTarget>(device); }

  /// This machine's CPU, from cpuid and the kernel's tables.
  static Target host();
  /// GPU number `index` of this machine. Throws TargetError (T007) without a driver or device.
  static Target cuda(int index = 0);

  /// Reads the forms listed at the top. Throws TargetError: T001 unknown name, T002 malformed, T003 unknown
  /// field or feature, T004 bad value, T005 and T006 target files, T007 no such device, T008 fields that
  /// contradict each other.
  static Target parse(std::string_view text);

  /// Inverse of to_json(); `origin` names the text in errors. Unknown, missing and contradictory fields are
  /// errors: a target file describes its machine completely.
  static Target from_json(std::string_view json, std::string_view origin = "target");
  /// All fields in a fixed order, two spaces of indentation; equal targets give equal bytes.
  std::string to_json() const;

  /// Digest of `identity()`.
  Digest fingerprint() const;
  /// The fields that the fingerprint is made of, as one line of JSON.
  std::string identity() const;

  /// One line: "zen3: znver3 (x86_64), 8 cores, avx2 + fma, 16 vector registers of 256 bits, caches 32 KiB /
  /// ...".
  std::string describe() const;

  /// Throws TargetError (T004, T008) when a field is out of range or contradicts another.
  void validate() const;
};

/// Equal in every field, name included.
bool operator==(const Target& a, const Target& b);

/// Field by field what differs, the identifying ones first. Empty when a and b differ at most in name.
std::vector<TargetDifference> difference(const Target& a, const Target& b);

/// `difference` as text, one field a line.
std::string to_text(const std::vector<TargetDifference>& differences);

/// A name that Target::parse takes.
struct KnownTarget {
  std::string name;
  std::vector<std::string> aliases;
  std::string about;
};

/// The named CPUs, then the named GPUs.
const std::vector<KnownTarget>& known_targets();

/// The features that may stand in CpuTarget::features for `arch`: those that change the vector code of a
/// kernel. Others (cryptography, virtualisation, ...) stay out: a hypervisor that hides one must not make
/// records miss.
const std::vector<std::string>& cpu_features(std::string_view arch);

}  // namespace lathe
