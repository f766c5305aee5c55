#include "engine/slurm/slurm_terms.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/slurm/slurm_place.h"
#include "engine/slurm/slurm_words.h"

namespace sharewell::engine {
namespace {

std::string GpusInWords(int count) {
  return core::Count(static_cast<std::uint64_t>(std::max(count, 0)), "GPU");
}

std::string WaitsFor(const SlurmJob& job, const std::string& kept, const SlurmFacts& facts) {
  if (job.eligible && *job.eligible > facts.now) {
    return "waiting for Slurm: it begins at " + SlurmTimeInWords(*job.eligible);
  }
  if (!DependencyIsSettled(job.dependency, facts.is_there)) {
    return "waiting for Slurm: its dependency " + core::Quoted(job.dependency);
  }
  if (!kept.empty()) {
    return fmt::format(
        "waiting for Slurm, which did not start it: {}; `squeue --job={}` says what it waits for, "
        "and it is tried again in a minute",
        kept, job.id);
  }
  return {};
}

// Its nodes, or why there are none now.
void TakeReservation(const SlurmJob& job, const SlurmFacts& facts, StartTerms& terms) {
  std::string later;
  for (const std::string_view name : SplitAtCommas(job.reservation)) {
    const auto found = facts.reservations.find(std::string(name));
    if (found == facts.reservations.end()) {
      later = fmt::format("its reservation {} is not there", core::Quoted(name));
      continue;
    }
    const SlurmReservation& one = found->second;
    if (one.start > facts.now) {
      later = fmt::format("its reservation {} begins at {}", core::Quoted(name),
                          SlurmTimeInWords(one.start));
    } else if (one.end && *one.end <= facts.now) {
      later = fmt::format("its reservation {} is over", core::Quoted(name));
    } else {
      terms.nodes.insert(terms.nodes.end(), one.nodes.begin(), one.nodes.end());
    }
  }
  std::sort(terms.nodes.begin(), terms.nodes.end());
  if (terms.nodes.empty() && terms.waits_for.empty()) {
    terms.waits_for =
        "waiting for Slurm: " + (later.empty() ? "its reservation has no nodes" : later);
  }
}

// GPUs of each node that it may run on, the most first.
std::vector<int> GpusOfNodes(const std::vector<std::string>& models, const StartTerms& terms,
                             const SlurmFacts& facts) {
  std::vector<int> gpus;
  for (const SlurmFacts::Node& node : facts.nodes) {
    const auto in = [](const std::vector<std::string>& names, const std::string& name) {
      return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
    };
    if (node.gpus > 0 && in(terms.nodes, node.name) && in(models, node.model)) {
      gpus.push_back(node.gpus);
    }
  }
  std::sort(gpus.rbegin(), gpus.rend());
  return gpus;
}

// Slurm is told what a job has on a node, the same for each.
void TakeNodeCount(const SlurmJob& job, int gpus, const std::vector<int>& of_nodes,
                   StartTerms& terms) {
  const int largest = of_nodes.empty() ? 0 : of_nodes.front();
  int nodes = std::max(job.nodes_wanted, 1);
  const int most = job.nodes_most > 0 ? std::max(job.nodes_most, nodes) : gpus;
  // As many nodes as it takes, where their number was left open.
  while (nodes < most && (gpus % nodes != 0 || gpus / nodes > largest)) ++nodes;
  const int of_node = gpus / nodes;
  const auto enough =
      std::count_if(of_nodes.begin(), of_nodes.end(), [&](int has) { return has >= of_node; });
  if (gpus % nodes == 0 && of_node >= 1 && enough >= nodes) {
    if (gpus > 1) terms.gpus_a_node = of_node;
    return;
  }
  if (!terms.waits_for.empty()) return;
  const int asked = std::max(job.nodes_wanted, 1);
  terms.waits_for =
      gpus % asked != 0
          ? fmt::format(
                "{} cannot be had on {} nodes: Slurm gives each of a job's nodes as many; ask for "
                "so many on each (--gpus-per-node)",
                GpusInWords(gpus), asked)
          : fmt::format(
                "it asks for {} on each of {}, and the nodes that it may run on have at "
                "most {}; ask for another number of nodes (--nodes)",
                GpusInWords(gpus / asked), core::Count(static_cast<std::uint64_t>(asked), "node"),
                largest);
}

// Whole GPUs stay whole GPUs, and of a slot that a job once had it keeps a shard
// (JobNote::Put::kept), wherever it goes: elsewhere Slurm would never start it.
void KeepToNodesLikeBefore(const JobNote& note, const SlurmFacts& facts, StartTerms& terms) {
  const auto was_plain = WasOnPlainGpus(note);
  if (!was_plain) return;
  std::vector<std::string> had = note.put->kept;
  for (const JobNote::OnNode& on : note.put->nodes) {
    had.insert(had.end(), on.slots.begin(), on.slots.end());
  }
  const auto like = [&](const SlurmFacts::Node& node) {
    if (node.plain != *was_plain) return false;
    return node.plain || std::all_of(had.begin(), had.end(), [&](const std::string& slot) {
             return std::find(node.slots.begin(), node.slots.end(), slot) != node.slots.end();
           });
  };
  if (std::all_of(facts.nodes.begin(), facts.nodes.end(), like)) return;
  std::vector<std::string> same;
  for (const SlurmFacts::Node& node : facts.nodes) {
    const bool in = terms.nodes.empty() ||
                    std::binary_search(terms.nodes.begin(), terms.nodes.end(), node.name);
    if (in && like(node)) same.push_back(node.name);
  }
  if (same.empty() && terms.waits_for.empty()) {
    terms.waits_for =
        "waiting for Slurm: no node has all GPU slots that it was given before, of which Slurm "
        "cannot let go; `scancel` it and submit it again";
  }
  terms.nodes = std::move(same);
}

}  // namespace

bool SlurmKeeps(std::string_view reason) {
  constexpr std::array<std::string_view, 13> kKeeping = {
      "QOS",        "Assoc",     "Licenses",   "Reservation",    "BeginTime",
      "Dependency", "Partition", "InvalidQOS", "InvalidAccount", "AccountNotAllowed",
      "MaxMem",     "Deadline",  "FedJobLock"};
  return std::any_of(kKeeping.begin(), kKeeping.end(),
                     [&](std::string_view one) { return reason.starts_with(one); });
}

std::string SlurmTimeInWords(core::UnixMillis time) {
  const auto seconds = std::chrono::sys_seconds(std::chrono::seconds(time / 1000));
  return fmt::format("{:%Y-%m-%d %H:%M} UTC",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

StartTerms TermsOf(const SlurmJob& job, const JobNote& note, const std::vector<std::string>& models,
                   const std::string& kept, const SlurmFacts& facts) {
  StartTerms terms;
  terms.waits_for = WaitsFor(job, kept, facts);
  if (!job.reservation.empty()) TakeReservation(job, facts, terms);
  KeepToNodesLikeBefore(note, facts, terms);
  const auto of_nodes = GpusOfNodes(models, terms, facts);
  // What is more than all there is, is told by whoever admits it.
  int all = 0;
  for (const int gpus : of_nodes) all += gpus;
  if (note.ask.gpus > 0 && note.ask.gpus <= all) {
    TakeNodeCount(job, note.ask.gpus, of_nodes, terms);
  }
  return terms;
}

}  // namespace sharewell::engine
