#include "engine/slurm/read/slurm_terms.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/slurm/control/slurm_place.h"
#include "engine/slurm/read/slurm_constraint.h"
#include "engine/slurm/read/slurm_words.h"

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

// The nodes that a job may run on: all that can be used, less those that one reason after the other
// leaves out.
class NodeChoice {
 public:
  NodeChoice(const SlurmFacts& facts, bool with_gpus, StartTerms& terms) : terms_(terms) {
    for (const SlurmFacts::Node& node : facts.nodes) {
      if (!with_gpus || node.gpus > 0) nodes_.push_back(&node);
    }
    all_ = nodes_.size();
  }

  // `why()` is what a job waits for where this leaves none.
  template <class Meets, class Why>
  void Keep(Meets meets, Why why) {
    const bool any = !nodes_.empty();
    std::erase_if(nodes_, [&](const SlurmFacts::Node* node) { return !meets(*node); });
    if (any && nodes_.empty()) WaitFor(why());
  }
  void WaitFor(const std::string& why) {
    if (terms_.waits_for.empty()) terms_.waits_for = "waiting for Slurm: " + why;
  }

  const std::vector<const SlurmFacts::Node*>& nodes() const { return nodes_; }
  bool all() const { return nodes_.size() == all_; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const SlurmFacts::Node* node : nodes_) names.push_back(node->name);
    return names;
  }

 private:
  std::vector<const SlurmFacts::Node*> nodes_;
  std::size_t all_ = 0;
  StartTerms& terms_;
};

bool IsOneOf(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Its nodes, or why there are none now.
void TakeReservation(const SlurmJob& job, const SlurmFacts& facts, NodeChoice& choice) {
  std::string later;
  std::vector<std::string> nodes;
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
      nodes.insert(nodes.end(), one.nodes.begin(), one.nodes.end());
    }
  }
  if (nodes.empty()) choice.WaitFor(later.empty() ? "its reservation has no nodes" : later);
  choice.Keep([&](const SlurmFacts::Node& node) { return IsOneOf(nodes, node.name); },
              [] { return std::string("no node of its reservation can be used"); });
}

// --nodelist: Slurm gives a job all of these.
void TakeNodeList(const SlurmJob& job, const std::vector<std::string>& asked, NodeChoice& choice) {
  if (asked.empty()) return;
  const std::vector<std::string> there = choice.Names();
  for (const std::string& name : asked) {
    if (IsOneOf(there, name)) continue;
    choice.WaitFor(
        fmt::format("its --nodelist names {}, which is not among the nodes that it may "
                    "run on; `scontrol show node {}` says how that node is",
                    core::Quoted(name), name));
  }
  if (static_cast<int>(asked.size()) < job.nodes_wanted) {
    choice.WaitFor(
        fmt::format("it asks for {} nodes, and its --nodelist names {} of them; name "
                    "all of them, or leave others out with --exclude",
                    job.nodes_wanted, asked.size()));
  }
  choice.Keep([&](const SlurmFacts::Node& node) { return IsOneOf(asked, node.name); },
              [] { return std::string(); });
  for (const SlurmFacts::Node* node : choice.nodes()) {
    const std::string& first = choice.nodes().front()->model;
    if (node->gpus == 0 || node->model == first) continue;
    choice.WaitFor(
        fmt::format("its --nodelist names nodes of {} and of {}, and Sharewell gives a "
                    "job GPUs of one model",
                    first, node->model));
  }
}

// --constraint. Where all its nodes must be alike, they are those of which there are the most GPUs.
void TakeConstraint(const SlurmJob& job, NodeChoice& choice) {
  const auto constraint = SlurmConstraint::Parse(job.features, std::max(job.nodes_wanted, 1));
  if (!constraint) return;
  std::size_t best = 0;
  int most = -1;
  for (std::size_t way = 0; way < constraint->ways(); ++way) {
    int gpus = 0;
    for (const SlurmFacts::Node* node : choice.nodes()) {
      if (constraint->Allows(node->features, way)) gpus += node->gpus;
    }
    if (gpus > most) best = way;
    most = std::max(most, gpus);
  }
  choice.Keep([&](const SlurmFacts::Node& node) { return constraint->Allows(node.features, best); },
              [&] {
                return fmt::format(
                    "no node that it may run on has the features of its --constraint {}",
                    core::Quoted(job.features));
              });
}

// As long as it may run, as Slurm reckons: a year without a limit.
core::UnixMillis LongestRun(const SlurmJob& job, const SlurmFacts& facts) {
  constexpr double kYear = 365 * 86400;
  std::optional<core::Seconds> limit = job.time_limit;
  if (const auto found = facts.partition_limits.find(job.partition);
      !limit && found != facts.partition_limits.end()) {
    limit = found->second;
  }
  return static_cast<core::UnixMillis>(std::min(limit ? limit->value : kYear, kYear) * 1e3);
}

// Slurm starts no job where it would run into a reservation that is not its own.
void LeaveRoomForReservations(const SlurmJob& job, const SlurmFacts& facts, NodeChoice& choice) {
  if (!job.reservation.empty()) return;
  const core::UnixMillis end = facts.now + LongestRun(job, facts);
  const SlurmReservation* first = nullptr;
  std::vector<const SlurmReservation*> in_the_way;
  for (const auto& [name, one] : facts.reservations) {
    if (one.start <= facts.now || one.start >= end) continue;
    in_the_way.push_back(&one);
    if (first == nullptr || one.start < first->start) first = &one;
  }
  if (in_the_way.empty()) return;
  choice.Keep(
      [&](const SlurmFacts::Node& node) {
        return std::none_of(in_the_way.begin(), in_the_way.end(),
                            [&](const auto* one) { return IsOneOf(one->nodes, node.name); });
      },
      [&] {
        return fmt::format(
            "reservation {} begins at {}, before {} on each node that it may run on; with a "
            "shorter --time it may run before that",
            core::Quoted(first->name), SlurmTimeInWords(first->start),
            job.time_limit ? "its time limit ends" : "a job without a time limit ends");
      });
}

