// JobNote: what we write about a job into Slurm itself, so that it outlives us: into AdminComment
// (which users cannot write) in admin mode, into Comment in user mode. One line of words:
//
//   sharewell1 ask=gpus:2,model:V100,exclusive
//   put=3,n2:g0+g1/n3:g0+g1,shards:40,sm:80,cores:3,mem:14000,guest
//
// `ask` is written by job_submit.lua at submission: the GPUs that the user asked for, taken out of
// the job's GRES so that any shards can be set later, and by us the CPUs (cpus:8) and the nodes
// (nodes:n1+n2) where a placement gives it others. `plain=WHY` says that plain Slurm runs it, as
// the plugin could not tell us what it asks for, or somebody released it: such a note is none of
// ours. `put` is written with each placement:
// attempt, nodes with their slots, shards of each GPU, SM share in per cent, cores, MiB of GPU
// memory. Prolog and TaskProlog read it on the node. A note that is not ours, or that cannot be
// read, is no note.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::engine {

struct JobNote {
  struct Ask {
    int gpus = 0;            // a node times nodes: of the whole job
    std::string model;       // of GPU; empty: any
    bool exclusive = false;  // asked for with --exclusive, or more than 99 shards
    std::string gres;        // as the user wrote it, where none of this could be made of it
    bool held = false;       // by its user, with --hold: it waits until he releases it here
    int cpus = 0;  // of all its nodes, where a placement changed them; 0: as Slurm has them
    std::vector<std::string> nodes = {};  // --nodelist, which a placement replaces
    bool anywhere = false;                // asked for with --gpus, for the whole job
    std::string script = {};  // digest of what it says, where it has no path; empty: not told

    friend bool operator==(const Ask&, const Ask&) = default;
  };
  struct OnNode {
    std::string node;
    std::vector<std::string> slots;

    friend bool operator==(const OnNode&, const OnNode&) = default;
  };
  struct Put {
    int attempt = 0;
    std::vector<OnNode> nodes;
    int shards = 100;  // of each GPU
    int sm_percent = 100;
    double cores = 0;                    // of the whole job; 0: as asked
    std::optional<long> gpu_memory_mib;  // limit of MPS, a GPU
    // Slots that it was given before, of which it keeps one shard: where a job that once asked for
    // shards of one type is started without any of that type, slurmctld 22.05 divides by zero and
    // dies (on x86_64). The task does not see these GPUs (task_prolog.sh).
    std::vector<std::string> kept;
    bool guest = false;  // the limit of memory is what it has as one (core::Allocation)

    friend bool operator==(const Put&, const Put&) = default;
  };
  Ask ask;
  std::optional<Put> put;
  // In user mode, where the note stands in Comment: what the user would have written there
  // (UserWords), as `say=`. Empty: nothing.
  std::string say;

  friend bool operator==(const JobNote&, const JobNote&) = default;
};

std::optional<JobNote> ParseJobNote(std::string_view text);
std::string FormatJobNote(const JobNote& note);

// What the user says of his job in its comment: `sharewell model=resnet50.onnx batch=64`. Only a
// comment that begins with the word sharewell is looked at; words that are not known are told in
// `problem`, which `why` shows.
struct UserWords {
  std::string model, precision, profile;
  std::optional<int> batch;
  std::optional<double> max_slowdown;
  std::optional<long> gpu_memory_mib;
  std::optional<int> sm_percent;
  bool exclusive = false;
  std::string problem;  // in words with what to do; empty: all was understood

  friend bool operator==(const UserWords&, const UserWords&) = default;
};
std::optional<UserWords> ParseUserWords(std::string_view comment);

}  // namespace sharewell::engine
