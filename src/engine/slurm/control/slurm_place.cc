#include "engine/slurm/control/slurm_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/slurm/control/slurm_cores.h"
#include "engine/slurm/control/slurm_submission.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {

using core::Result;

std::string SlurmName(const SlurmJob& job) {
  if (job.array && job.array_task) return fmt::format("{}_{}", *job.array, *job.array_task);
  return fmt::format("{}", job.id);
}

std::string SlurmGpuUuid(const std::string& node, const std::string& slot) {
  return node + "/" + slot;
}

std::optional<KnownGpuModel> ModelOfNode(const SlurmNode& node, const GpuModelNamed& named) {
  for (const auto* names : {&node.features, &node.gpu_types}) {
    for (const std::string& name : *names) {
      if (auto model = named(name)) return model;
    }
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kPlainGpu = "gpu";

}  // namespace

std::string PlainGpu(int number) { return fmt::format("{}{}", kPlainGpu, number); }

bool IsPlainGpu(std::string_view slot) {
  return slot.starts_with(kPlainGpu) && SlurmWhole(slot.substr(kPlainGpu.size()), 1'000'000);
}

int PlainGpusIn(const SlurmJob& job) {
  const auto note = NoteOfRequest(job);
  return note ? (note->ask.gpus + std::max(job.nodes_wanted, 1) - 1) / std::max(job.nodes_wanted, 1)
              : 0;
}

std::optional<bool> WasOnPlainGpus(const JobNote& note) {
  if (!note.put || note.put->nodes.empty() || note.put->nodes.front().slots.empty()) {
    return std::nullopt;
  }
  return IsPlainGpu(note.put->nodes.front().slots.front());
}

namespace {

// That it has, or had at any time, but for those that it is given now.
std::vector<std::string> SlotsBefore(const SlurmJob& job, const std::optional<JobNote::Put>& before,
                                     const std::vector<std::string>& now) {
  std::set<std::string> slots;
  for (const SlurmSlot& slot : job.slots) slots.insert(slot.slot);
  if (before) {
    slots.insert(before->kept.begin(), before->kept.end());
    for (const JobNote::OnNode& on : before->nodes) slots.insert(on.slots.begin(), on.slots.end());
  }
  for (const std::string& slot : now) slots.erase(slot);
  return {slots.begin(), slots.end()};
}

// Slurm cannot change the shards of what runs. So a job that others may join later leaves them
// some, whatever turns out of it: by the memory that it is believed to need, else half of what is
// there. Whether their memory fits together is for the plan to say, which learns of it while they
// run.
int ShardsWanted(const RunRequest& request, core::Bytes memory, int left) {
  if (!request.shares) return kShardsOfGpu;
  if (!request.expected_memory || request.guest_memory || memory.value <= 0) {
    return (left + 1) / 2;
  }
  const core::Bytes most =
      request.gpu_memory ? std::min(*request.gpu_memory, memory) : *request.expected_memory;
  return std::clamp(static_cast<int>(std::ceil(most / memory * kShardsOfGpu)), 1, kShardsOfGpu);
}

}  // namespace

Result<JobNote::Put> PutOf(const RunRequest& request, const SlurmJob& job,
                           const std::optional<JobNote::Put>& before,
                           const std::map<std::string, int>& free, core::Bytes memory) {
  JobNote::Put put;
  put.attempt = request.id.attempt;
  put.cores = request.cores;
  std::map<std::string, std::vector<std::string>> slots;
  for (const std::string& node : request.nodes) slots[node];
  for (const core::GivenGpu& gpu : request.gpus) {
    const auto slash = gpu.uuid.find('/');
    if (slash == std::string::npos) return core::FailedError("GPU {} is none of Slurm's", gpu.uuid);
    slots[gpu.uuid.substr(0, slash)].push_back(gpu.uuid.substr(slash + 1));
  }
  for (auto& [node, of_node] : slots) {
    std::sort(of_node.begin(), of_node.end());
    put.nodes.push_back({node, of_node});
    if (of_node != slots.begin()->second) {
      return core::FailedError(
          "Slurm gives a job the same GPU slots on each of its nodes, and {} has other ones than "
          "{}",
          node, slots.begin()->first);
    }
  }
  if (put.nodes.empty()) return core::FailedError("it was given no node");
  const int nodes = static_cast<int>(put.nodes.size());
  if (nodes < job.nodes_wanted ||
      (job.nodes_most > 0 && nodes > std::max(job.nodes_wanted, job.nodes_most))) {
    return core::FailedError("it asks for {} (--nodes), and was given {}",
                             core::Count(static_cast<std::uint64_t>(job.nodes_wanted), "node"),
                             put.nodes.size());
  }
  if (request.gpus.empty()) return put;
  const bool plain = IsPlainGpu(put.nodes.front().slots.front());
  JobNote last;
  last.put = before;
  if (WasOnPlainGpus(last).value_or(plain) != plain) {
    return core::FailedError("Slurm cannot give a job that had {} once {} now",
                             plain ? "shards" : "whole GPUs", plain ? "whole GPUs" : "shards");
  }
  if (plain) return put;
  const auto free_of = [&](const std::string& node, const std::string& slot) {
    const auto found = free.find(SlurmGpuUuid(node, slot));
    return found == free.end() ? kShardsOfGpu : found->second;
  };
  if (!job.whole_nodes) put.kept = SlotsBefore(job, before, put.nodes.front().slots);
  for (const JobNote::OnNode& on : put.nodes) {
    for (const std::string& slot : put.kept) {
      if (free_of(on.node, slot) > 0) continue;
      return core::FailedError(
          "it was on slot {} before, of which Slurm wants it to keep one shard, and node {} has "
          "none free there",
          slot, on.node);
    }
  }
  int left = kShardsOfGpu;
  for (const JobNote::OnNode& on : put.nodes) {
    for (const std::string& slot : on.slots) left = std::min(left, free_of(on.node, slot));
  }
  put.shards = std::min(ShardsWanted(request, memory, left), left);
  if (left <= 0 || (!request.shares && left < kShardsOfGpu)) {
    return core::FailedError("{} of {} shards of its GPU are free, and it needs {}", left,
                             kShardsOfGpu, request.shares ? 1 : kShardsOfGpu);
  }
  if (request.thread_share) {
    put.sm_percent = std::clamp(static_cast<int>(std::lround(*request.thread_share * 100)), 1, 100);
  }
  if (request.gpu_memory) {
    put.gpu_memory_mib = static_cast<long>(request.gpu_memory->value / (1 << 20));
    put.guest = request.guest_memory.has_value();
  }
  return put;
}

std::map<std::string, int> ShardsOf(const JobNote::Put& put) {
  std::map<std::string, int> shards;
  for (const JobNote::OnNode& on : put.nodes) {
    for (const std::string& slot : on.slots) shards[SlurmGpuUuid(on.node, slot)] = put.shards;
    for (const std::string& slot : put.kept) shards[SlurmGpuUuid(on.node, slot)] = 1;
  }
  return shards;
}

std::vector<std::string> ClearLines(const SlurmJob& job) {
  std::vector<std::string> lines;
  // Any update lifts the hold of a job that Slurm holds for these: it would start half placed. As
  // its user holds it: those that an admin holds the watchdog leaves alone.
  if (job.reason == "BadConstraints") lines.push_back("uhold " + SlurmName(job));
  lines.push_back(fmt::format("update JobId={} TresPerNode=", SlurmName(job)));
  return lines;
}

Result<std::vector<std::string>> PlaceLines(const SlurmJob& job, const JobNote& note,
                                            const SlurmPlaceOptions& options) {
  const JobNote::Put& put = *note.put;
  std::vector<std::string> lines;
  if (!job.slots.empty() || !job.gres.empty() || job.restarts > 0 ||
      job.reason == "BadConstraints") {
    lines = ClearLines(job);
  }
  const auto words = ScontrolValue(FormatJobNote(note));
  RETURN_IF_ERROR(words);
  std::vector<std::string> names;
  for (const JobNote::OnNode& on : put.nodes) names.push_back(on.node);
  const auto nodes = ScontrolValue(fmt::format("{}", fmt::join(names, ",")));
  RETURN_IF_ERROR(nodes);
  // Before its GPUs: whoever comes after us must know which slots it may have had.
  lines.push_back(fmt::format("update JobId={} {}={}", SlurmName(job),
                              options.admin ? "AdminComment" : "Comment", *words));
  std::string line = fmt::format("update JobId={} ReqNodeList={}", SlurmName(job), *nodes);
  if (job.nodes_wanted != static_cast<int>(names.size())) {
    line += fmt::format(" NumNodes={0}-{0}", names.size());
  }
  if (!put.nodes.front().slots.empty()) {
    std::vector<std::string> gres;
    const auto& slots = put.nodes.front().slots;
    const bool plain = IsPlainGpu(slots.front());
    if (plain) gres.push_back(fmt::format("gpu:{}", slots.size()));
    // A job that has whole nodes has their GPUs and no shards: steps that ask for what the job does
    // (srun) would find none.
    for (std::size_t i = 0; i < slots.size() && !plain; ++i) {
      gres.push_back(job.whole_nodes ? fmt::format("gpu:{}:1", slots[i])
                                     : fmt::format("shard:{}:{}", slots[i], put.shards));
    }
    for (const std::string& slot : put.kept) gres.push_back(fmt::format("shard:{}:1", slot));
    const auto value = ScontrolValue(fmt::format("{}", fmt::join(gres, ",")));
    RETURN_IF_ERROR(value);
    line += fmt::format(" Gres={}", *value);
  }
  line += CpuFields(job, note.ask, static_cast<int>(put.cores), static_cast<int>(names.size()));
  if (job.restarts > 0) line += " StartTime=now";  // else it waits for its credential to expire
  lines.push_back(std::move(line));
  return lines;
}

bool IsHeldJob(const SlurmJob& job) {
  return job.phase == SlurmPhase::kPending && job.priority == 0;
}

std::optional<JobNote> NoteIn(const SlurmJob& job, bool admin) {
  return ParseJobNote(admin ? job.admin_comment : job.comment);
}

std::string WhatDiffers(const SlurmJob& job, const JobNote& note,
                        const SlurmPlaceOptions& options) {
  const JobNote::Put& put = *note.put;
  if (job.phase != SlurmPhase::kPending) return "it is " + job.phase_word;
  if (job.priority != 0) return "it is not held";
  std::set<std::string> nodes, required(job.required_nodes.begin(), job.required_nodes.end());
  for (const JobNote::OnNode& on : put.nodes) nodes.insert(on.node);
  if (nodes != required) return "its nodes are not those that were set";
  std::map<std::string, int> wanted, has;
  const auto& slots = put.nodes.front().slots;
  const bool plain = !slots.empty() && IsPlainGpu(slots.front());
  for (std::size_t i = 0; i < slots.size() && !plain; ++i) {
    wanted[slots[i]] = job.whole_nodes ? 1 : put.shards;
  }
  for (const std::string& slot : put.kept) wanted[slot] = 1;
  if (plain && PlainGpusIn(job) != static_cast<int>(slots.size())) {
    return "its GPUs are not as many as were set";
  }
  for (const SlurmSlot& slot : job.slots) has[slot.slot] += slot.shards;
  if (const auto gpus = ParseGres(job.gres); gpus && job.whole_nodes && !plain) {
    for (const SlurmGres& gpu : *gpus) has[gpu.type] += static_cast<int>(gpu.count);
  }
  std::erase_if(has, [](const auto& one) { return one.second == 0; });  // after a clear
  if (wanted != has) return "its GPUs are not those that were set";
  if (NoteIn(job, options.admin) != note) return "its note is not the one that was set";
  return {};
}

std::string SlurmTime(core::Seconds time) {
  const auto all = static_cast<std::int64_t>(std::ceil(std::max(time.value, 1.0)));
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

RunEnd EndOf(const SlurmJob& job) {
  RunEnd end;
  end.exit_code = job.exit_code.value_or(job.phase == SlurmPhase::kCompleted ? 0 : 1);
  if (end.exit_code > 128) end.signal = end.exit_code - 128;
  if (job.started && job.ended && *job.ended >= *job.started) {
    end.ran = core::Seconds(static_cast<double>(*job.ended - *job.started) / 1e3);
  }
  switch (job.phase) {
    case SlurmPhase::kTimedOut:
      end.timed_out = true;
      break;
    case SlurmPhase::kNodeFailed:
      end.lost = true;
      end.message = "its node went down under it";
      break;
    case SlurmPhase::kPreempted:
      end.stopped = true;
      end.message = "Slurm preempted it";
      break;
    case SlurmPhase::kOutOfMemory:
      end.message = "it used more host memory than it had asked for (--mem)";
      break;
    case SlurmPhase::kCancelled:
      end.message = "it was cancelled in Slurm";
      break;
    default:
      break;
  }
  const bool well = job.phase == SlurmPhase::kCompleted;
  if (!well && end.exit_code == 0) {
    end.exit_code = job.phase == SlurmPhase::kCancelled || end.timed_out ? 143 : 1;
    end.signal = end.exit_code > 128 ? 15 : 0;
  }
  return end;
}

}  // namespace sharewell::engine
