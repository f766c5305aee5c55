// JobService: what may be asked of a running server: to take jobs, to act on them, and to say how
// things stand. Service in the program, a fake in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/service/jobs/job_board.h"
#include "control/service/jobs/job_tally.h"
#include "control/service/jobs/place_in_line.h"
#include "control/service/view/event_hub.h"
#include "control/service/view/gpu_table.h"
#include "core/cluster.h"
#include "core/job/job_record.h"
#include "core/job/speed_history.h"
#include "core/job/submission.h"
#include "core/result.h"

namespace sharewell::control {

struct ServiceView {
  std::string node, policy;
  double cores = 0, cores_given = 0;
  bool simulated_cores = false;
  std::vector<GpuView> gpus;                     // by GpuId
  std::shared_ptr<const core::Cluster> cluster;  // as it is now; null before Start
  bool store_up = true;
  std::string store_problem;
  std::string plan_problem;  // the policy's plans are refused, so nothing is decided; empty: not so
  std::string runner_problem;             // who carries jobs out does not answer; empty: it does
  std::optional<core::Seconds> busy_for;  // the turn under way; absent: it waits for something
  std::size_t owed = 0;                   // records and events that happened and are not stored yet
  JobTally tally;
  std::int64_t decisions = 0;
  // Of the last 1,000 turns: taking what was asked, deciding, storing, doing; waiting is not in it.
  core::Seconds decision_p99;
  core::UnixMillis since = 0;
};

// What keeps the server from doing its work, in words with what to do; empty: it is healthy.
std::string ProblemOf(const ServiceView& view);

enum class Action : std::uint8_t { kCancel, kHold, kRelease, kPause, kResume };

// Any thread. Asking never waits; answers may come on any thread, and must not wait either.
class JobService {
 public:
  template <class T>
  using Answer = std::function<void(core::Result<T>)>;

  virtual ~JobService() = default;

  // All of a submission's jobs or none; their numbers follow each other.
  virtual void Submit(std::vector<core::Submission> jobs, const core::Account& who,
                      Answer<std::vector<JobPtr>> answer) = 0;
  virtual void Act(Action action, std::int64_t number, const core::Account& who,
                   Answer<JobPtr> answer) = 0;
  // `gpu`: its index or uuid. Admins alone.
  virtual void Drain(const std::string& gpu, bool drained, const core::Account& who,
                     Answer<void> answer) = 0;
  // What is believed of it, and whether it could ever run here; nothing is submitted.
  virtual void Consider(core::Submission job, const core::Account& who,
                        Answer<core::JobRecord> answer) = 0;

  // Who goes before it in line; absent: it is not in line.
  virtual void Ahead(std::int64_t number, Answer<std::optional<JobsAhead>> answer) = 0;

  // How fast it stepped so far. Absent: nothing of it is known here; the store may know, as of all
  // that are over.
  virtual std::optional<core::SpeedHistory> Speed(std::int64_t number) const = 0;

  // Of the last seven days, with those of runs under way; absent: nobody counts them.
  virtual std::optional<double> GpuHoursOfWeek(const std::string&) const { return std::nullopt; }

  virtual const JobBoard& board() const = 0;
  virtual EventHub& events() = 0;
  virtual ServiceView View() const = 0;
};

}  // namespace sharewell::control
