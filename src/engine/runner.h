// Runner: the seam between the server and whatever carries jobs out: processes on this machine
// (local/linux_runner.h), a Slurm or a Kubernetes cluster, a fake in tests. The service takes any
// of them.
//
// Why the seam is here and not at Engine: Engine is what the loop sees, simulated or real. Between
// the loop and anything real lies the same bookkeeping, whatever runs the jobs: who is believed to
// run, whose place is still being left, which answer is still owed, what an end means for the
// queue. LiveEngine (live/live_engine.h) keeps it once: submit, start, stop, cancel, requeue,
// adopt. What is left is starting and stopping runs and telling what became of them, and that is
// this face.
//
//   local       Start: a supervisor and its command   Stop, Cancel: SIGTERM, later SIGKILL
//   Slurm       Start: update (place) and release     Stop: requeue and hold   Cancel: scancel
//   Kubernetes  Start: claim and bind                 Stop: evict   Cancel: delete the pod
//
// The queue is ours: a job is handed over with its first start, not when it is submitted. The face
// is wider than others of the house, as these verbs are what managers have in common; what most
// need not tell apart (Cancel, ListEvery, List) has a default.
//
// Nothing here waits, except Wait, and Recover before the loop begins: a runner that has to ask a
// remote manager does so on a thread of its own and tells the answer as an event. An answer may
// come late, twice, or after one that is younger. Where one may be lost too, ListEvery says so, and
// LiveEngine finds it again with List.
//
// Jobs that the cluster's own users submit there (sbatch) come as kSubmitted, with an Account, a
// Submission and the manager's own id, which becomes the job's number: the service admits and
// stores them as any other submission. They wait in the manager's queue, held there, until Start.
//
// One thread, except Wake.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu_islands.h"
#include "core/ids.h"
#include "core/job_record.h"
#include "core/units.h"

namespace sharewell::engine {

// One start of one job: its folder is named so, and is made once.
struct RunId {
  std::int64_t job = 0;
  int attempt = 0;

  friend auto operator<=>(const RunId&, const RunId&) = default;
};

// What the manager demands of where and when a job starts.
struct StartTerms {
  int gpus_a_node = 0;             // on each of its nodes, the same ones by number; 0: as it comes
  std::vector<std::string> nodes;  // it may run on these alone; empty: any
  std::string waits_for;           // it cannot start now, in words; empty: it can
  double weight = 1;               // of its user, as the manager has it; above 0
  int priority = 0;                // as the manager has it, which says who may have which
  bool preempts = false;           // jobs of lower priority give way where it finds no place
  bool keeps_place = false;        // it never gives way: nothing would start it again

  friend bool operator==(const StartTerms&, const StartTerms&) = default;
};

struct RunRequest {
  RunId id;
  core::Account user;
  core::Submission asked;
  std::vector<std::string> nodes;    // by name: those of its GPUs, or the one of a CPU-only job
  std::vector<core::GivenGpu> gpus;  // node by node
  double cores = 0;                  // 0: not bounded
  // On a GPU that others may share: what it may take of it. Absent: not bounded.
  std::optional<core::Ratio> thread_share;
  std::optional<core::Bytes> gpu_memory;  // pinned device memory limit
  // What it is believed to need of each GPU at most. Absent: not known.
  std::optional<core::Bytes> expected_memory;
  bool shares = false;    // others are, or may come to be, on the same GPU
  StartTerms terms = {};  // of one that Recover found
};

// It ended within a moment of others that shared its GPU through one MPS server: the GPU broke
// under all of them.
struct Fall {
  enum class Part : std::uint8_t {
    kUnknown,   // it may have been its doing
    kCulprit,   // it was
    kInnocent,  // it was another's
  };
  Part part = Part::kUnknown;
  std::vector<RunId> with;  // the others, rising
  std::optional<RunId> culprit;

