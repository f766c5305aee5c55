#include "engine/local/run/old_logs.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "engine/local/run/job_folder.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;

constexpr double kStatBlock = 512;  // bytes, whatever the file system's own are

// A folder of jobs' logs.
struct Place {
  fs::path folder;
  std::uint32_t uid = 0;
};

// Of one job. There may be a million of them, and all are looked at: so it has no path of its own.
struct Logs {
  std::int64_t job = 0;
  core::UnixMillis newest = 0;  // the folder is marked when a run ends
  double bytes = 0;
  std::uint32_t place = 0;
  bool live = false;  // it stays
};
static_assert(sizeof(Logs) <= 32);

void Count(const char* path, Logs& logs) {
  struct stat file {};
  if (::lstat(path, &file) != 0) return;
  logs.newest = std::max<core::UnixMillis>(
      logs.newest, core::UnixMillis{file.st_mtim.tv_sec} * 1000 + file.st_mtim.tv_nsec / 1'000'000);
  logs.bytes += static_cast<double>(file.st_blocks) * kStatBlock;
}

Logs LogsIn(const fs::path& folder) {
  Logs logs;
  Count(folder.c_str(), logs);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    Count(it->path().c_str(), logs);
  }
  return logs;
}

template <class T>
std::optional<T> Named(const fs::path& path) {
  const std::string name = path.filename().string();
  T number = 0;
  const char* const last = name.data() + name.size();
  const auto [after, wrong] = std::from_chars(name.data(), last, number);
  if (wrong != std::errc() || after != last || name.empty()) return std::nullopt;
  return number;
}

void EachEntry(const fs::path& folder, const std::function<void(const fs::path&)>& take) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    take(it->path());
  }
}

// All logs but those that are written to now.
class Found {
 public:
  Found(const LogOwners& owners, const std::atomic<bool>& stop) : owners_(owners), stop_(stop) {}

  void LookIn(const fs::path& logs) {
    // As versions before stores had an id named them: nobody's.
    places_.push_back({logs, kNobody});
    EachEntry(logs, [&](const fs::path& store) {
      const std::string name = store.filename().string();
      if (!name.starts_with(kStorePrefix)) return Add(store, 0, false);
      const bool ours = name == kStorePrefix + owners_.store;
      EachEntry(store, [&](const fs::path& user) { LookAtUser(user, ours); });
    });
    std::sort(all_.begin(), all_.end(), [](const Logs& a, const Logs& b) {
      return std::tie(a.newest, a.place, a.job) < std::tie(b.newest, b.place, b.job);
    });
  }
  const std::vector<Logs>& all() const { return all_; }
  std::uint32_t UidOf(const Logs& logs) const { return places_[logs.place].uid; }
  std::string FolderOf(const Logs& logs) const {
    return (places_[logs.place].folder / std::to_string(logs.job)).string();
  }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  void LookAtUser(const fs::path& user, bool ours) {
    const auto uid = Named<std::uint32_t>(user);
    if (!uid) return;
    places_.push_back({user, *uid});
    const auto place = static_cast<std::uint32_t>(places_.size() - 1);
    EachEntry(user, [&](const fs::path& job) { Add(job, place, ours); });
  }
  void Add(const fs::path& folder, std::uint32_t place, bool ours) {
    if (stop_) return;
    const std::string name = folder.filename().string();
    if (name.ends_with(kGoneEnding)) {
      std::error_code ignored;
      fs::remove_all(folder, ignored);  // of a server that was killed
      return;
    }
    const auto job = Named<std::int64_t>(folder);
    if (!job || *job <= 0 || std::to_string(*job) != name) return;
    if (owners_.ledger != nullptr && owners_.ledger->IsWritten(folder.string())) return;
    all_.push_back(LogsIn(folder));
    all_.back().job = *job;
    all_.back().place = place;
    all_.back().live = ours && owners_.live(*job);
  }

  const LogOwners& owners_;
  const std::atomic<bool>& stop_;
  std::vector<Place> places_;
  std::vector<Logs> all_;
};

}  // namespace

core::Bytes MostLogs(const std::string& folder, const LogRetention& kept) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return kept.all;
  const double size = static_cast<double>(disk.f_blocks) * static_cast<double>(disk.f_frsize);
  return core::Bytes(size > 0 ? std::min(kept.all.value, size * kept.of_disk) : kept.all.value);
}

std::int64_t RemoveOldLogs(const std::string& state, const LogRetention& kept, core::UnixMillis now,
                           const LogOwners& owners, const std::atomic<bool>& stop) {
  const std::string folder = state + "/logs";
  const std::vector<int> ended =
      owners.ledger != nullptr ? owners.ledger->Ended() : std::vector<int>();
  Found found(owners, stop);
  found.LookIn(folder);
  if (stop) return 0;
  std::map<std::uint32_t, double> left, written;
  if (owners.ledger != nullptr) written = owners.ledger->Written();
  double all = 0;
  for (const auto& [uid, bytes] : written) all += bytes;
  std::map<std::uint32_t, std::deque<const Logs*>> removable;
  std::int64_t removed = 0;
  const auto remove = [&](const Logs& logs) {
    RemoveLogs(found.FolderOf(logs));
    ++removed;
  };
  const auto old = now - static_cast<core::UnixMillis>(kept.age.value * 1e3);
  for (const Logs& logs : found.all()) {
    if (!logs.live && logs.newest < old && !stop) {
      remove(logs);
      continue;
    }
    left[found.UidOf(logs)] += logs.bytes;
    all += logs.bytes;
    if (!logs.live) removable[found.UidOf(logs)].push_back(&logs);
  }
  const auto of = [&](std::uint32_t uid) {
    const auto it = written.find(uid);
    return left[uid] + (it == written.end() ? 0 : it->second);
  };
  const auto remove_oldest = [&](std::uint32_t uid) {
    auto& oldest = removable.at(uid);
    const Logs& logs = *oldest.front();
    remove(logs);
    left[uid] -= logs.bytes;
    all -= logs.bytes;
    oldest.pop_front();
    if (oldest.empty()) removable.erase(uid);
  };
  for (const auto& [uid, bytes] : std::map(left)) {
    const double most = kept.of_user(uid).value * kRoomInLogs;
    while (!stop && removable.contains(uid) && of(uid) > most) remove_oldest(uid);
  }
  const double most = MostLogs(folder, kept).value * kRoomInLogs;
  while (!stop && all > most && !removable.empty()) {
    const auto largest =
        std::max_element(removable.begin(), removable.end(),
                         [&](const auto& a, const auto& b) { return of(a.first) < of(b.first); });
    remove_oldest(largest->first);
  }
  if (owners.ledger != nullptr && !stop) owners.ledger->SetKept(left, ended);
  return removed;
}

}  // namespace sharewell::engine
