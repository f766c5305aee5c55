// A placement in Slurm's words: what a start asks for becomes a note and the lines that scontrol is
// given, and what Slurm has afterwards is checked against it. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine/cluster_control.h"
#include "engine/runner.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// They stand for its memory: a job that shares its GPU has as many as it is believed to need, or
// half of what is free where that is not known; one that does not has all.
constexpr int kShardsOfGpu = 100;

// "17", or "12_3" of an array, whose other tasks an update of "12" would change too.
std::string SlurmName(const SlurmJob& job);

// GPUs are known as "NODE/SLOT".
std::string SlurmGpuUuid(const std::string& node, const std::string& slot);

// GPUs without shards are counted, not chosen: on such a node they are called gpu0, gpu1, ... and
// which one a job has is Slurm's to say. Each is one job's.
std::string PlainGpu(int number);
bool IsPlainGpu(std::string_view slot);
// Of a request as Slurm words it, the GPUs of each node.
int PlainGpusIn(const SlurmJob& job);
// Whether its last place was such GPUs: Slurm 22.05 never makes shards of them, nor the other way
// round. Absent: it had none.
std::optional<bool> WasOnPlainGpus(const JobNote& note);

// "V100" of a node: the first of its features, or types of its GPUs, that is one. Absent: none is.
std::optional<KnownGpuModel> ModelOfNode(const SlurmNode& node, const GpuModelNamed& named);

// The note of a start. `before`: the place that its note had. `free`: shards that nobody has, by
// GPU. `memory`: of each GPU, by model. An error: Slurm could never be told so, or there is no
// room; why.
core::Result<JobNote::Put> PutOf(const RunRequest& request, const SlurmJob& job,
                                 const std::optional<JobNote::Put>& before,
                                 const std::map<std::string, int>& free, core::Bytes memory);

// Which GPUs a note's place is, and how many shards of each.
std::map<std::string, int> ShardsOf(const JobNote::Put& put);

struct SlurmPlaceOptions {
  bool admin = true;  // the note stands in AdminComment; else in Comment
};
// `note` has a put. The job is held.
core::Result<std::vector<std::string>> PlaceLines(const SlurmJob& job, const JobNote& note,
                                                  const SlurmPlaceOptions& options);
// What of it does not hold: an update is not atomic. Empty: all does, and it is held.
std::string WhatDiffers(const SlurmJob& job, const JobNote& note, const SlurmPlaceOptions& options);
// So that any GPU may be set next: only TresPerNode clears.
std::vector<std::string> ClearLines(const SlurmJob& job);
bool IsHeldJob(const SlurmJob& job);  // pending, at priority 0

// The note that stands in it, if any.
std::optional<JobNote> NoteIn(const SlurmJob& job, bool admin);

// "1:30:00"
std::string SlurmTime(core::Seconds time);

// How it ended. REQUIRES: it is over.
RunEnd EndOf(const SlurmJob& job);

}  // namespace sharewell::engine
