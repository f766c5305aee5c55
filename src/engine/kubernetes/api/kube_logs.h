// KubeLogs: what the pods of a job have written, as the API server gives it. It has no offsets:
// lines are read on from the time of the last one, and the newest of each job that somebody looks
// at are kept for a while, so that who follows a log costs the API server little. stdout and stderr
// are one there. A job of several pods has the pod's name in front of each line.
//
// Read waits for the API server, no longer than a few seconds; users' rights are the caller's to
// decide. Any thread; one at a time is served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "engine/kubernetes/api/kube_driver.h"
#include "platform/mutex.h"

namespace sharewell::engine {

struct KubeLogPod {
  std::string uid, name_space, name;
  std::string container;  // whose log it is
  bool over = false;      // nothing more will be written

  friend bool operator==(const KubeLogPod&, const KubeLogPod&) = default;
};

struct KubeLogPart {
  std::string bytes;
  std::int64_t next = 0;  // offset behind them
  bool all = false;       // nothing lies behind them now
};

class KubeLogs {
 public:
  using Pods = std::function<core::Result<std::vector<KubeLogPod>>()>;

  // `now` never goes back. `driver` must outlive it, and is its alone.
  KubeLogs(KubeDriver& driver, std::function<core::Seconds()> now)
      : driver_(driver), now_(std::move(now)) {}

  // From `offset` on (below 0: so many from the end), at most `most`; what lies before the lines
  // that are kept is gone. `pods` says which pods the job has now, in the order of their names, and
  // is asked for only when something is to be read; `over`: the job has ended.
  core::Result<KubeLogPart> Read(std::int64_t job, bool over, std::int64_t offset, std::size_t most,
                                 const Pods& pods);

 private:
  // Of one pod, up to where it was read.
  struct Place {
    std::int64_t last = 0;  // time of the last line, in nanoseconds; 0: none was read
    std::size_t lines = 0;  // with that time
    bool done = false;      // its end was read, or it is gone
  };
  struct Log {
    std::string kept;
    std::int64_t begin = 0;               // offset of its first byte
    std::map<std::string, Place> places;  // by the pod's uid
    std::optional<core::Seconds> read, failed;
    core::Error error;  // with which it failed
    core::Seconds asked{0};
    bool all = false;
    bool complete = false;  // its job is over, and all was read
  };
  struct Line {
    std::int64_t time = 0;
    std::string text;
  };

  core::Result<void> ReadOn(std::int64_t job, bool over, const Pods& pods, Log& log);
  // Some of what that pod has written since. True: that was all.
  core::Result<bool> ReadPod(const KubeLogPod& pod, Place& place, std::vector<Line>& out,
                             core::Seconds limit);
  void ForgetOld() SHAREWELL_REQUIRES(mutex_);

  KubeDriver& driver_;
  const std::function<core::Seconds()> now_;
  platform::Mutex mutex_;
  std::map<std::int64_t, Log> logs_ SHAREWELL_GUARDED_BY(mutex_);
};

// "2026-11-19T21:00:00.123456789Z" in nanoseconds since 1970. Absent: it is none.
std::optional<std::int64_t> ParseKubeLogTime(std::string_view text);

}  // namespace sharewell::engine
