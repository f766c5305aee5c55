// JobKeeper: keeps the records of jobs that are over within what each user may keep
// (limits.kept_bytes), on a thread of its own: the oldest go first.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "platform/mutex.h"
#include "store/kept_jobs.h"

namespace sharewell::server {

class JobKeeper {
 public:
  using Open = std::function<core::Result<std::unique_ptr<store::KeptJobs>>()>;
  // What a user may keep. Called on the keeper's thread; absent: their jobs are left alone.
  using Most = std::function<std::optional<core::Bytes>(const std::string& user)>;

  // Looks every so often at what has ended since; a store that cannot be used is tried again.
  JobKeeper(Open open, Most most, core::Seconds every = core::Seconds(2));
  ~JobKeeper();
  JobKeeper(const JobKeeper&) = delete;
  JobKeeper& operator=(const JobKeeper&) = delete;

 private:
  void Work();
  core::Result<void> Look();

  const Open open_;
  const Most most_;
  const core::Seconds every_;
  // Of the keeper's thread alone.
  std::unique_ptr<store::KeptJobs> store_;
  std::map<std::string, core::Bytes> taken_;  // by user, at least what they take
  core::UnixMillis since_ = 0;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::server