  friend bool operator==(const Fall&, const Fall&) = default;
};

struct RunEnd {
  int exit_code = 0;  // as a shell has it: 128 + signal
  int signal = 0;
  bool out_of_memory = false;  // of a GPU
  bool timed_out = false;      // its own time limit
  bool lost = false;           // the machine went down under it, or its supervisor was killed
  bool stopped = false;        // somebody asked it to end: us, or a machine that was shut down
  bool refused = false;        // it never began: kRefused
  std::optional<core::Seconds> ran = {};  // as its supervisor saw it
  std::optional<Fall> fall = {};
  std::string message = {};  // why it could not be started, or what is known; may be empty
};

// A node as it comes: GPUs of one model, which is one of those that the cluster was opened with.
struct RunnerNode {
  std::string name;
  double cores = 0;
  std::optional<core::Bytes> memory;
  std::vector<core::GivenGpu> gpus;
  core::GpuIslands islands;  // of them, by their order here
  core::Bytes gpu_memory{};  // of each
  bool exclusive = false;    // none of its GPUs can be shared
  bool reserved = false;     // only for jobs whose terms name it

  friend bool operator==(const RunnerNode&, const RunnerNode&) = default;
};

// A job as a user of the manager submitted it there.
struct ForeignJob {
  core::Account user;  // never an admin
  core::Submission asked;
  core::UnixMillis submitted = 0;
  std::string remark;  // what of its words was not understood, and what to do; empty: nothing
  StartTerms terms = {};

