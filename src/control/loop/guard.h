// Guard: the reactive half of sharing (the conclusion of Yeung et al.). The prediction co-locates
// jobs at once; the guard looks at what each really gets, learns how fast each is alone, and says
// which co-location breaks a bound and who has to leave it. Pure: time and rates are handed in.
//
// A job is judged by its own steps (step_pace.h: pauses do not count). Its rate alone is what it
// was seen to do while it had its GPUs to itself, else what earlier runs were; never what was
// predicted. One that never told a
// step is judged by how much of its GPU's SMs all jobs there keep active (silent_speed.h), where it
// is known how much each does alone. Else it is not judged (its neighbours are).
//
// Slow is not yet slowed by somebody: a first epoch may be slow, and a user may want to be rid of
// others. So
// - far beyond its bound one window is enough, near it two that have nothing in common must agree;
// - it counts at once where a job kept its pace earlier in this attempt and never since these
//   neighbours came, or where the GPU's SMs are nearly full; else once it lasts;
// - SM activity that says otherwise overrules steps;
// - another user's job leaves only where steps and SM activity agree and it feels the co-location
//   too. Else who is slow leaves.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "control/loop/standing.h"
#include "control/loop/step_pace.h"
#include "core/ids.h"
#include "core/job/profile.h"
#include "core/reason.h"
#include "core/renumbering.h"
#include "core/units.h"

namespace sharewell::control {

// Speeds are against all SMs, alone.
struct MeasuredPair {
  core::JobId a, b;
  core::Ratio speed_a = 1;
  std::optional<core::Ratio> speed_b;  // absent: how fast that one is alone is not known
  core::Ratio sm_share_a = 1, sm_share_b = 1;
  bool broke = false;       // a bound: they are evicted from each other
  core::Seconds over = {};  // they were watched, since they settled
};

struct Eviction {
  core::JobId job;            // who leaves
  core::reason::Evicted why;  // whose bound is broken, which may be its own
};

struct Verdict {
  std::vector<Eviction> leave;
  std::vector<Eviction> stay;       // would have to leave, but did so often enough; said once
  std::vector<MeasuredPair> pairs;  // co-locations of exactly two, watched for long enough
};

// What is known of one job's pace.
struct Pace {
  std::optional<double> steps_per_second;  // over the last window
  std::optional<double> alone;             // with all SMs; measured now or in earlier runs
  std::optional<core::SeenRate> measured;  // the same, of this run alone
  std::optional<core::Ratio> slowdown;     // by steps, else by SMs; absent: alone is not known
};

struct GuardOptions {
  core::Seconds settle{10};     // after anybody came, left or told its first step
  core::Seconds window{6};      // that is looked at
  core::Ratio margin = 1.1;     // measured slowdown above bound x margin breaks it: noise does not
  core::Ratio far = 2;          // above so many times that, one window is enough
  core::Seconds patience{180};  // slow for so long, it is slowed, whatever the reason
  core::Ratio full = 0.75;      // so many SMs active: kernels wait for each other
  int most_evictions = 2;       // of one job, in a row
};

class Guard {
 public:
  explicit Guard(const GuardOptions& options = {});
  const GuardOptions& options() const { return options_; }
  // Running jobs, by job: all residents of each GPU that is looked at. What is known of jobs that
  // are not given stays as it is. About once a second, or when there is something new to find.
  Verdict Look(core::Seconds now, std::span<const Standing> running);
  Pace PaceOf(core::JobId job) const;  // empty where it is not known
  // Since when it is slower than its bound without a break, as last looked at; absent: it is not.
  std::optional<core::Seconds> SlowSince(core::JobId job) const;
  // These run, and nobody else: who left is forgotten. By job.
  void KeepOnly(std::span<const Standing> running);
  void Forget(core::JobId job);  // it left
  // Jobs have new ids from now on. Who does not stay is forgotten, as if it had left.
  void Renumber(const core::Renumbering& ids);

 private:
  using Readings = std::vector<std::pair<core::Seconds, double>>;

  // Slowdowns over the newest window and the one before it.
  struct Slowdowns {
    std::optional<core::Ratio> newest, before;
  };

  struct Track {
    std::vector<core::GpuId> gpus;
    core::Seconds started;
    std::vector<core::JobId> neighbours;  // who shared with it when last looked
    core::Seconds since;                  // they are there, and train as far as they tell
    std::optional<double> told;           // steps, in this attempt
    bool news = false;                    // told some since the last look
    core::Seconds news_at;                // when it last did
    StepPace pace;                        // since the neighbours settled
    Readings active;                      // SMs, likewise
    // Alone, with all SMs.
    std::optional<core::SeenRate> alone_measured;
    std::optional<double> alone_profile, sm_measured, sm_profile;
    bool kept_pace = false;                   // in this attempt
    bool kept_beside = false;                 // since these neighbours settled
    std::optional<core::Seconds> slow_since;  // without a break
    bool pair_told = false, stay_told = false;
    // As last looked at.
    Slowdowns steps, silent;
    bool of_several = false;           // `silent` is the mean of it and others
    std::optional<core::Ratio> sm;     // active, over the newest window
    std::optional<core::Ratio> by_sm;  // of one that tells steps: what SM activity says of it

    std::optional<double> alone() const {
      return alone_measured ? std::optional(alone_measured->steps_per_second) : alone_profile;
    }
    std::optional<double> sm_alone() const { return sm_measured ? sm_measured : sm_profile; }
    const Slowdowns& slow() const { return told ? steps : silent; }
    core::Ratio speed() const;             // 1 where it is not known
    bool Pauses(core::Seconds now) const;  // it has told nothing for longer than usual
    void Forget();                         // what was seen beside these neighbours
  };
  using Neighbours = std::vector<const Standing*>;

  void Follow(core::Seconds now, const Standing& job, const Neighbours& neighbours);
  void Measure(core::Seconds now, const Standing& job, Track& track) const;
  void MeasureSm(core::Seconds now, const Standing& job, const Neighbours& neighbours);
  void Remember(core::Seconds now, const Standing& job, Track& track) const;
  // guard_verdict.cc
  // Of its slowdown what neighbours do: not what it asked for itself.
  static core::Ratio ByNeighbours(const Standing& job, core::Ratio slowdown);
  bool Slow(const Standing& job, const Track& track) const;
  bool Keeps(const Standing& job, const Track& track) const;  // its pace, in both windows
  bool Slowed(core::Seconds now, const Standing& job, const Track& track) const;
  bool Breaks(core::Seconds now, const Standing& job, const Neighbours& neighbours) const;
  double CostOf(const Standing& one, const Neighbours& all) const;
  // Null: nobody may be made to.
  const Standing* WhoLeaves(const Standing& slowed, const Neighbours& neighbours) const;
  bool MayEvict(const Standing& slowed, const Standing& other) const;
  void AddPair(core::Seconds now, const Standing& job, const Standing& other, bool breaks,
               Verdict& verdict);

  GuardOptions options_;
  core::Seconds looked_;
  std::map<core::JobId, Track> tracks_;
};

}  // namespace sharewell::control
