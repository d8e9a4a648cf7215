#pragma once
// The design space of a program on a target: what the search mutates are the decisions of schedule templates.
//
//     column      0         1        2        3          4         a column a decision, shared by the templates that
//     template    0..2      C.j_1    C.i_1    C.k_1      D.at      have one of its name; where a template has none,
//     point     [ 1         3        0        2          0 ]       the column has one option
//
// Two filters. Decisions alone tell whether the requirements hold, how many accumulators a body needs and how far it is
// unrolled (some 100,000 points a second): loops that the trace did not make itself take the extent of the loop that they
// followed in every sample. What passes is replayed and read off the block form, checked again with its real extents, and
// described for the model; the result is kept, so that describing what was filtered costs nothing. Nothing is lowered.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "lathe/target.h"
#include "tuner/features/cpu_draft.h"
#include "tuner/search/decision_space.h"
#include "tuner/search/schedule_template.h"

namespace lathe::tuner {

/// What a body may need before it is refused unbuilt.
struct ScheduleLimits {
  double body_operations =
      1024;  ///< vector operations between two turns of a loop; compilers slow down beyond it
  double local_bytes = 64 << 10;  ///< that a body touches of one local buffer
  double temporary_bytes = 4e9;   ///< of all intermediates
};

struct ScheduleSpaceOptions {
  std::vector<Rule> rules;                ///< at least one
  std::map<std::string, Decided> pinned;  ///< by a decision's name
  ScheduleLimits limits;
  int discovery_runs = 256;  ///< of the rules, to find the templates
  std::uint64_t seed = 1;
};

/// How many points each filter has refused, and how many it let through.
struct SpaceCounts {
  std::int64_t require = 0, registers = 0, unrolled = 0, replay = 0, memory = 0, kept = 0;
  std::map<std::string, std::int64_t> by_name() const;
};

class ScheduleSpace final : public DecisionSpace {
 public:
  /// Runs the rules to find the templates. Throws UserError U022 when a pinned decision is not one of the space or has not
  /// this option, U023 when no rule schedules the program.
  ScheduleSpace(Program program, Target target, ScheduleSpaceOptions options);
  ~ScheduleSpace() override;

  const std::vector<Decision>& decisions() const override { return decisions_; }
  std::int32_t options(std::size_t d, PointView earlier) const override;
  void filter(const PointSet& points, std::span<std::uint8_t> keep) const override;
  std::size_t feature_width() const override;
  void features(const PointSet& points, FeatureTable& table) const override;
  std::size_t embedding_width() const override { return embedding_width_; }
  void embed(const PointSet& points, std::span<float> rows) const override;
  bool draft(const PointSet& points, std::span<float> score) const override;
  std::int32_t mutate(std::size_t d, PointView point, Random& random) const override;

  /// The first filter alone: no replay.
  bool plausible(PointView point) const;

  /// The point's trace, and its schedule. Throws ScheduleError where the replay refuses it.
  Trace trace(PointView point) const;
  Schedule schedule(PointView point) const;
  /// Hash of the scheduled program; nothing where a filter refuses the point. Points of one hash are the same candidate.
  std::optional<StructuralHash> scheduled_hash(PointView point) const;

  /// Drops what is kept of points that were filtered or described: some kilobytes each.
  void forget() const { known_.clear(); }

  /// What the rules give without choosing.
  Point first_point() const;
  /// The point that a trace of this space was made from; nothing for a trace of another form. With `nearest`, values that
  /// are no option here (records of a similar workload) become the nearest ones.
  std::optional<Point> point_of(const Trace& trace, bool nearest) const;

  /// Number of points before filters, as a double since it may be huge; of decisions that depend on others an estimate.
  double size() const;
  const SpaceCounts& counts() const { return counts_; }
  const std::vector<ScheduleTemplate>& templates() const { return templates_; }
  /// "C.j_1 = 16, C.i_1 = 6", for people.
  std::string describe(PointView point) const;

 private:
  struct Column;
  struct Outline;
  /// What a replay told about a point.
  struct Described {
    bool valid = false;
    StructuralHash hash{};
    float speed = 0;  ///< 1 / megacycle of the draft
    FeatureTable features;
  };

  void make_columns();
  void pin(const std::map<std::string, Decided>& pinned);
  void outline(std::size_t t, std::uint64_t seed);
  std::vector<Decided> decided(PointView point) const;
  const Described& described(PointView point) const;
  Described replay(PointView point) const;
  bool within(const ScheduleTemplate& made, const Outline& outline,
              const std::vector<Decided>& decisions) const;
  bool within(const ProgramView& program) const;

  Program program_;
  Target target_;
  ScheduleLimits limits_;
  CpuModel cpu_;
  std::vector<ScheduleTemplate> templates_;
  std::vector<Decision> decisions_;
  std::vector<Column> columns_;
  std::vector<Outline> outlines_;  ///< one a template
  std::size_t embedding_width_ = 0;
  mutable SpaceCounts counts_;
  mutable std::unordered_map<std::uint64_t, Described> known_;
};

}  // namespace lathe::tuner
