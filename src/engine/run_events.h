// RunEvent: what a runner reports, one struct a kind. Runner::Wait gives them in the order they
// were heard of; an answer may come late, twice, or after one that is younger.
//
// Whoever handles them visits the variant with one overload a kind, so that a new kind does not
// compile until everybody has decided what it means for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/job/job_metrics.h"
#include "core/units.h"
#include "engine/foreign_job.h"
#include "engine/run_end.h"
#include "engine/run_request.h"
#include "engine/runner_node.h"

namespace sharewell::engine {

// Of one run.

// Its command runs.
struct RunStarted {
  RunId id = {};
  double cores = 0;          // that it has; 0: as they were given to Start
  std::string message = {};  // what is to be known of them; may be empty
};
// It was not started, and may be later or elsewhere. What never could be started ends instead.
struct StartRefused {
  RunId id = {};
  std::string why = {};
};
struct RunProgress {
  RunId id = {};
  double steps = 0;         // as the job tells them: so far in this attempt
  core::Seconds age = {};   // so long ago there were so many
  bool by_watcher = false;  // counted from inside of it, without a word from its author
};
// The last of each number that it tells of itself, whenever one of them is new.
struct RunMetrics {
  RunId id = {};
  std::vector<core::ToldMetric> metrics = {};
};
// It was told to end; again by a later server.
struct TimeLimitReached {
  RunId id = {};
};
// Nothing of it is left.
struct RunEnded {
  RunId id = {};
  RunEnd end = {};
};
// It runs on, as if it had not been told to stop.
struct StopRefused {
  RunId id = {};
  std::string why = {};
};
// A limit that cannot be kept here, and why.
struct RunNote {
  RunId id = {};
  std::string message = {};
};
// What the watcher inside of it told, which is a user's word: a document that nobody has looked
// into yet (docs/formats/told-step.md), or why it watches no more.
struct RunTold {
  RunId id = {};
  std::string document = {};
  std::string off = {};
};
struct RunPaused {
  RunId id = {};
  core::Bytes host_memory = {};  // what it takes of the host's for what it had on its GPUs
};
// It runs on.
struct PauseRefused {
  RunId id = {};
  std::string why = {};
};
struct RunResumed {
  RunId id = {};
};
// It stays paused.
struct ResumeRefused {
  RunId id = {};
  std::string why = {};
};

// Of the machine or the cluster.

// Of no run: what its operator should know.
struct RunnerNote {
  std::string message = {};
};
// It does not answer any more.
struct GpuLost {
  std::string gpu = {};  // uuid
  std::string why = {};
};
struct GpuBack {
  std::string gpu = {};  // uuid
};
// A new one, or one that went. What is up when a server starts is in its cluster already.
struct NodeCame {
  RunnerNode node = {};
};
// RunEnded follows for each run that was there, as soon as nothing of it can run on.
struct NodeWent {
  std::string node = {};
  std::string why = {};
};
// All that is there at once, told now and then where answers may be lost.
struct RunsListed {
  struct Item {
    RunId id;
    bool started = false;         // false: it is about to be
    std::optional<RunEnd> end{};  // it has ended and was not forgotten
  };
  // It knows of every command that was given before: each was carried out by then, or never will
  // be.
  core::Seconds as_of{};
  std::vector<Item> runs = {};
  std::vector<RunnerNode> nodes = {};  // that are up
};

// Of managers that have users of their own.

// It waits there until it is started; perhaps reported again.
struct JobSubmitted {
  std::int64_t job = 0;  // its number
  ForeignJob as = {};
};
// It was cancelled there, or taken over by somebody else. Of one that runs, RunEnded follows.
struct JobWithdrawn {
  std::int64_t job = 0;
  std::string why = {};
};
// Of a job that waits, where they are others than were reported, or than a new server assumes:
// none.
struct TermsChanged {
  std::int64_t job = 0;
  StartTerms terms = {};
};
// Of a job that waits: what it needs is known now.
struct NeedsKnown {
  std::int64_t job = 0;
  core::Needs needs = {};
  std::string remark = {};  // as ForeignJob has it
};
// From now on it is, or is not, reserved and exclusive, as RunnerNode has them.
struct NodeChanged {
  std::string node = {};
  bool reserved = false;
  bool exclusive = false;
  std::string why = {};
};
// Somebody else has it, and what runs there goes on.
struct GpuTaken {
  std::string gpu = {};  // uuid
  std::string by = {};   // empty: it is free again
};
// Others have so much of a node, from now on.
struct HostTaken {
  std::string node = {};
  double cores = 0;
  core::Bytes memory = {};
};

using RunEvent =
    std::variant<RunStarted, StartRefused, RunProgress, RunMetrics, TimeLimitReached, RunEnded,
                 StopRefused, RunNote, RunTold, RunPaused, PauseRefused, RunResumed, ResumeRefused,
                 RunnerNote, GpuLost, GpuBack, NodeCame, NodeWent, RunsListed, JobSubmitted,
                 JobWithdrawn, TermsChanged, NeedsKnown, NodeChanged, GpuTaken, HostTaken>;

}  // namespace sharewell::engine
