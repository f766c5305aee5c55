#include "platform/process/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <tuple>

#include "platform/process/process_handle.h"

namespace sharewell::platform {
namespace {

constexpr std::size_t kMostEnvironment = 1 << 20;

// At most `most` bytes; /proc files have no size to be read beforehand.
std::string ReadProc(const std::string& path, std::size_t most) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char block[4096];
  while (text.size() < most) {
    const ssize_t n = ::read(file, block, sizeof block);
    if (n <= 0) break;
    text.append(block, static_cast<std::size_t>(n));
  }
  ::close(file);
  return text;
}

std::vector<int> NumberedEntries(const std::string& folder) {
  std::vector<int> numbers;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = ::readdir(dir)) {
    int number = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [stop, error] = std::from_chars(entry->d_name, end, number);
    if (error == std::errc() && stop == end) numbers.push_back(number);
  }
  ::closedir(dir);
  return numbers;
}

std::vector<int> Numbers(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = error == std::errc() ? stop : at + 1;
    while (at < end && *at == ' ') ++at;
  }
  return numbers;
}

bool KernelListsChildren() {
  static const bool there = ::access("/proc/thread-self/children", R_OK) == 0;
  return there;
}

std::vector<int> ChildrenOf(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid) + "/task";
  std::vector<int> children;
  if (KernelListsChildren()) {
    for (const int thread : NumberedEntries(folder)) {
      const auto found =
          Numbers(ReadProc(folder + "/" + std::to_string(thread) + "/children", 1 << 20));
      children.insert(children.end(), found.begin(), found.end());
    }
    return children;
  }
  for (const int other : NumberedEntries("/proc")) {
    ProcessStat stat;
    if (ReadProcessStat(other, stat) && stat.parent == pid) children.push_back(other);
  }
  return children;
}

}  // namespace

bool ReadProcessStat(int pid, ProcessStat& out) {
  const std::string text = ReadProc("/proc/" + std::to_string(pid) + "/stat", 4096);
  // "PID (NAME) S PPID PGRP SESSION", and the start as field 22: the name may hold anything,
  // brackets too.
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return false;
  out.pid = pid;
  return std::sscanf(text.c_str() + name_end + 1,
                     " %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                     "%" SCNu64,
                     &out.state, &out.parent, &out.group, &out.session, &out.start) == 5;
}

std::optional<core::Bytes> ProportionalMemory(const std::vector<int>& pids) {
  constexpr std::string_view kField = "\nPss:";
  std::optional<core::Bytes> sum;
  for (const int pid : pids) {
    const std::string text = ReadProc("/proc/" + std::to_string(pid) + "/smaps_rollup", 4096);
    const std::size_t at = text.find(kField);
    double kibibytes = 0;
    if (at == text.npos || std::sscanf(text.c_str() + at + kField.size(), "%lf", &kibibytes) != 1) {
      continue;
    }
    sum = sum.value_or(core::Bytes(0)) + core::Bytes(kibibytes * 1024);
  }
  return sum;
}

Descendants::Descendants(int root, int group, std::string mark)
    : root_(root), group_(group), mark_(std::move(mark)) {}

void Descendants::AddTree(int pid, std::set<int>& found) const {
  if (!found.insert(pid).second) return;
  for (const int child : ChildrenOf(pid)) AddTree(child, found);
}

bool Descendants::IsOurs(int adopted) const {
  ProcessStat stat;
  if (!ReadProcessStat(adopted, stat)) return false;
  const auto known = known_.find(adopted);
  if (known != known_.end() && known->second == stat.start) return true;
  if (group_ != 0 && (stat.group == group_ || stat.session == group_)) return true;
  const std::string environment =
      ReadProc("/proc/" + std::to_string(adopted) + "/environ", kMostEnvironment);
  std::string_view rest = environment;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    if (entry == mark_) return true;
    rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
  }
  return false;
}

std::vector<int> Descendants::Alive() {
  std::set<int> found;
  AddTree(root_, found);
  for (const int child : ChildrenOf(::getpid())) {
    if (found.count(child) == 0 && IsOurs(child)) AddTree(child, found);
  }
  known_.clear();
  for (const int pid : found) {
    ProcessStat stat;
    if (!ReadProcessStat(pid, stat)) continue;
    if (stat.state != 'Z' && stat.state != 'X') {
      known_.emplace(pid, stat.start);
    } else if (pid != root_ && stat.parent == ::getpid()) {
      ::waitpid(pid, nullptr, WNOHANG);
    }
  }
  std::vector<int> alive;
  for (const auto& [pid, start] : known_) alive.push_back(pid);
  return alive;
}

void Descendants::Signal(int signal) {
  std::ignore = Alive();
  for (const auto& [pid, start] : known_) SignalProcess(pid, start, signal);
}

}  // namespace sharewell::platform
