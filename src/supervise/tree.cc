#include "supervise/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sharewell::supervise {
namespace {

struct Process {
  pid_t pid, parent;
  bool ours;
};

int ByPid(const void* a, const void* b) {
  return static_cast<const Process*>(a)->pid - static_cast<const Process*>(b)->pid;
}

// 0: it is gone, or a zombie.
pid_t ParentOf(const char* pid) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (n <= 0) return 0;
  text[n] = 0;
  // The name may hold anything, brackets too: what follows the last one is ours to read.
  const char* after = std::strrchr(text, ')');
  if (after == nullptr || after[1] != ' ' || after[2] == 'Z' || after[2] == 'X') return 0;
  return static_cast<pid_t>(std::strtol(after + 3, nullptr, 10));
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
    const pid_t parent = ParentOf(entry->d_name);
    if (parent == 0) continue;
    if (count == room) {
      room = room == 0 ? 1024 : room * 2;
      auto* more = static_cast<Process*>(std::realloc(all, room * sizeof(Process)));
      if (more == nullptr) break;
      all = more;
    }
    all[count++] = {static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)), parent, false};
  }
  ::closedir(entries);
  if (count > 0) std::qsort(all, count, sizeof(Process), ByPid);
  return all;
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
      const Process key{all[i].parent, 0, false};
      const auto* parent =
          static_cast<const Process*>(std::bsearch(&key, all, count, sizeof(Process), ByPid));
      all[i].ours = all[i].parent == self || (parent != nullptr && parent->ours);
      more = more || all[i].ours;
    }
  }
  int found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!all[i].ours) continue;
    ++found;
    ::kill(all[i].pid, signal);
  }
  std::free(all);
  return found;
}

}  // namespace sharewell::supervise
