// JobTrack: what was read of one running job, in bounded memory, and what it needed by that. Pure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/job/profile.h"
#include "core/metric.h"

namespace sharewell::server {

// One figure over a job's life: when there are many values, two become one.
class KeptFigure {
 public:
  void Append(double value);
  // The job has taken a step since the last call. From the first one on only what came before a
  // step counts: neither a start (imports, a search for algorithms) nor an end (loader processes
  // that are waited for) is what training needs.
  void Step();
  // The mean without what comes before it is steady, and without its last, in which the job may
  // have been ending. Absent: too few to tell.
  std::optional<double> Steady() const;

 private:
  void Keep(double value);

  std::vector<double> values_;
  double sum_ = 0, count_ = 0, each_ = 1;
  std::optional<std::vector<double>> since_step_;  // absent: no step was counted
};

// The most of GPU memory that a job held once it trained. While cuDNN searches for algorithms, in
// the first steps, it takes what is free and gives it back: that is no need. A framework that
// caches gives nothing else back, so what counts is from the first minute on, or from the middle of
// a shorter life.
class SettledMemory {
 public:
  void Handle(double bytes, core::Seconds now);
  std::optional<double> Most() const;  // absent: nothing was read

 private:
  std::optional<core::Seconds> first_;
  core::Seconds last_;
  std::vector<std::pair<core::Seconds, double>> early_;  // by age, in the first minute
  std::optional<double> later_;
};

class JobTrack {
 public:
  // `gpus`: as collectors call them; `count`: how many it was given, those that cannot be read
  // included.
  JobTrack() = default;
  JobTrack(std::set<std::string> gpus, std::string model, std::size_t count);

  const std::set<std::string>& gpus() const { return gpus_; }
  // Somebody is on one of its GPUs beside it from now on, or nobody is.
  void Share(bool shares);
  void Step();  // its count of steps has grown
  // A figure of a whole GPU, or of the job.
  void Handle(const core::Reading& reading, core::Seconds now);
  core::Profile Needed() const;
  // The most that it held on a GPU so far, in bytes.
  std::optional<double> gpu_memory() const { return gpu_memory_; }

 private:
  enum Figure {
    kBusy,
    kSm,
    kDram,
    kReceived,
    kSent,
    kPower,
    kCores,
    kTraffic,
    kTrafficEstimated,
    kFigures
  };
  static std::optional<Figure> DeviceFigure(const core::Reading& reading);
  void TakeTraffic(Figure figure, double bytes, core::Seconds now);

  std::set<std::string> gpus_;
  std::string model_;
  std::size_t count_ = 0;
  bool shares_ = false, ever_shared_ = false;
  bool counts_pcie_ = false;                  // GPM or DCGM does
  std::optional<core::Seconds> alone_since_;  // by what was read; absent: it shares, or nothing was
  std::array<KeptFigure, kFigures> figures_;
  std::optional<double> gpu_memory_, resident_, proportional_;    // the most
  std::map<Figure, std::pair<double, core::Seconds>> counted_;    // a counter when last read
  SettledMemory settled_;                                         // of `gpu_memory_`
  std::map<std::string, std::pair<double, SettledMemory>> used_;  // the least, and the rest, by GPU
};

}  // namespace sharewell::server