  friend bool operator==(const ForeignJob&, const ForeignJob&) = default;
};

// What is there, all at once: the answer to List.
struct RunList {
  struct Item {
    RunId id;
    bool started = false;         // false: it is about to be
    std::optional<RunEnd> end{};  // it has ended and was not forgotten
  };
  std::uint64_t token = 0;  // of the List it answers
  std::vector<Item> runs;
  std::vector<RunnerNode> nodes;  // that are up
};

struct RunEvent {
  enum class Kind : std::uint8_t {
    kStarted,   // the command runs; cores, and in message what is to be known of them
    kRefused,   // it was not started, and may be later or elsewhere; message: why. What never could
                // be started ends instead
    kProgress,  // steps, as the job tells them
    kTimeIsOver,  // its time limit: it was told to end; again by a later server
    kEnded,       // nothing of it is left
    kNote,        // message: a limit that cannot be kept here, and why
    kGpuLost,     // gpu: it does not answer any more; message: why
    kGpuBack,
    kNodeCame,  // node: a new one, or one that went. What is up when a server starts is in its
                // cluster already
    kNodeWent,  // node.name; message: why. kEnded follows for each run that was there, as soon as
                // nothing of it can run on
    kListed,    // list
    kPaused,    // host_memory: what it takes of the host's for what it had on its GPUs
    kResumed,
    kPauseRefused,   // it runs on; message: why
    kResumeRefused,  // it stays paused; message: why
    kStopRefused,    // it runs on, as if it had not been told to stop; message: why
    // Of managers that have users of their own.
    kSubmitted,  // id.job, job: it waits there until it is started; perhaps again
    kWithdrawn,  // id.job: it was cancelled there, or taken over by somebody else; message: how.
                 // Of one that runs, kEnded follows
    kNodeKept,   // node.name, node.reserved, node.exclusive: from now on
    kTerms,      // id.job, terms: of one that waits, where they are others than were told, or than
                 // a new server assumes: none
    kGpuTaken,   // gpu: somebody else has it, and what runs there goes on; message: who. Empty: it
                 // is free again
    kHostTaken,  // node.name: others have so much of its node.cores and node.memory, from now on
  };
  Kind kind = Kind::kEnded;
  RunId id;
  double steps = 0;  // kProgress: so far in this attempt
  RunEnd end;        // kEnded
  std::string gpu;   // uuid
  std::string message;
  core::Bytes host_memory{};  // kPaused
  RunnerNode node;
  RunList list;
  std::optional<ForeignJob> job;  // kSubmitted
  StartTerms terms;               // kTerms
  double cores = 0;               // kStarted: that it has; 0: as they were given to Start
  core::Seconds age{};            // kProgress: so long ago there were so many
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual core::Seconds Now() = 0;  // never goes back
  // kStarted, kRefused or kEnded follows. Again: nothing happens.
  virtual void Start(const RunRequest& request) = 0;
  // SIGTERM, and SIGKILL after the grace; kEnded follows, or kStopRefused where the manager does
  // not allow it now. Again, or of a run that is not there: nothing happens. A run that is stopped
  // before its start was carried out is not started.
  virtual void Stop(RunId id, core::Seconds grace) = 0;
  // A Stop of a job that does not go back into the queue, perhaps after a Stop. The same where a
  // job has nothing beside its runs.
  virtual void Cancel(RunId id, core::Seconds grace) { Stop(id, grace); }
  // Its processes wait, and what they have in GPU memory goes to the host's: kPaused or
  // kPauseRefused follows. `gpu_memory`: how much that is; absent: not known. Again, or of one that
  // an earlier server has paused: the same follows. False: this runner never can.
  virtual bool Pause(RunId /*id*/, std::optional<core::Bytes> /*gpu_memory*/) { return false; }
  // Back onto the same GPUs: kResumed or kResumeRefused follows. Again: the same follows.
  virtual bool Resume(RunId /*id*/) { return false; }
  // In words with what to do; empty: runs that hold their GPUs alone can be paused here.
  virtual std::string WhyNoPause() { return "jobs cannot be paused here"; }
  virtual void SetCores(RunId id, double cores) = 0;
  virtual void SetShare(RunId id, core::Ratio share) = 0;  // of its cores' time
  // Its time limit, which was asked for, is this much instead. It never becomes shorter. Where the
  // manager cannot change the limit of what runs, nothing happens.
  virtual void SetTimeLimit(RunId /*id*/, core::Seconds /*limit*/) {}
  // What an earlier server started and has not ended, or ended meanwhile: each is told by events as
  // if this one had started it. The requests are as they were given to Start. May wait.
  virtual std::vector<RunRequest> Recover() = 0;
  // How often to look for answers that were lost. Absent: none ever is, List is not used.
  virtual std::optional<core::Seconds> ListEvery() const { return std::nullopt; }
  // kListed follows, with this token. It knows of every command given before this call: each was
  // carried out by then, or never will be.
  virtual void List(std::uint64_t /*token*/) {}
  // All that happened, in the order it was heard of; waits for the first until `until` or Wake().
  // Does not wait where `until` is not after Now(). Absent: for ever. False where nothing ever will
  // (a test's script is over).
  virtual bool Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) = 0;
  virtual void Wake() = 0;  // any thread; a Wait that is not under way yet returns at once
  // Of managers that have users of their own. Whether jobs are theirs: they come as kSubmitted, and
  // one that is found running and that no store knows is a job all the same.
  virtual bool HasUsers() const { return false; }
  // That job is known, and waits: kWithdrawn follows where the manager has it no more.
  virtual void Expect(std::int64_t /*job*/) {}
  // That job is over: where it still waits there, it is cancelled. Again, or where it does not
  // wait: nothing happens.
  virtual void CancelWaiting(std::int64_t /*job*/) {}
  // Why that job waits, in words, each time they change: where the manager shows them to its users.
  virtual void TellWaits(std::int64_t /*job*/, const std::string& /*words*/) {}
  // What keeps it from its work, in words with what to do; empty: nothing. A kNote of no run makes
  // a turn when it changes.
  virtual std::string Problem() { return {}; }
  // What has ended and been stored may be forgotten: its folder goes, its logs stay as asked.
  virtual void Forget(RunId id) = 0;
};

}  // namespace sharewell::engine
