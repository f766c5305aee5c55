// WatchFeed: asks the server for what `sharewell top -w` shows, once a second, on a thread of its
// own, so that keys are answered while the server is slow or away. One thread uses it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/client/server_client.h"
#include "core/result.h"
#include "platform/mutex.h"
#include "report/watch/watch.h"

namespace sharewell::cli {

class WatchFeed {
 public:
  // What came since it was last taken.
  struct News {
    std::optional<report::WatchFacts> facts;
    std::string lost;  // why there are no facts; empty: there are, or nobody asked yet
    std::optional<std::string> text;  // of the page that was looked at last
    std::string said;                 // what became of a cancel
  };

  explicit WatchFeed(ServerClient client);
  ~WatchFeed();  // within about a second, whatever the server does
  WatchFeed(const WatchFeed&) = delete;
  WatchFeed& operator=(const WatchFeed&) = delete;

  // Asks at once, on the caller's thread. REQUIRES: Start was not called.
  core::Result<report::WatchFacts> Ask();
  void Start();

  News Take();
  // From now on the text of this page comes too; kGpus and kHelp have none.
  void Look(report::WatchPage page, std::int64_t job, bool errors);
  void Cancel(std::int64_t job);

 private:
  struct Wish {
    report::WatchPage page = report::WatchPage::kGpus;
    std::int64_t job = 0;
    bool errors = false;

    friend bool operator==(const Wish&, const Wish&) = default;
  };

  void Run(const std::stop_token& stop);
  void RunOnce();
  void AskPast(report::WatchFacts& facts);
  std::string AskText(const Wish& wish) const;

  ServerClient client_;
  bool past_asked_ = false;
  std::stop_source over_;  // before the thread: what is under way ends with it

  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  Wish wish_ SHAREWELL_GUARDED_BY(mutex_);
  std::vector<std::int64_t> cancels_ SHAREWELL_GUARDED_BY(mutex_);
  bool asked_ SHAREWELL_GUARDED_BY(mutex_) = false;  // something new is wished for
  News news_ SHAREWELL_GUARDED_BY(mutex_);

  std::jthread thread_;
};

}  // namespace sharewell::cli
