// The fields of core::Submission and core::Needs: one list, from which every format comes that
// keeps or sends them: the API's JSON, the JSON of a job in the store, and the spec of a run
// (docs/formats/jobs.md). A field that is not listed does not compile: each list begins with a
// structured binding, which must name all members.
//
//   EachField(submission, [&](const json::Field& field, auto& value) { ... });
//
// The order is that of the JSON. Names differ between formats and are public: they never change.
#pragma once

#include "core/job/submission.h"
#include "core/sm_share.h"
#include "json/within.h"

namespace sharewell::json {

struct Field {
  const char* key = "";   // in JSON
  const char* spec = "";  // in the spec of a run
  // What a client may send: of a number its value, of a text its characters, of a list its entries.
  Within within = {};
  const char* job_key = nullptr;  // in a job's JSON, which has what it was given at `key`
  bool bytes = false;             // any bytes but a zero one; other texts are UTF-8
  bool empty_is_null = false;     // an empty text or 0 is written as null: not known
  bool written = true;            // false: there is nothing to say, and older programs never did
  bool always = false;            // of a source: the first never stands for it
};

inline constexpr double kMostName = 200, kMostPath = 4096;
inline constexpr Within kNameWithin{0, kMostName}, kPathWithin{0, kMostPath}, kShareWithin{0, 1},
    kBytesWithin{1, 1e15}, kRatesWithin{0, 1e15}, kSecondsWithin{0.001, 1e9};

template <class Submission, class Visitor>
void EachSubmissionField(Submission& submission, Visitor& field) {
  auto& [name, command, folder, environment, gpus, cores, gpu_memory, memory, gpu_models, exclusive,
         max_slowdown, priority, sm_share, latency_sensitive, no_guests, umask, time_limit, image,
         after, held, requeue, profile, needs, terminal, array, array_at_once, project, watch,
         script] = submission;
  field(Field{.key = "name", .spec = "asked_name", .within = kNameWithin}, name);
  // Longer words than the kernel's 128 KiB are refused by exec, with the kernel's own message.
  field(Field{.key = "command", .spec = "asked_word", .within = {0, 65'536}, .bytes = true},
        command);
  field(Field{.key = "folder", .spec = "asked_folder", .within = kPathWithin, .bytes = true},
        folder);
  field(Field{.key = "environment", .spec = "asked_env", .within = {0, 10'000}, .bytes = true},
        environment);
  field(Field{.key = "gpu_models", .spec = "asked_gpu_model", .within = {0, 64}}, gpu_models);
  field(Field{.key = "exclusive", .spec = "asked_exclusive"}, exclusive);
  field(Field{.key = "max_slowdown", .spec = "asked_max_slowdown", .within = {1, 100}},
        max_slowdown);
  field(Field{.key = "priority", .spec = "asked_priority", .within = {-1e6, 1e6}}, priority);
  field(Field{.key = "latency_sensitive", .spec = "asked_latency_sensitive"}, latency_sensitive);
  field(Field{.key = "no_guests", .spec = "asked_no_guests"}, no_guests);
  field(Field{.key = "time_limit_seconds", .spec = "asked_time_limit", .within = kSecondsWithin},
        time_limit);
  field(Field{.key = "image", .spec = "asked_image", .within = kPathWithin, .empty_is_null = true},
        image);
  field(Field{.key = "after", .spec = "asked_after", .within = {0, 1000}}, after);
  field(Field{.key = "held", .spec = "asked_held"}, held);
  field(Field{.key = "requeue", .spec = "asked_requeue"}, requeue);
  field(Field{.key = "terminal", .spec = "asked_terminal"}, terminal);
  field(Field{.key = "umask", .spec = "asked_umask"}, umask);
  field(
      Field{
          .key = "profile", .spec = "asked_profile", .within = kNameWithin, .empty_is_null = true},
      profile);
  field(Field{.key = "array", .spec = "asked_array", .within = kNameWithin, .empty_is_null = true},
        array);
  field(Field{.key = "array_at_once", .spec = "asked_array_at_once", .within = {1, 1e6}},
        array_at_once);
  field(Field{.key = "project",
              .spec = "asked_project",
              .within = kNameWithin,
              .empty_is_null = true,
              .written = !project.empty()},
        project);
  field(Field{.key = "watch", .spec = "asked_watch"}, watch);
  field(
      Field{
          .key = "script_digest", .spec = "asked_script", .within = {0, 64}, .empty_is_null = true},
      script);
  field(Field{.key = "gpus", .spec = "asked_gpus", .within = {0, 64}, .job_key = "gpus_asked"},
        gpus);
  field(
      Field{
          .key = "cores", .spec = "asked_cores", .within = {0.01, 4096}, .job_key = "cores_asked"},
      cores);
  field(Field{.key = "gpu_memory_bytes",
              .spec = "asked_gpu_memory",
              .within = kBytesWithin,
              .job_key = "gpu_memory_asked_bytes"},
        gpu_memory);
  field(Field{.key = "memory_bytes",
              .spec = "asked_memory",
              .within = kBytesWithin,
              .job_key = "memory_asked_bytes"},
        memory);
  field(Field{.key = "sm_share",
              .spec = "asked_sm_share",
              .within = {core::kLeastSmShare, 1},
              .job_key = "sm_share_asked"},
        sm_share);
  // In a spec its fields stand for it.
  field(Field{.key = "needs", .job_key = "needs_given"}, needs);
}

template <class Needs, class Visitor>
void EachNeedsField(Needs& needs, Visitor& field) {
  auto& [sources, from, profile, gpu_memory_upper, cores_upper, duration, graph, optimizer,
         retrained, guessed, pace_low, pace_high] = needs;
  auto& [workload, gpu, steps_per_second, busy, sm, dram, gpu_memory, pcie, cpu_cores, host_memory,
         host_bandwidth, power, kernel_time, kernels, cpu_curve] = profile;
  auto& [workload_name, batch, precision, workers] = workload;
  auto& [source, sm_source, memory_source, cores_source, host_source, duration_source,
         pace_source] = sources;
  // The first stands for the others where they are not there: once it was the only one. A rate that
  // nobody says was observed was not (core::SourcesByOne).
  field(Field{.key = "source", .spec = "needs_source"}, source);
  field(Field{.key = "sm_source", .spec = "needs_sm_source"}, sm_source);
  field(Field{.key = "gpu_memory_source", .spec = "needs_gpu_memory_source"}, memory_source);
  field(Field{.key = "cores_source", .spec = "needs_cores_source"}, cores_source);
  field(Field{.key = "host_memory_source", .spec = "needs_host_memory_source"}, host_source);
  field(Field{.key = "duration_source", .spec = "needs_duration_source"}, duration_source);
  field(Field{.key = "pace_source", .spec = "needs_pace_source", .always = true}, pace_source);
  field(Field{.key = "from", .spec = "needs_from", .within = kNameWithin}, from);
  field(Field{.key = "workload",
              .spec = "needs_workload",
              .within = kNameWithin,
              .empty_is_null = true},
        workload_name);
  field(Field{.key = "batch", .spec = "needs_batch", .within = {0, 1e9}, .empty_is_null = true},
        batch);
  field(Field{.key = "precision",
              .spec = "needs_precision",
              .within = kNameWithin,
              .empty_is_null = true},
        precision);
  field(Field{.key = "workers", .spec = "needs_workers", .within = {0, 1e6}, .empty_is_null = true},
        workers);
  field(Field{.key = "gpu", .spec = "needs_gpu", .within = kNameWithin, .empty_is_null = true},
        gpu);
  field(Field{.key = "busy", .spec = "needs_busy", .within = kShareWithin}, busy);
  field(Field{.key = "sm", .spec = "needs_sm", .within = kShareWithin}, sm);
  field(Field{.key = "dram", .spec = "needs_dram", .within = kShareWithin}, dram);
  field(Field{.key = "gpu_memory_bytes", .spec = "needs_gpu_memory", .within = kRatesWithin},
        gpu_memory);
  field(Field{.key = "gpu_memory_upper_bytes",
              .spec = "needs_gpu_memory_upper",
              .within = kRatesWithin},
        gpu_memory_upper);
  field(Field{.key = "cpu_cores", .spec = "needs_cpu_cores", .within = {0, 4096}}, cpu_cores);
  field(Field{.key = "cores_upper", .spec = "needs_cores_upper", .within = {0, 4096}}, cores_upper);
  field(Field{.key = "host_memory_bytes", .spec = "needs_host_memory", .within = kRatesWithin},
        host_memory);
  field(Field{.key = "pcie_bytes_per_second", .spec = "needs_pcie", .within = kRatesWithin}, pcie);
  field(Field{.key = "host_bandwidth_bytes_per_second",
              .spec = "needs_host_bandwidth",
              .within = kRatesWithin},
        host_bandwidth);
  field(Field{.key = "power_watts", .spec = "needs_power", .within = {0, 1e6}}, power);
  field(Field{.key = "kernel_seconds", .spec = "needs_kernel_time", .within = {0, 1e6}},
        kernel_time);
  field(Field{.key = "kernels_per_step", .spec = "needs_kernels", .within = {0, 1e12}}, kernels);
  field(Field{.key = "steps_per_second", .spec = "needs_steps_per_second", .within = {0, 1e9}},
        steps_per_second);
  field(
      Field{
          .key = "steps_per_second_low", .spec = "needs_steps_per_second_low", .within = {0, 1e9}},
      pace_low);
  field(Field{.key = "steps_per_second_high",
              .spec = "needs_steps_per_second_high",
              .within = {0, 1e9}},
        pace_high);
  field(Field{.key = "duration_seconds", .spec = "needs_duration", .within = kSecondsWithin},
        duration);
  // Of a server's own prediction, all three or none.
  const bool by_server = !graph.empty() || !optimizer.empty() || retrained;
  field(Field{.key = "graph", .spec = "needs_graph", .within = kNameWithin, .written = by_server},
        graph);
  field(Field{.key = "optimizer",
              .spec = "needs_optimizer",
              .within = kNameWithin,
              .empty_is_null = true,
              .written = by_server},
        optimizer);
  field(Field{.key = "retrained", .spec = "needs_retrained", .written = by_server}, retrained);
  field(Field{.key = "guessed", .spec = "needs_guessed", .written = guessed}, guessed);
  field(Field{.key = "cpu_curve",
              .spec = "needs_cpu_curve",
              .within = {0, 1000},
              .written = !cpu_curve.empty()},
        cpu_curve);
}

// `visitor(field, value)` for each field; the value is const where the object is.
template <class Visitor>
void EachField(const core::Submission& submission, Visitor&& visitor) {
  EachSubmissionField(submission, visitor);
}
template <class Visitor>
void EachField(core::Submission& submission, Visitor&& visitor) {
  EachSubmissionField(submission, visitor);
}
template <class Visitor>
void EachField(const core::Needs& needs, Visitor&& visitor) {
  EachNeedsField(needs, visitor);
}
template <class Visitor>
void EachField(core::Needs& needs, Visitor&& visitor) {
  EachNeedsField(needs, visitor);
}

}  // namespace sharewell::json
