// What the server's GPUs were used for (GET /usage), from its store: by user, over time, and what
// sharing saved. The answer is kept and given again while nothing has happened since, and for as
// long as makes the work at most a twentieth of a core, however many ask.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "api/api.h"
#include "control/service/job_service.h"
#include "core/prices.h"
#include "core/result.h"
#include "platform/mutex.h"

namespace sharewell::server {

// Any thread; those who ask at the same time wait for one answer.
class UsageKeeper {
 public:
  // `cluster`: the GPUs are on other machines, each sampled under its own name.
  UsageKeeper(std::string store, std::function<control::ServiceView()> view, bool cluster);

  // GET /usage: of so many seconds up to now.
  core::Result<std::string> Answer(std::int64_t seconds);

 private:
  struct Kept {
    std::string answer;
    std::int64_t event = 0;  // the last one then
    std::chrono::steady_clock::time_point made;
    std::chrono::steady_clock::duration cost{};
  };

  core::Result<Kept> Make(std::int64_t seconds) const;
  bool IsGood(const Kept& kept) const;

  const std::string store_;
  const std::function<control::ServiceView()> view_;
  const bool cluster_;
  platform::Mutex mutex_;
  std::map<std::int64_t, Kept> kept_ SHAREWELL_GUARDED_BY(mutex_);  // by length of the time
};

// GET /usage?by=, with what an hour of each GPU model costs: made anew each time.
core::Result<std::string> UsageTableText(const std::string& store, const control::ServiceView& view,
                                         const api::UsageAsked& asked, const core::Prices& prices);

}  // namespace sharewell::server
