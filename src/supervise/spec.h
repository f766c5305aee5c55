// What to run and how, read from a job's folder (docs/formats/jobs.md).
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sharewell::supervise {

// A list of strings that ends with a null pointer, as execve wants it.
struct Words {
  char** words = nullptr;
  std::size_t count = 0;
};

// Points into the file's bytes, which are never freed: one spec a process.
struct Spec {
  Words command, environment, groups_to_enter;
  Words cleanup;                   // run at the end where the command was killed; may be empty
  const char* folder = "/";        // to start in
  const char* home = nullptr;      // to start in instead, where it is there
  const char* logs = nullptr;      // folder
  const char* group = nullptr;     // folder of its one group, where that is of v2
  const char* no_forks = nullptr;  // pids.max of its group
  const char* kill_all = nullptr;  // cgroup.kill of its group
  bool terminal = false;           // one of its own instead of pipes
  bool has_user = false;
  uid_t uid = 0;
  gid_t gid = 0;
  gid_t* groups = nullptr;
  std::size_t group_count = 0;
  cpu_set_t* cpus = nullptr;  // none: as ours
  std::size_t cpus_size = 0;
  std::int64_t log_limit = 64 << 20;  // bytes a stream
  const char* ledger = nullptr;       // of all logs; none: no bound but this stream's
  std::int64_t log_row = -1;          // its row there
  std::int64_t user_log_limit = 0, all_log_limit = 0;
  std::int64_t time_limit_ms = 0;  // 0: none
  std::int64_t grace_ms = 20'000;
  mode_t umask = 022;
  Words limits;  // "RESOURCE SOFT HARD": numbers for setrlimit; "-": as it is
};

// False: there is none, or it is not whole.
bool ReadSpec(int folder, Spec& out);

}  // namespace sharewell::supervise
