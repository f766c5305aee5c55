#include "api/event_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/writer.h"

namespace sharewell::api {
namespace {

constexpr std::size_t kPage = 500;
constexpr std::size_t kMostPending = 100'000;
// Told to all listeners at once; between two such lots the server answers others.
constexpr std::size_t kLot = 256;

}  // namespace

std::string EventText(const core::Event& event) {
  std::string out = fmt::format("id: {}\nevent: {}\ndata: ", event.id, event.kind);
  json::Writer writer(out);
  writer.Object([&] {
    writer.Field("id", event.id);
    writer.Field("time_ms", event.time);
    writer.Field("kind", event.kind);
    writer.Field("job", event.job);
    writer.Field("text", event.text);
  });
  return out + "\n\n";
}

EventStreams::EventStreams(http::HttpServer& server, control::EventHub& hub, Past past)
    : server_(server), hub_(hub), past_(std::move(past)) {
  // From here on; what was before is fetched by those who ask for it.
  ticket_ = hub_.Join(INT64_MAX - 1, [this](const auto& event) { OnEvent(event); }).ticket;
}

EventStreams::~EventStreams() { hub_.Leave(ticket_); }

void EventStreams::OnEvent(const std::shared_ptr<const core::Event>& event) {
  const platform::MutexLock lock(mutex_);
  if (pending_.size() >= kMostPending) {
    overrun_ = true;
    return;
  }
  pending_.push_back(event);
  if (!std::exchange(posted_, true)) server_.Post([this] { Drain(); });
}

void EventStreams::Drain() {
  std::vector<std::shared_ptr<const core::Event>> events;
  bool overrun = false;
  {
    const platform::MutexLock lock(mutex_);
    const std::size_t lot = std::min(pending_.size(), kLot);
    const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(lot);
    events.assign(pending_.begin(), end);
    pending_.erase(pending_.begin(), end);
    overrun = std::exchange(overrun_, false);
    posted_ = !pending_.empty();
    if (posted_) server_.Post([this] { Drain(); });
  }
  for (const auto& event : events) {
    std::shared_ptr<const std::string> text;  // one for all
    for (auto& [id, listener] : listeners_) {
      if (!listener.live || event->id <= listener.last) continue;
      if (text == nullptr) text = std::make_shared<const std::string>(EventText(*event));
      Emit(listener, *event, text);
    }
  }
  if (!overrun) return;
  // Something is missing from now on: whoever comes back by id gets it from the store.
  for (auto& [id, listener] : listeners_) listener.writer.Close();
}

void EventStreams::Emit(Listener& listener, const core::Event& event,
                        std::shared_ptr<const std::string> text) {
  listener.last = event.id;
  if (listener.job != 0 && listener.job != event.job) return;
  if (listener.sees && !listener.sees(event)) return;
  if (text == nullptr) text = std::make_shared<const std::string>(EventText(event));
  listener.writer.Write(std::move(text));
}

void EventStreams::EmitGap(Listener& listener, std::int64_t next) {
  core::Event gap;
  gap.id = next - 1;
  gap.kind = "gap";
  gap.text = "what happened before this is no longer kept";
  const std::int64_t job = std::exchange(listener.job, 0);
  Emit(listener, gap);
  listener.job = job;
}

void EventStreams::Open(const http::Responder& responder, std::optional<std::int64_t> after,
                        std::int64_t job, Sees sees) {
  const std::uint64_t id = next_id_++;
  http::HttpResponse head{200, "text/event-stream", {}, {{"Cache-Control", "no-cache"}}};
  Listener listener{
      responder.Stream(
          std::move(head), [this, id] { listeners_.erase(id); }, [this, id] { CatchUp(id); }),
      responder.meter(),
      after.value_or(0),
      job,
      !after,
      false,
      std::move(sees)};
  static const auto kHello = std::make_shared<const std::string>(": sharewell\n\n");
  if (!listener.writer.Write(kHello)) return;  // too many are open; the client was told
  listeners_.emplace(id, std::move(listener));
}

void EventStreams::CatchUp(std::uint64_t id) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end() || found->second.live || found->second.asked) return;
  Listener& listener = found->second;
  // The hub alone is enough where it still has all that is missing.
  auto joined = hub_.Join(listener.last, [](const auto&) {});
  hub_.Leave(joined.ticket);
  if (!joined.before.empty() && joined.from <= listener.last + 1) return GoLive(listener);
  listener.asked = past_(listener.last, kPage, listener.user,
                         [this, id](const auto& page) { OnPage(id, page); });
  if (!listener.asked) listener.writer.Close();  // it comes back
}

void EventStreams::OnPage(std::uint64_t id, const core::Result<Page>& page) {
  const auto found = listeners_.find(id);
  if (found == listeners_.end()) return;
  Listener& listener = found->second;
  listener.asked = false;
  if (!page) return listener.writer.Close();
  const auto& events = page->events;
  if (!events.empty() && events.front().id > listener.last + 1) {
    EmitGap(listener, events.front().id);
  } else if (events.empty() && page->newest < listener.last) {
    EmitGap(listener, page->newest + 1);  // it listened to another store before
  }
  for (const core::Event& event : events) Emit(listener, event);
  if (events.size() < kPage) return GoLive(listener);
  // The next page when the client has taken this one, or at once where it told nothing.
  static const auto kOn = std::make_shared<const std::string>(":\n\n");
  listener.writer.Write(kOn);
}

void EventStreams::GoLive(Listener& listener) {
  auto joined = hub_.Join(listener.last, [](const auto&) {});
  hub_.Leave(joined.ticket);
  if (!joined.before.empty() && joined.before.front()->id > listener.last + 1) {
    EmitGap(listener, joined.before.front()->id);
  }
  for (const auto& event : joined.before) Emit(listener, *event);
  listener.live = true;
}

void EventStreams::Beat() {
  static const auto kBeat = std::make_shared<const std::string>(":\n\n");
  for (auto& [id, listener] : listeners_) listener.writer.Write(kBeat);
}

}  // namespace sharewell::api
