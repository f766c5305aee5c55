#include "engine/local/run/old_logs.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "engine/local/run/job_folder.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;

constexpr double kStatBlock = 512;  // bytes, whatever the file system's own are

struct Logs {
  core::UnixMillis newest = 0;  // the folder is marked when a run ends
  std::int64_t job = 0;
  double bytes = 0;
};

void Count(const char* path, Logs& logs) {
  struct stat file {};
  if (::lstat(path, &file) != 0) return;
  logs.newest = std::max<core::UnixMillis>(
      logs.newest, core::UnixMillis{file.st_mtim.tv_sec} * 1000 + file.st_mtim.tv_nsec / 1'000'000);
  logs.bytes += static_cast<double>(file.st_blocks) * kStatBlock;
}

Logs LogsIn(const fs::path& folder, std::int64_t job) {
  Logs logs;
  logs.job = job;
  Count(folder.c_str(), logs);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    Count(it->path().c_str(), logs);
  }
  return logs;
}

std::optional<std::int64_t> JobNamed(const std::string& name) {
  std::int64_t job = 0;
  const char* const last = name.data() + name.size();
  const auto [after, wrong] = std::from_chars(name.data(), last, job);
  if (wrong != std::errc() || after != last || job <= 0) return std::nullopt;
  return job;
}

double MostBytes(const std::string& folder, const LogRetention& kept) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return kept.all.value;
  const double size = static_cast<double>(disk.f_blocks) * static_cast<double>(disk.f_frsize);
  return size > 0 ? std::min(kept.all.value, size * kept.of_disk) : kept.all.value;
}

}  // namespace

std::int64_t RemoveOldLogs(const std::string& state, const LogRetention& kept, core::UnixMillis now,
                           const std::function<bool(std::int64_t)>& live,
                           const std::atomic<bool>& stop) {
  const std::string folder = state + "/logs";
  std::vector<Logs> all;
  std::vector<fs::path> half;  // of a server that was killed
  double bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end && !stop;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(kGoneEnding)) {
      half.push_back(it->path());
    } else if (const auto job = JobNamed(name)) {
      all.push_back(LogsIn(it->path(), *job));
      bytes += all.back().bytes;
    }
  }
  for (const fs::path& path : half) fs::remove_all(path, error);
  std::sort(all.begin(), all.end(), [](const Logs& a, const Logs& b) {
    return a.newest != b.newest ? a.newest < b.newest : a.job < b.job;
  });
  const auto old = now - static_cast<core::UnixMillis>(kept.age.value * 1e3);
  const double most = MostBytes(folder, kept);
  std::int64_t removed = 0;
  for (const Logs& logs : all) {
    if (stop || (logs.newest >= old && bytes <= most)) break;
    if (live(logs.job)) continue;
    RemoveLogs(state, logs.job);
    bytes -= logs.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace sharewell::engine
