// WriterTurns: who of this process writes to a SQLite file next. SQLite lets whoever asks at the
// right moment go first, and who polls beside a busy writer may wait for ever; here they take turns
// in the order they came. Between processes SQLite's own lock decides.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "platform/mutex.h"

namespace sharewell::store {

class WriterTurns {
 public:
  // Those of the file at `path`, which exists.
  static std::shared_ptr<WriterTurns> Of(const std::string& path);

  // Waits for the turn; false where it did not come in time.
  bool Take(int milliseconds);
  void Release();  // REQUIRES: it was taken

 private:
  platform::Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::uint64_t> line_ SHAREWELL_GUARDED_BY(mutex_);  // the first one's turn it is
  std::uint64_t next_ SHAREWELL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sharewell::store