// GPUs of each node that it may run on, by model.
using GpusOfNodes = std::map<std::string, std::vector<int>>;

GpusOfNodes GpusByModel(const std::vector<std::string>& models, const NodeChoice& choice) {
  GpusOfNodes gpus;
  for (const SlurmFacts::Node* node : choice.nodes()) {
    if (node->gpus > 0 && (models.empty() || IsOneOf(models, node->model))) {
      gpus[node->model].push_back(node->gpus);
    }
  }
  return gpus;
}

int NodesWith(int gpus, const std::vector<int>& of_nodes) {
  return static_cast<int>(
      std::count_if(of_nodes.begin(), of_nodes.end(), [&](int has) { return has >= gpus; }));
}

// Slurm is told what a job has on a node, the same for each; all of one model.
void TakeNodeCount(const SlurmJob& job, int gpus, const GpusOfNodes& of_nodes, StartTerms& terms) {
  const auto fits = [&](int nodes) {
    return gpus % nodes == 0 && std::any_of(of_nodes.begin(), of_nodes.end(), [&](const auto& one) {
             return NodesWith(gpus / nodes, one.second) >= nodes;
           });
  };
  const int asked = std::max(job.nodes_wanted, 1);
  const int most = job.nodes_most > 0 ? std::max(job.nodes_most, asked) : gpus;
  int nodes = asked;
  // As many nodes as it takes, where their number was left open.
  while (nodes < most && !fits(nodes)) ++nodes;
  if (fits(nodes)) {
    if (gpus > 1) terms.gpus_a_node = gpus / nodes;
    return;
  }
  if (!terms.waits_for.empty()) return;
  int largest = 0, enough = 0;
  for (const auto& [model, has] : of_nodes) {
    largest = std::max(largest, *std::max_element(has.begin(), has.end()));
    enough += NodesWith(gpus / asked, has);
  }
  if (gpus % asked == 0 && enough >= asked) {
    terms.waits_for = fmt::format(
        "no GPU model has {} on each of {}, and Sharewell gives a job GPUs of one model; ask for "
        "another number of nodes (--nodes)",
        GpusInWords(gpus / asked), core::Count(static_cast<std::uint64_t>(asked), "node"));
    return;
  }
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
void KeepToNodesLikeBefore(const JobNote& note, NodeChoice& choice) {
  const auto was_plain = WasOnPlainGpus(note);
  if (!was_plain) return;
  std::vector<std::string> had = note.put->kept;
  for (const JobNote::OnNode& on : note.put->nodes) {
    had.insert(had.end(), on.slots.begin(), on.slots.end());
  }
  choice.Keep(
      [&](const SlurmFacts::Node& node) {
        if (node.plain != *was_plain) return false;
        return node.plain || std::all_of(had.begin(), had.end(), [&](const std::string& slot) {
                 return IsOneOf(node.slots, slot);
               });
      },
      [] {
        return std::string(
            "no node has all GPU slots that it was given before, of which Slurm cannot let go; "
            "`scancel` it and submit it again");
      });
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
  NodeChoice choice(facts, note.ask.gpus > 0, terms);
  if (!job.reservation.empty()) TakeReservation(job, facts, choice);
  TakeNodeList(job, note.ask.nodes, choice);
  KeepToNodesLikeBefore(note, choice);
  choice.Keep([&](const SlurmFacts::Node& node) { return !IsOneOf(job.excluded_nodes, node.name); },
              [] { return std::string("its --exclude leaves no node that it may run on"); });
  TakeConstraint(job, choice);
  LeaveRoomForReservations(job, facts, choice);
  const bool some = !choice.all();
  // Whoever names a node may run there, reserved or not.
  if (some && job.reservation.empty()) {
    choice.Keep([](const SlurmFacts::Node& node) { return !node.reserved; },
                [] { return std::string("each node that it may run on is reserved now"); });
  }
  if (some || !job.reservation.empty()) terms.nodes = choice.Names();
  const auto of_nodes = GpusByModel(models, choice);
  int all = 0;
  for (const auto& [model, has] : of_nodes) all = std::accumulate(has.begin(), has.end(), all);
  if (note.ask.gpus > 0 && note.ask.gpus <= all) {
    TakeNodeCount(job, note.ask.gpus, of_nodes, terms);
  } else if (note.ask.gpus > all && !terms.nodes.empty()) {
    // What is more than all there is, is told by whoever admits it.
    choice.WaitFor(fmt::format("it asks for {}{}{}, and the nodes that it may run on have {}: {}",
                               GpusInWords(note.ask.gpus), models.empty() ? "" : " of ",
                               fmt::join(models, " or "), all, fmt::join(terms.nodes, ",")));
  }
  return terms;
}

core::UnixMillis TermsHoldUntil(const SlurmJob& job, const std::string& kept,
                                const SlurmFacts& facts) {
  if (!job.reservation.empty() || !WaitsFor(job, kept, facts).empty()) return facts.now;
  core::UnixMillis until = std::numeric_limits<core::UnixMillis>::max();
  for (const auto& [name, one] : facts.reservations) {
    const core::UnixMillis in_the_way = one.start - LongestRun(job, facts) + 1;
    if (in_the_way > facts.now) until = std::min(until, in_the_way);
  }
  return until;
}

}  // namespace sharewell::engine
