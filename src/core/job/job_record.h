// JobRecord: a submission and all that became of it, as it is stored and shown. Its number is what
// people type (`sharewell why 17`); it never changes and is never used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/cancelled.h"
#include "core/job/hold.h"
#include "core/job/submission.h"
#include "core/job/told.h"
#include "core/metric.h"

namespace sharewell::core {

enum class Phase : std::uint8_t {
  kHeld,      // waits until it is released, or until the jobs it comes after have finished
  kWaiting,   // in the queue
  kStarting,  // decided and stored; the process may or may not be there yet
  kRunning,
  kStopping,   // told to end: cancelled, its time limit over, or on its way back into the queue
  kFinished,   // exit code 0
  kFailed,     // any other end
  kCancelled,  // by its user or an admin
};
std::string_view NameOf(Phase phase);  // "held", "waiting", ...
std::optional<Phase> PhaseNamed(std::string_view name);
constexpr bool IsOver(Phase phase) { return phase >= Phase::kFinished; }
// "finished", "failed", "was cancelled". REQUIRES: it is over.
std::string_view EndedAs(Phase phase);

// A GPU as a job is given it.
struct GivenGpu {
  int index = 0;      // on its machine, or of all
  std::string uuid;   // what CUDA is told; of a simulated GPU "simulated-0"
  std::string model;  // "H200"

  friend bool operator==(const GivenGpu&, const GivenGpu&) = default;
};
// What people call it: its index on its machine; of a cluster's GPU "n2/g1".
std::string NameOf(const GivenGpu& gpu);

// What a job was seen to use, in its last attempt. Figures of a GPU are the job's own while it has
// the GPU to itself; what was not seen is absent.
struct SeenFigures {
  std::optional<double> cores;
  std::optional<Ratio> busy, sm;
  std::optional<Bytes> gpu_memory, host_memory;
  std::optional<Watts> power;

