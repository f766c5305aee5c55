#include "server/live/job_keeper.h"

#include <chrono>
#include <utility>

namespace sharewell::server {
namespace {

// So much is left after tidying, so that the next job to end does not make it tidy again.
constexpr double kLeft = 0.9;

}  // namespace

JobKeeper::JobKeeper(Open open, Most most, core::Seconds every)
    : open_(std::move(open)), most_(std::move(most)), every_(every), thread_([this] { Work(); }) {}

JobKeeper::~JobKeeper() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

core::Result<void> JobKeeper::Look() {
  if (store_ == nullptr) {
    auto opened = open_();
    RETURN_IF_ERROR(opened);
    store_ = std::move(*opened);
  }
  const auto ended = store_->EndedSince(since_);
  RETURN_IF_ERROR(ended);
  for (const auto& [user, bytes] : *ended) {
    core::Bytes& taken = taken_[user];
    taken += bytes;
    const auto most = most_(user);
    if (!most || taken <= *most) continue;
    const auto kept = store_->KeepNewest(user, *most * kLeft);
    RETURN_IF_ERROR(kept);
    taken = *kept;
  }
  return {};
}

void JobKeeper::Work() {
  for (;;) {
    if (!Look()) store_.reset();  // opened anew next time
    platform::MutexLock lock(mutex_);
    wake_.wait_for(lock, std::chrono::duration<double>(every_.value),
                   [this]() SHAREWELL_REQUIRES(mutex_) { return stop_; });
    if (stop_) return;
  }
}

}  // namespace sharewell::server
