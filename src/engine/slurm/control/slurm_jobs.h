// SlurmJobs: reads Slurm's jobs into the book, no more of them than is needed: the whole queue as
// one line a job, and of each job all there is once, or where its line has changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "engine/slurm/control/slurm_book.h"
#include "engine/slurm/control/slurm_submission.h"

namespace sharewell::engine {

class SlurmJobs {
 public:
  explicit SlurmJobs(SlurmBook& book) : book_(book) {}

  // What was shown counts for one look.
  void Begin() { shown_.clear(); }
  // The queue, and those of it that must be read: what is known to wait, and what we carry out
  // ourselves, is not read again while it is as it was.
  core::Result<std::vector<std::int64_t>> ReadLines();
  core::Result<void> ReadJobs(const std::vector<std::int64_t>& ids);
  // As it was just read.
  void Handle(SlurmKnown& known, SlurmJob job);
  // A job of which nothing but its phase may have changed since its line was read.
  void HandleLater(SlurmKnown& known, SlurmJob job);
  // It has a note of ours, and is ours to place.
  bool IsOurs(const SlurmJob& job) const;

  // "17", or "12_3" of an array, as scontrol is told.
  std::string NameOf(std::int64_t job) const;
  const SlurmQueueLine* LineOf(std::int64_t job) const;  // null: it is not in the queue
  SlurmIsThere IsThere() const;

  // As Slurm has it at this moment, over or not. Absent: Slurm does not remember it.
  core::Result<std::optional<SlurmJob>> Show(std::int64_t job);
  // Asks for many at once, so that Show need not ask for each.
  core::Result<void> ShowAll(const std::vector<std::int64_t>& jobs);
  // Of all that ShowAll did not find in one question, so that the accounting need not be asked for
  // each.
  void AccountForgotten();

 private:
  SlurmBook& book_;
  // By this look, of those that ShowAll was asked for; absent: Slurm does not remember it.
  std::map<std::int64_t, std::optional<SlurmJob>> shown_;
};

}  // namespace sharewell::engine
