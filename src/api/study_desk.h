// StudyDesk: takes studies of users and has them done, users in turn and one of each user at a
// time. Those that may take minutes have places of their own, so that none that should take a
// moment waits for one of them: a user may have one of each under way. A study can be ended: its
// client left, or the server stops.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/fair_worker.h"
#include "platform/mutex.h"
#include "platform/process/work_stop.h"

namespace sharewell::api {

class StudyDesk {
 public:
  explicit StudyDesk(std::size_t most_waiting);  // of each length, of all users
  ~StudyDesk() { Stop(); }
  StudyDesk(const StudyDesk&) = delete;
  StudyDesk& operator=(const StudyDesk&) = delete;

  enum class Length { kShort, kLong };
  struct Put {
    FairWorker::Taken taken;
    std::shared_ptr<const platform::WorkStop> stop;  // of the study; shared with its client
  };
  using Work = std::function<void(const platform::WorkStop& stop)>;
  // Never waits. `most`: of this user's, of both lengths, waiting or under way. One that is ended
  // before its turn is dropped.
  Put Add(const std::string& user, std::size_t most, Length length, Work work);
  std::size_t CountOf(const std::string& user) const;  // waiting or under way
  void Stop();  // ends what is under way, drops what waits; later calls do nothing

 private:
  std::shared_ptr<const platform::WorkStop> NewStop();

  platform::Mutex mutex_;
  bool stopping_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::vector<std::weak_ptr<const platform::WorkStop>> stops_ SHAREWELL_GUARDED_BY(mutex_);
  FairWorker short_, long_;
};

}  // namespace sharewell::api
