// Submission: what a user asks of a real machine: a command, what it may use, and what is known of
// its needs. Plain data; who may ask is decided elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/estimate.h"
#include "core/job/profile.h"
#include "core/units.h"

namespace sharewell::core {

// Who asks, as the kernel or a token told; never what the request says of itself.
struct Account {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool admin = false;

  friend bool operator==(const Account&, const Account&) = default;
};

// What a job is believed to need, alone, on `profile.gpu`, and where that comes from.
struct Needs {
  Sources sources;
  std::string from;  // in words: "profile resnet50", "resnet50.onnx at batch 64", "job 12"
  Profile profile;   // what is not known is absent
  std::optional<Bytes> gpu_memory_upper;  // 95 % bound
  std::optional<double> cores_upper;      // likewise
  std::optional<Seconds> duration;        // alone on `profile.gpu`
  // Of a prediction that a server made: which graph of its store it is of, how the weights are
  // updated, and whether the predictor had learnt from that server's own runs.
  std::string graph = {}, optimizer = {};
  bool retrained = false;
  // A guess by its script's last run, until it has told its own step.
  bool guessed = false;
  // 95 % bounds of profile.steps_per_second, where that was predicted.
  std::optional<double> pace_low = {}, pace_high = {};

  friend bool operator==(const Needs&, const Needs&) = default;
};

struct Submission {
  std::string name;  // for people; empty: made from the command
  std::vector<std::string> command;
  std::string folder;                                            // to start in, absolute
  std::vector<std::pair<std::string, std::string>> environment;  // all of it, ours is added
  int gpus = 1;                                                  // 0: a CPU-only job
  std::optional<double> cores;                                   // absent: as many as it needs
  std::optional<Bytes> gpu_memory;                               // the user's own bound, a GPU
  std::optional<Bytes> memory;          // of the host; it is killed above it
  std::vector<std::string> gpu_models;  // empty: any
  bool exclusive = false;
  std::optional<Ratio> max_slowdown;  // absent: the server's
  int priority = 0;
  std::optional<Ratio> sm_share;       // of each GPU, at most; absent: the policy decides
  bool latency_sensitive = false;      // its kernels go before those of its neighbours
  bool no_guests = false;              // no job of which nothing is known starts beside it
  std::optional<std::uint32_t> umask;  // of its process; absent: 022
  std::optional<Seconds> time_limit;
  std::string image;                // container; empty: none
  std::vector<std::int64_t> after;  // jobs that must have finished well before it starts
  bool held = false;
  bool requeue = true;               // after a reboot or a lost GPU; false: it has failed then
  std::string profile;               // name of a profile in the store; empty: none named
  std::optional<Needs> needs;        // what the client predicted or knows
  bool terminal = false;             // it has one of its own, and ends with it; never requeued
  std::string array;                 // "ID_INDEX" parts share an id: jobs of one sweep; empty: none
  std::optional<int> array_at_once;  // so many of the array run at once; absent: no bound
  std::string project = {};          // of its user's, whose share it counts to; empty: the only one
  bool watch = true;                 // its steps are counted and told from inside of it
  // Which script it runs, as its client saw it: a digest of its path and of what it says. Empty:
  // none that the client knows.
  std::string script = {};

  friend bool operator==(const Submission&, const Submission&) = default;
};

// Jobs with the same key are runs of the same thing: what one was measured to need, the next is
// believed to. The profile's name where one is named, else the model that it brings, the command,
// and what shapes it: one command may train any model.
std::string WorkloadKey(const Submission& submission);
// Such a key as people write it; folders, which may be anybody's own, are left out.
std::string WorkloadName(std::string_view key);
// The same of one user's jobs alone: whoever starts a command decides what it does.
std::string OwnedKey(const std::string& user, const std::string& workload_key);

// The id of its array; empty: it is of none.
std::string ArrayOf(const Submission& submission);
// The same where not all of it may run at once; else empty.
std::string LimitedArrayOf(const Submission& submission);

// The name people see: the given one, or the command's first words, without folders.
std::string DisplayName(const Submission& submission);

}  // namespace sharewell::core
