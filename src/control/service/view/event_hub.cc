#include "control/service/view/event_hub.h"

#include <utility>

namespace sharewell::control {

EventHub::EventHub(std::size_t most_kept) : most_kept_(most_kept) {}

void EventHub::Publish(core::Event event) {
  const platform::MutexLock lock(mutex_);
  last_ = event.id;
  kept_.push_back(std::make_shared<const core::Event>(std::move(event)));
  for (const auto& [ticket, listener] : listeners_) listener(kept_.back());
  if (kept_.size() > most_kept_) kept_.pop_front();
}

EventHub::Joined EventHub::Join(std::int64_t after, Listener listener) {
  const platform::MutexLock lock(mutex_);
  Joined joined;
  joined.ticket = next_ticket_++;
  joined.from = kept_.empty() ? last_ + 1 : kept_.front()->id;
  for (const auto& event : kept_) {
    if (event->id > after) joined.before.push_back(event);
  }
  listeners_.emplace(joined.ticket, std::move(listener));
  return joined;
}

void EventHub::Leave(std::uint64_t ticket) {
  const platform::MutexLock lock(mutex_);
  listeners_.erase(ticket);
}

std::int64_t EventHub::Last() const {
  const platform::MutexLock lock(mutex_);
  return last_;
}

}  // namespace sharewell::control
