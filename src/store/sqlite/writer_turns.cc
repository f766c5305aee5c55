#include "store/sqlite/writer_turns.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace sharewell::store {

std::shared_ptr<WriterTurns> WriterTurns::Of(const std::string& path) {
  static platform::Mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<WriterTurns>> all SHAREWELL_GUARDED_BY(
      mutex);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::make_shared<WriterTurns>();
  const platform::MutexLock guard(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  auto& known = all[{status.st_dev, status.st_ino}];
  // Shared: by all connections to that file, whichever goes last.
  auto turns = known.lock();
  if (turns == nullptr) known = turns = std::make_shared<WriterTurns>();
  return turns;
}

bool WriterTurns::Take(int milliseconds) {
  platform::MutexLock lock(mutex_);
  const std::uint64_t mine = next_++;
  line_.push_back(mine);
  if (changed_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                        [&]() SHAREWELL_REQUIRES(mutex_) { return line_.front() == mine; })) {
    return true;
  }
  line_.erase(std::find(line_.begin(), line_.end(), mine));
  return false;
}

void WriterTurns::Release() {
  const platform::MutexLock guard(mutex_);
  line_.pop_front();
  changed_.notify_all();
}

}  // namespace sharewell::store
