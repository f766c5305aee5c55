#include "supervise/tree.h"

#include <dirent.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "platform/process/process_handle.h"

namespace sharewell::supervise {
namespace {

using platform::ProcessLife;
using platform::ReadProcessLife;

struct Process {
  pid_t pid, parent;
  std::uint64_t start;
  bool ours;
};

int ByPid(const void* a, const void* b) {
  return static_cast<const Process*>(a)->pid - static_cast<const Process*>(b)->pid;
}

// A snapshot of the machine's processes, by pid; null: out of memory.
Process* AllProcesses(std::size_t& count) {
  DIR* entries = ::opendir("/proc");
  if (entries == nullptr) return nullptr;
  Process* all = nullptr;
  std::size_t room = 0;
  count = 0;
  while (const dirent* entry = ::readdir(entries)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    ProcessLife life;
    if (!ReadProcessLife(pid, life) || life.state == 'Z' || life.state == 'X') continue;
    if (count == room) {
      room = room == 0 ? 1024 : room * 2;
      auto* more = static_cast<Process*>(std::realloc(all, room * sizeof(Process)));
      if (more == nullptr) break;
      all = more;
    }
    all[count++] = {pid, life.parent, life.start, false};
  }
  ::closedir(entries);
  if (count > 0) std::qsort(all, count, sizeof(Process), ByPid);
  return all;
}

// Of a process and the parent that the snapshot has: the one may have been read when the other's
// number was somebody else's. What both are now, read in this order, is so.
bool IsChildOf(const Process& child, const Process& parent) {
  ProcessLife now, its;
  if (!ReadProcessLife(child.pid, now) || now.start != child.start) return false;
  if (now.parent == ::getpid()) return true;  // its parent has ended meanwhile
  return now.parent == parent.pid && ReadProcessLife(parent.pid, its) && its.start == parent.start;
}

}  // namespace

int SignalTree(int signal) {
  std::size_t count = 0;
  Process* all = AllProcesses(count);
  const pid_t self = ::getpid();
  bool more = true;
  while (more) {
    more = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (all[i].ours) continue;
      const Process key{all[i].parent, 0, 0, false};
      const auto* parent =
          static_cast<const Process*>(std::bsearch(&key, all, count, sizeof(Process), ByPid));
      all[i].ours = all[i].parent == self ||
                    (parent != nullptr && parent->ours && IsChildOf(all[i], *parent));
      more = more || all[i].ours;
    }
  }
  int found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!all[i].ours) continue;
    ++found;
    platform::SignalProcess(all[i].pid, all[i].start, signal);
  }
  std::free(all);
  return found;
}

}  // namespace sharewell::supervise
