// SlurmBook: what is known of a Slurm cluster from one look to the next, as data: its jobs and its
// nodes as Slurm has them, and the runs as they are wanted and as far as they have come. The parts
// of a SlurmControl share it; each of them says which of it is its own to change. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster_book.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/control/slurm_control_options.h"
#include "engine/slurm/control/slurm_place.h"
#include "engine/slurm/read/slurm_client.h"

namespace sharewell::engine {

struct SlurmRun : BookedRun {
  enum class Step : std::uint8_t { kPlace, kReleased, kRunning };
  enum class Place : std::uint8_t { kUnread, kRight, kWrong };  // of one that has begun

  JobNote note;  // with its put, once it was worked out
  Step step = Step::kPlace;
  Place place = Place::kUnread;
  std::optional<core::Seconds> asked;  // a stop, a cancel or a release was last said
  bool told_stuck = false;
  core::UnixMillis began = 0;         // when it was seen to run
  std::optional<core::Seconds> gone;  // since when Slurm does not know it
  std::int64_t limit_minutes = 0;     // its time limit, where it was extended
};

struct SlurmNodeHere : BookedNode {
  SlurmNode slurm;
  bool plain = false;  // its GPUs have no shards
};

// A job of Slurm's.
struct SlurmKnown {
  std::optional<SlurmQueueLine> line;  // absent: it is expected, and was not seen
  std::optional<SlurmJob> job;         // as it was read last
  std::optional<SlurmQueueLine> read;  // its line then
  std::optional<JobNote> note;
  bool told = false;                // the service has it
  std::optional<StartTerms> terms;  // as told; absent: none were
  std::uint64_t terms_version = 0;  // of what they were made of
  std::string terms_hold;           // who held it then: Slurm's reason, where that was not we
  std::string kept;                 // why Slurm did not start it when it was released
  core::Seconds kept_until;
  core::Seconds read_at;
  core::Seconds left_at{-1000};         // its last place,
  std::vector<std::string> left_nodes;  // which were these
  core::UnixMillis terms_until = 0;
  bool split = false;         // an array, of which some tasks were given ids
  bool shows_reason = false;  // its comment may be words of ours (slurm_reasons.h)
  std::string home;           // the partition that it was seen in last, of ours
};

class SlurmBook final : public ClusterBook<SlurmRun, SlurmNodeHere> {
 public:
  // `client` must outlive it.
  SlurmBook(SlurmClient& client, SlurmControlOptions options)
      : client_(client), options_(std::move(options)) {}
  SlurmBook(const SlurmBook&) = delete;  // parts refer to it
  SlurmBook& operator=(const SlurmBook&) = delete;

  SlurmClient& client() { return client_; }
  const SlurmControlOptions& options() const { return options_; }
  SlurmPlaceOptions place_options() const { return {options_.admin}; }

  // A look, or what is done between two, begins: events go to `out` from now on.
  void Begin(core::Seconds now, std::vector<RunEvent>& out) {
    now_ = now;
    out_ = &out;
  }
  core::Seconds now() const { return now_; }
  std::vector<RunEvent>& out() { return *out_; }
  bool listens() const { return out_ != nullptr; }  // false: before the first look

  std::map<std::int64_t, SlurmKnown>& jobs() { return jobs_; }  // by Slurm's id
  std::map<std::int64_t, SlurmRun>& runs() { return runs_; }    // by Slurm's id
  std::map<RunId, RunEnd>& ended() { return ended_; }
  std::set<std::int64_t>& cancel_waiting() { return cancel_waiting_; }
  std::map<std::string, SlurmNodeHere>& nodes() { return nodes_; }
  std::map<std::string, std::string>& taken() { return taken_; }  // as told, by GPU
  // Of the last run that ended.
  core::Seconds last_end() const { return last_end_; }
  void SetLastEnd() { last_end_ = now_; }
  void AddModel(const std::string& model) { models_.insert(model); }

  void Expect(std::int64_t job) override { jobs_[job].told = true; }

  using ClusterBook::AddGpu;
  using ClusterBook::AnswerList;
  using ClusterBook::Emit;
  using ClusterBook::EmitChanged;
  using ClusterBook::GpuNamed;
  using ClusterBook::IsNewRemark;

 private:
  void AskAgain(SlurmRun& run) override { run.asked.reset(); }

  SlurmClient& client_;
  const SlurmControlOptions options_;
  std::map<std::int64_t, SlurmKnown> jobs_;
  core::Seconds last_end_{-1000};
};

}  // namespace sharewell::engine
