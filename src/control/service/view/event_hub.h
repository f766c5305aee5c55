// EventHub: hands what happened to whoever listens, and keeps the last of it for those who come
// back. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/job/job_record.h"
#include "platform/mutex.h"

namespace sharewell::control {

class EventHub {
 public:
  // Called on the thread that publishes; must not wait, and must not call the hub.
  using Listener = std::function<void(const std::shared_ptr<const core::Event>&)>;

  explicit EventHub(std::size_t most_kept = 4096);

  void Publish(core::Event event);  // ids must rise
  // Those above `after` that are still kept are given back, and every later one goes to the
  // listener: none is missed or told twice. `from` is the first id that is still kept: where it is
  // above after + 1, what lies between must come from the store.
  struct Joined {
    std::uint64_t ticket = 0;
    std::int64_t from = 0;
    std::vector<std::shared_ptr<const core::Event>> before;
  };
  Joined Join(std::int64_t after, Listener listener);
  void Leave(std::uint64_t ticket);  // no call is under way when it returns
  std::int64_t Last() const;         // id of the last that was published; 0: none was

 private:
  mutable platform::Mutex mutex_;
  const std::size_t most_kept_;
  std::deque<std::shared_ptr<const core::Event>> kept_ SHAREWELL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Listener> listeners_ SHAREWELL_GUARDED_BY(mutex_);
  std::uint64_t next_ticket_ SHAREWELL_GUARDED_BY(mutex_) = 1;
  std::int64_t last_ SHAREWELL_GUARDED_BY(mutex_) = 0;  // id
};

}  // namespace sharewell::control