  friend bool operator==(const SeenFigures&, const SeenFigures&) = default;
};

// Who counts the steps of a job: whoever wrote it calls report_step(), or the watcher inside of it
// sees its optimizer.
enum class StepsBy : std::uint8_t { kReport, kWatcher };
std::string_view NameOf(StepsBy by);  // "report_step", "watcher"
std::optional<StepsBy> StepsByNamed(std::string_view name);

struct JobRecord {
  std::int64_t number = 0;
  Account user;
  Submission asked;
  Needs believed;  // what the decision stood on
  Phase phase = Phase::kWaiting;
  UnixMillis submitted = 0;
  std::optional<UnixMillis> started;  // the first time
  std::optional<UnixMillis> resumed;  // the last time it was started
  std::optional<UnixMillis> ended;
  std::optional<UnixMillis> expected_start;  // of one that waits, as shown; it is never stored
  int attempt = 0;                           // how often it was started
  int ooms = 0, evicted = 0;
  int lost = 0;  // runs in a row under which the machine or the supervisor went down
  // Somebody else than the server may have written it into the store: nothing of it is believed
  // until root has looked at it. It is never stored.
  bool untrusted = false;
  std::optional<Hold> hold;  // of one that is held; of one that is being paused by hand, too
  std::optional<Cancelled>
      cancelled;               // who asked for its end; while it runs it is on its way there
  std::vector<GivenGpu> gpus;  // where it runs, or last ran
  bool gpu_gone = false;       // its GPU was not here when the server came back; it runs on
  double cores = 0;            // given
  Ratio sm_share = 1;          // of each GPU's SMs, at most; given
  // As a guest it is, or last was, kept to so much of its GPU's memory (core::Allocation); absent:
  // it was started as no guest.
  std::optional<Bytes> guest_memory;
  // As a guest it ran out of GPU memory with so much of it. Those times are not among `ooms`.
  std::optional<Bytes> guest_oom;
  bool broke_gpu = false;  // a run of it broke its GPU under its neighbours
  bool paused = false;     // it waits with its process alive, its GPU memory on the host
  std::optional<UnixMillis> paused_at;  // when it last was
  std::vector<std::int64_t> beside;     // jobs that shared its GPUs when it was started
  // Why it waits, was put there, or is being ended, and below what the user should know (a limit
  // that cannot be kept, an OOM). In words: for people, and nothing is decided by them.
  std::string reason;
  std::string note;
  std::optional<int> exit_code;            // of the last attempt; 128 + signal as a shell has it
  std::optional<double> steps;             // told by the job itself, in the last attempt
  std::optional<double> steps_per_second;  // now; of one that is over, its mean (SpeedHistory)
  std::optional<StepsBy> steps_by;         // absent: nobody counted any, or it is not known
  std::optional<Told> told;                // of its step, by the watcher inside of it
  std::optional<SeenRate> alone;           // with all SMs, on GPUs of this model
  std::optional<double> slowdown;          // measured against itself alone
  SeenFigures seen;
  Seconds run_time;  // of ended attempts together
  // What the work done so far takes it alone; absent: it shared, and nobody saw how fast it is
  // alone.
  std::optional<Seconds> alone_time;
  Seconds limit_extended;  // its time limit, in the last attempt, by what it lost beside others

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// What holds it from now on, and why in words. Nothing: it is in the queue, and why it waits is
// not known yet.
void SetHold(JobRecord& job, std::optional<Hold> hold);
// It waited, or was held, and is over now.
void EndCancelled(JobRecord& job, Cancelled by, UnixMillis now);

// Steps a second alone where it is, as they were observed: in this job, or in earlier runs on this
// GPU model. Absent: unknown, whatever was predicted.
std::optional<double> RateAlone(const JobRecord& job);
// Of one whose rate alone was never seen: the rate that was predicted over the rate that it has,
// where that is worth a word (above 1.05). It says nothing of neighbours.
std::optional<Ratio> SlowerThanPredicted(const JobRecord& job);
// "26 % slower than predicted"; empty: it is not, or it is not known.
std::string SlowerInWords(const JobRecord& job);
// Of one that was started as a guest: "at most 80 % of the SMs and 31.0 GiB of GPU memory, after
// its neighbours, until it has told its step", or what it keeps once it is known; else empty.
std::string GuestInWords(const JobRecord& job);
// How long the next of its kind is believed to take: alone where that is known, else as it ran.
// Absent: it never ran.
std::optional<Seconds> TimeTaken(const JobRecord& job);

// Who may act on it and read what it wrote, besides admins. Of an untrusted one root alone.
inline std::uint32_t OwnerUid(const JobRecord& job) { return job.untrusted ? 0 : job.user.uid; }

// Something that happened, for those who listen. Ids rise by one and never repeat in a store.
struct Event {
  std::int64_t id = 0;
  UnixMillis time = 0;
  std::string kind;      // "job.submitted", "job.started", "gpu.drained" ...
  std::int64_t job = 0;  // 0: of no job
  std::string text;      // one sentence for people

  friend bool operator==(const Event&, const Event&) = default;
};

// What two workloads were measured to do to each other while they shared a GPU.
struct SharedRun {
  std::string gpu_model;
  std::string a, b;                               // WorkloadKey
  std::optional<Ratio> speed_a = 1, speed_b = 1;  // absent: not measured of that one
  bool fits = true;
  UnixMillis time = 0;
  Ratio sm_share_a = 1, sm_share_b = 1;  // that each was given
  // Whose jobs they were: it counts for these two users' jobs alone. Empty: older than these
  // fields.
  std::string user_a, user_b;
  // So long they were watched together. 0: an older version did not say, and may have compared with
  // a rate that was only predicted.
  Seconds over = {};

  // False: it is not known that anybody measured it.
  bool IsMeasured() const { return !fits || over.value > 0; }
  friend bool operator==(const SharedRun&, const SharedRun&) = default;
};

}  // namespace sharewell::core
