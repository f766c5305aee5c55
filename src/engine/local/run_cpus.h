// RunCpus: the CPUs of runs: what each is given, what it is lent beside that, and how much of their
// time it may use. One thread.
#pragma once

#include <optional>
#include <vector>

#include "engine/local/cpu_room.h"
#include "engine/local/local_book.h"

namespace sharewell::engine {

class RunCpus {
 public:
  explicit RunCpus(LocalBook& book) : book_(book) {
    if (book.options.cpus) room_.emplace(*book.options.cpus);
  }

  // At a run's start; absent: runs are not kept to CPUs of their own.
  std::optional<std::vector<int>> Take(const LocalRun& run);
  void TakeAgain(LocalRun& run);  // after a pause
  // Found running after a restart, with these.
  void Claim(const LocalRun& run, const std::vector<int>& cpus);
  void Return(RunId id);
  void Resize(LocalRun& run, double cores);
  void SetShare(LocalRun& run, core::Ratio share);
  void Lend();  // once a second, and whenever CPUs change hands

 private:
  void Apply(LocalRun& run, const std::vector<int>& cpus);

  LocalBook& book_;
  std::optional<CpuRoom> room_;
};

}  // namespace sharewell::engine
