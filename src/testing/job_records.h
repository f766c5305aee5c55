// Submissions and records of jobs.
#pragma once

#include <string>

#include "core/job/job_record.h"

namespace sharewell::testing {

// Every field of these differs from its default: a format that forgets one does not bring it back.
inline core::Needs FullNeeds() {
  core::Needs needs;
  using core::Source;
  needs.sources = {Source::kObserved,  Source::kPredicted, Source::kTold,    Source::kTold,
                   Source::kPredicted, Source::kTold,      Source::kObserved};
  needs.from = "profile resnet50";
  needs.profile.workload = {"tv:resnet50@224", 64, "bf16", 4};
  needs.profile.gpu = "H200";
  needs.profile.steps_per_second = 12.25;
  needs.profile.busy = 0.9;
  needs.profile.sm = 0.5;
  needs.profile.dram = 0.1;
  needs.profile.gpu_memory = core::GiB(9);
  needs.profile.pcie = core::GBps(1.5);
  needs.profile.cpu_cores = 2.5;
  needs.profile.host_memory = core::GiB(3);
  needs.profile.host_bandwidth = core::GBps(4);
  needs.profile.power = core::Watts(512.5);
  needs.profile.kernel_time = core::Seconds(2.5e-5);
  needs.profile.kernels = 941;
  needs.profile.cpu_curve = {{1, 0.5}, {4, 1}};
  needs.gpu_memory_upper = core::GiB(11);
  needs.cores_upper = 3.25;
  needs.duration = core::Seconds(3600.125);
  needs.graph = "5f3a";
  needs.optimizer = "adam";
  needs.retrained = true;
  needs.guessed = true;
  needs.pace_low = 9.5;
  needs.pace_high = 14.25;
  return needs;
}

// Some text of it is no UTF-8.
inline core::Submission FullSubmission() {
  core::Submission asked;
  asked.name = "resnet \"50\" \xc3\xa9t\xc3\xa9";
  asked.command = {"python", "train.py", "", "line\nbreak\ttab", "\xff\xfe raw"};
  asked.folder = "/home/\xe9nn";
  asked.environment = {{"PATH", "/bin"}, {"RAW", "\x80"}, {"N\xff", "x"}, {"EMPTY", ""}};
  asked.gpus = 2;
  asked.cores = 3.5;
  asked.gpu_memory = core::GiB(20);
  asked.memory = core::Bytes(123456789012345.0);
  asked.gpu_models = {"H200", "A100-80GB"};
  asked.exclusive = true;
  asked.max_slowdown = 1.1;
  asked.priority = -3;
  asked.sm_share = 0.6;
  asked.latency_sensitive = true;
  asked.no_guests = true;
  asked.time_limit = core::Seconds(7200.5);
  asked.image = "docker.io/library/python:3";
  asked.after = {3, 4};
  asked.held = true;
  asked.requeue = false;
  asked.terminal = true;
  asked.umask = 0027;
  asked.profile = "resnet50";
  asked.array = "17_3";
  asked.array_at_once = 4;
  asked.project = "vision";
  asked.watch = false;
  asked.script = "fedcba9876543210fedcba9876543210";
  asked.needs = FullNeeds();
  asked.needs->from = "resnet50.onnx at batch 64";
  asked.needs->sources.busy = core::Source::kPredicted;
  return asked;
}

inline core::JobRecord FullJob(std::int64_t number) {
  core::JobRecord job;
  job.number = number;
  job.user = {"ann", 1000, 1001, true};
  job.asked = FullSubmission();
  job.believed = FullNeeds();
  job.phase = core::Phase::kRunning;
  job.submitted = 1'700'000'000'000;
  job.started = 1'700'000'001'000;
  job.resumed = 1'700'000'002'000;
  job.ended = 1'700'000'003'000;
  job.expected_start = 1'700'000'004'000;
  job.attempt = 2;
  job.ooms = 1;
  job.evicted = 3;
  job.lost = 2;
  job.hold = core::hold::Paused{"ann"};
  job.cancelled = core::cancelled::ByUser{"ann"};
  job.paused = true;
  job.paused_at = 1'700'000'000'500;
  job.gpus = {{0, "GPU-1f", "H200"}, {3, "GPU-2e", "H200"}};
  job.gpu_gone = true;
  job.cores = 4.5;
  job.sm_share = 0.6;
  job.guest_memory = core::GiB(31);
  job.guest_oom = core::GiB(20);
  job.broke_gpu = true;
  job.beside = {12, 13};
  job.reason = "beside job 12, \xe2\x82\xac";
  job.note = "no cgroup here";
  job.exit_code = 137;
  job.steps = 1e15 + 0.5;
  job.steps_per_second = 0.1;
  job.steps_by = core::StepsBy::kWatcher;
  job.told.emplace().fingerprint = "0123456789abcdef0123456789abcdef";
  job.told->modules = "ResNet \xe2\x82\xac";
  job.told->batch = 64;
  job.told->compiled = false;
  job.told->peak = core::GiB(5.5);
  job.told->predicted = FullNeeds();
  job.alone = core::SeenRate{0.3, core::Seconds(45.5)};
  job.slowdown = 1.0 / 3;
  job.seen.cores = 1.25;
  job.seen.gpu_memory = core::GiB(3);
  job.run_time = core::Seconds(12.5);
  job.alone_time = core::Seconds(11.5);
  job.limit_extended = core::Seconds(360.5);
  return job;
}

// As they come from a queue.
inline core::JobRecord PlainJob(std::int64_t number, const std::string& user = "ann",
                                core::Phase phase = core::Phase::kWaiting) {
  core::JobRecord job;
  job.number = number;
  job.user.name = user;
  job.phase = phase;
  job.asked.name = "job " + std::to_string(number);
  job.asked.command = {"python3", "train.py", "--seed", std::to_string(number)};
  job.asked.folder = "/home/" + user;
  for (int i = 0; i < 20; ++i) {
    job.asked.environment.emplace_back("VARIABLE_" + std::to_string(i), "some value of it");
  }
  job.submitted = 1'700'000'000'000 + number;
  if (core::IsOver(phase)) job.ended = job.submitted + 1000;
  return job;
}

}  // namespace sharewell::testing
