#include "engine/local/run/log_ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace sharewell::engine {
namespace {

// All of its room is taken: a mapped page that the disk has no room for would end who writes it.
bool HasItsRoom(int file) {
  struct stat state {};
  if (::fstat(file, &state) != 0) return false;
  if (state.st_size == static_cast<off_t>(sizeof(LogRows))) return true;
  const std::string blank(sizeof(LogRows), '\0');
  const auto size = static_cast<ssize_t>(blank.size());
  if (::pwrite(file, blank.data(), blank.size(), 0) == size) return true;
  [[maybe_unused]] const auto ignored = ::ftruncate(file, 0);
  return false;
}

}  // namespace

std::string LogLedger::PathIn(const std::string& state) { return state + "/logs/ledger"; }

LogLedger::LogLedger(const std::string& state) {
  struct stat there {};
  const std::string path = PathIn(state);
  if (::lstat(path.c_str(), &there) == 0 && there.st_size != static_cast<off_t>(sizeof(LogRows))) {
    ::unlink(path.c_str());  // of another version: whoever has it mapped keeps it
  }
  const int file =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (file < 0) return;
  if (HasItsRoom(file)) {
    void* const at = ::mmap(nullptr, sizeof(LogRows), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) rows_ = static_cast<LogRows*>(at);
  }
  ::close(file);
}

LogLedger::~LogLedger() {
  if (rows_ != nullptr) ::munmap(rows_, sizeof(LogRows));
}

int LogLedger::Free(std::uint32_t uid) {
  for (int i = 0; rows_ != nullptr && i < kLogRows; ++i) {
    LogRow& row = rows_->rows[i];
    if (row.taken.load() != 0) continue;
    row.bytes = 0;
    row.uid = uid;
    row.taken = 1;
    if (rows_->begun.load() <= i) rows_->begun = i + 1;
    return i;
  }
  return -1;
}

int LogLedger::Take(const std::string& folder, std::uint32_t uid) {
  const platform::MutexLock lock(mutex_);
  const int row = Free(uid);
  if (row >= 0) written_[row] = folder;
  return row;
}

void LogLedger::Claim(int row, const std::string& folder, std::uint32_t uid) {
  const platform::MutexLock lock(mutex_);
  if (rows_ == nullptr || row < 0 || row >= kLogRows) return;
  written_[row] = folder;
  rows_->rows[row].uid = uid;
  rows_->rows[row].taken = 1;
  if (rows_->begun.load() <= row) rows_->begun = row + 1;
}

void LogLedger::FreeTheRest() {
  const platform::MutexLock lock(mutex_);
  for (int i = 0; rows_ != nullptr && i < kLogRows; ++i) {
    const bool kept =
        std::any_of(kept_.begin(), kept_.end(), [&](const auto& one) { return one.second == i; });
    if (!written_.contains(i) && !ended_.contains(i) && !kept) rows_->rows[i].taken = 0;
  }
}

void LogLedger::End(int row) {
  const platform::MutexLock lock(mutex_);
  if (written_.erase(row) != 0) ended_.insert(row);
}

bool LogLedger::IsWritten(const std::string& folder) const {
  const platform::MutexLock lock(mutex_);
  return std::any_of(written_.begin(), written_.end(),
                     [&](const auto& one) { return one.second == folder; });
}

std::map<std::uint32_t, double> LogLedger::Written() const {
  const platform::MutexLock lock(mutex_);
  std::map<std::uint32_t, double> bytes;
  for (const auto& [row, folder] : written_) {
    bytes[rows_->rows[row].uid] += static_cast<double>(rows_->rows[row].bytes.load());
  }
  return bytes;
}

std::map<std::uint32_t, double> LogLedger::Kept() const {
  const platform::MutexLock lock(mutex_);
  std::map<std::uint32_t, double> bytes;
  const auto add = [&](int row) {
    bytes[rows_->rows[row].uid] += static_cast<double>(rows_->rows[row].bytes.load());
  };
  for (const auto& [uid, row] : kept_) add(row);
  for (const int row : ended_) add(row);
  return bytes;
}

std::vector<int> LogLedger::Ended() const {
  const platform::MutexLock lock(mutex_);
  return {ended_.begin(), ended_.end()};
}

void LogLedger::SetKept(const std::map<std::uint32_t, double>& bytes,
                        const std::vector<int>& ended) {
  const platform::MutexLock lock(mutex_);
  if (rows_ == nullptr) return;
  for (auto it = kept_.begin(); it != kept_.end();) {
    if (!bytes.contains(it->first)) rows_->rows[it->second].taken = 0;
    it = bytes.contains(it->first) ? std::next(it) : kept_.erase(it);
  }
  for (const auto& [uid, size] : bytes) {
    if (!kept_.contains(uid)) {
      const int row = Free(uid);
      if (row < 0) continue;
      kept_[uid] = row;
    }
    rows_->rows[kept_[uid]].bytes = static_cast<std::int64_t>(size);
  }
  for (const int row : ended) {
    if (ended_.erase(row) != 0) rows_->rows[row].taken = 0;
  }
}

}  // namespace sharewell::engine
