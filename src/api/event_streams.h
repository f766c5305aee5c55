// EventStreams: what happens, to everybody who listens (server-sent events). One listener at the
// hub stands for all of them: to publish costs the same with none and with five hundred, and who
// reads slowly is cut off and comes back by id.
//
// The HTTP server's thread, except that the hub calls on whichever thread publishes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/service/view/event_hub.h"
#include "core/result.h"
#include "http/http_server.h"
#include "platform/mutex.h"

namespace sharewell::api {

class EventStreams {
 public:
  struct Page {
    std::vector<core::Event> events;
    std::int64_t newest = 0;  // id of the last there is
  };
  using Told = std::function<void(const core::Result<Page>&)>;
  // From the store, those above `after`, rising, at most `most`; `told` is called on the server's
  // thread. False: too much is being read already.
  using Past = std::function<bool(std::int64_t after, std::size_t most,
                                  std::shared_ptr<http::Meter> user, Told told)>;
  // Whether a listener may hear of it; empty: of all.
  using Sees = std::function<bool(const core::Event& event)>;

  // All must outlive it.
  EventStreams(http::HttpServer& server, control::EventHub& hub, Past past);
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // `after`: the last that the client has seen; absent: it wants what comes from now on. `job` 0:
  // of all jobs.
  void Open(const http::Responder& responder, std::optional<std::int64_t> after, std::int64_t job,
            Sees sees = {});
  void Beat();  // a comment to everybody, so that nobody in between takes them for dead

 private:
  struct Listener {
    http::StreamWriter writer;
    std::shared_ptr<http::Meter> user;  // who listens; shared with the server
    std::int64_t last = 0;
    std::int64_t job = 0;
    bool live = false;   // has seen all there was
    bool asked = false;  // for more from the store
    Sees sees = {};
  };

  void OnEvent(const std::shared_ptr<const core::Event>& event);
  void Drain();
  void CatchUp(std::uint64_t id);
  void OnPage(std::uint64_t id, const core::Result<Page>& page);
  void GoLive(Listener& listener);
  static void Emit(Listener& listener, const core::Event& event,
                   std::shared_ptr<const std::string> text = nullptr);
  static void EmitGap(Listener& listener, std::int64_t next);

  http::HttpServer& server_;
  control::EventHub& hub_;
  Past past_;
  std::map<std::uint64_t, Listener> listeners_;
  std::uint64_t next_id_ = 1;
  std::uint64_t ticket_ = 0;

  platform::Mutex mutex_;
  // On their way to the server's thread.
  std::deque<std::shared_ptr<const core::Event>> pending_ SHAREWELL_GUARDED_BY(mutex_);
  bool overrun_ SHAREWELL_GUARDED_BY(mutex_) = false;  // more came than can wait
  bool posted_ SHAREWELL_GUARDED_BY(mutex_) = false;   // Drain is on its way
};

// As it is sent: id, event, data.
std::string EventText(const core::Event& event);

}  // namespace sharewell::api
