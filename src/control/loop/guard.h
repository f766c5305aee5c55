// Guard: the reactive half of sharing (the conclusion of Yeung et al.). The prediction co-locates
// jobs at once; the guard looks at what each really gets, learns how fast each is alone, and says
// which co-location breaks a bound and who has to leave it. Pure: time and rates are handed in.
//
// A job is judged by its own steps. Its rate alone is what it was seen to do while it had its GPUs
// to itself, else what its profile says. One that tells no steps is judged by how much of its GPU's
// SMs all jobs there keep active (silent_speed.h), where it is known how much each does alone. Else
// it is not judged (its neighbours are).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/renumbering.h"
#include "core/units.h"

namespace sharewell::control {

// A running job, as it stands now.
struct Standing {
  core::JobId job;
  std::vector<core::GpuId> gpus;
  core::Seconds started;              // this attempt
  std::optional<double> steps;        // told so far in this attempt
  std::optional<double> steps_alone;  // a second, by its profile
  core::Ratio max_slowdown = 1.25;
  // Its bound is over its whole run, as the policies plan it: so long it ran (start-up left out)
  // and would have run alone before now, and so much of its work, in seconds alone, is left.
  // Absent: judged by what it gets now.
  core::Seconds run_time = {}, alone_time = {};
  std::optional<core::Seconds> left = {};
  // Of a job on one GPU: the share of that GPU's SMs that all jobs there keep active now, and what
  // it does alone by its measured profile, from when it is known to train. Absent: not read, not
  // known.
  std::optional<core::Ratio> sm = {}, sm_alone = {};
};

struct MeasuredPair {
  core::JobId a, b;
  core::Ratio speed_a = 1, speed_b = 1;
};

struct Verdict {
  std::vector<core::JobId> leave;   // the newcomer of a co-location that breaks somebody's bound
  std::vector<MeasuredPair> pairs;  // co-locations of exactly two, watched for long enough
};

// What is known of one job's pace.
struct Pace {
  std::optional<double> steps_per_second;  // over the last window
  std::optional<double> alone;             // measured or by profile
  std::optional<core::Ratio> slowdown;     // by steps, else by SMs; absent: alone is not known
};

struct GuardOptions {
  core::Seconds settle{10};  // after anybody came or left, before anything is judged
  core::Seconds window{15};  // that is looked at
  core::Ratio margin = 1.1;  // measured slowdown above bound x margin breaks it: noise does not
};

class Guard {
 public:
  explicit Guard(const GuardOptions& options = {});
  // All that run now, by job. Call it about once a second.
  Verdict Look(core::Seconds now, std::span<const Standing> running);
  Pace PaceOf(core::JobId job) const;  // empty where it is not known
  // Jobs have new ids from now on. Who does not stay is forgotten, as if it had left.
  void Renumber(const core::Renumbering& ids);

 private:
  struct Track {
    std::vector<core::GpuId> gpus;
    core::Seconds started;
    std::vector<core::JobId> neighbours;  // who shared with it when last looked
    core::Seconds neighbours_since;
    // When steps were told, since the neighbours settled: the first is the last one that is a
    // window old. `told_at`, `told_steps` and `longest_gap` between two of them are of the whole
    // attempt.
    std::vector<std::pair<core::Seconds, double>> steps;
    std::optional<core::Seconds> told_at;
    double told_steps = 0;
    core::Seconds longest_gap;
    std::optional<double> rate;  // over a whole window
    std::optional<double> alone_measured, alone_profile;
    bool told = false;                                     // this co-location's pair was
    std::vector<std::pair<core::Seconds, double>> active;  // SMs, over the last window
    std::optional<double> sm_measured, sm_profile;         // alone
    std::optional<core::Ratio> by_sm;                      // slowdown
    bool of_several = false;                               // by_sm is the mean of it and others

    std::optional<double> alone() const { return alone_measured ? alone_measured : alone_profile; }
    std::optional<double> sm_alone() const { return sm_measured ? sm_measured : sm_profile; }
    std::optional<core::Ratio> by_steps() const;
    std::optional<core::Ratio> slowdown() const { return by_steps() ? by_steps() : by_sm; }
  };

  void Follow(core::Seconds now, const Standing& job, std::vector<core::JobId> neighbours);
  void Measure(core::Seconds now, const Standing& job, Track& track) const;
  void MeasureSm(core::Seconds now, const Standing& job,
                 std::span<const Standing* const> neighbours);
  bool Breaks(core::Seconds now, const Standing& job,
              std::span<const Standing* const> neighbours) const;

  GuardOptions options_;
  core::Seconds looked_;
  std::map<core::JobId, Track> tracks_;
};

}  // namespace sharewell::control
