// The processes of a job: the command, all it started, and what left its tree and was adopted by
// this process (which must be a subreaper).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::platform {

// A process by the kernel's account of it.
struct ProcessStat {
  int pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';         // 'Z': a zombie
  std::uint64_t start = 0;  // ticks since boot: tells a number used again from the one before
};
// Of "/proc/PID/stat"; false when it is none (the process is gone).
bool ReadProcessStat(int pid, ProcessStat& out);

// Resident memory of the processes, pages that several share divided among those who share them;
// absent where the kernel does not tell. Costs milliseconds for a large process: not for every
// tick.
std::optional<core::Bytes> ProportionalMemory(const std::vector<int>& pids);

class Descendants {
 public:
  // `mark`: an environment entry "NAME=VALUE" that only this job's processes carry. `group`: its
  // process group, or 0 where that is not its own.
  Descendants(int root, int group, std::string mark);

  // Alive now, rising. Zombies that we have to reap are reaped, the root aside.
  std::vector<int> Alive();
  // To all that are alive now, and to nobody who has a number of theirs by then.
  void Signal(int signal);

 private:
  void AddTree(int pid, std::set<int>& found) const;
  bool IsOurs(int adopted) const;

  int root_, group_;
  std::string mark_;
  std::map<int, std::uint64_t> known_;  // alive when last looked, and when each began
};

}  // namespace sharewell::platform
