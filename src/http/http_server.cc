#include "http/http_server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "core/result.h"
#include "http/connection.h"
#include "http/listener.h"
#include "http/places.h"
#include "http/routes.h"
#include "http/wire.h"

namespace sharewell::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using wire::Connection;

// How long accepting rests when the machine has no more file descriptors to give.
constexpr milliseconds kAcceptAgain{100};
constexpr milliseconds kSweep{250};  // how exactly deadlines are kept
// Whoever connects waits behind all who did before: the kernel keeps one queue for all users.
constexpr int kAcceptAtOnce = 256;
// So long users are answered in turn before new ones are looked for.
constexpr milliseconds kTurns{5};
// Whoever has used up their CPU time is heard so often.
constexpr milliseconds kRest{1000};

HttpResponse RefusalOf(const HttpOptions& options, int status, const std::string& words) {
  HttpResponse response =
      options.refusal ? options.refusal(status, words) : HttpResponse{.body = words + "\n"};
  response.status = status;
  return response;
}

}  // namespace

struct HttpServer::Impl final : wire::House {
  struct Target {
    Handler handler;
    std::size_t most_body = 0;
  };
  struct Periodic {
    milliseconds interval;
    steady_clock::time_point next;
    std::function<void()> work;
  };

  HttpOptions settings;
  RouteTable table;
  std::vector<Target> targets;  // by route
  Gate gate;
  std::vector<Periodic> periodics;
  std::vector<Listener> listeners;
  std::shared_ptr<wire::Mailbox> mailbox = std::make_shared<wire::Mailbox>();
  Fd epoll{::epoll_create1(EPOLL_CLOEXEC)};
  wire::Connections connections;
  wire::Places places{settings, RefusalOf};
  std::deque<wire::Share*> turns;  // of those who have something to be done
  std::optional<steady_clock::time_point> accept_again, listen_again;
  steady_clock::time_point swept;
  std::atomic<std::uint64_t> requests{0}, refused{0}, failed{0};
  std::atomic<bool> stop{false};
  std::thread thread;

  const HttpOptions& options() const override { return settings; }
  const std::shared_ptr<wire::Mailbox>& Box() const override { return mailbox; }

  HttpResponse Refuse(int status, const std::string& words) const override {
    return RefusalOf(settings, status, words);
  }

  // Asks the gate, and counts the connection to whom it belongs.
  std::optional<HttpResponse> AskGate(Connection& connection, const HttpRequest& head) {
    Admission admission;
    try {
      if (gate) admission = gate(head);
    } catch (const std::exception&) {
      return Refuse(500, "who may do this could not be found out");
    }
    if (admission.refusal) return std::move(admission.refusal);
    wire::Share* const named = admission.uid ? &places.Of(*admission.uid) : nullptr;
    if (named != nullptr && named != &connection.share()) {
      wire::Share& user = *named;
      auto place = places.ForUser(user, connections);
      if (place.refusal) return std::move(place.refusal);
      if (place.leaves != nullptr) Drop(place.leaves);
      places.Move(connection, user);
    }
    if (admission.admin || places.Privileged(head.peer)) return std::nullopt;
    return Tire(connection);
  }

  std::optional<HttpResponse> Tire(Connection& connection) const {
    auto tired = places.Tired(connection.share());
    if (tired) connection.Rest(steady_clock::now() + kRest);
    return tired;
  }

  std::optional<HttpResponse> Admit(Connection& connection, HttpRequest& head,
                                    std::size_t& most_body) override {
    const auto match = table.Find(head.method, head.path);
    if (match.route) {
      most_body = targets[*match.route].most_body;
      return AskGate(connection, head);
    }
    if (auto tired = Tire(connection)) return tired;
    if (!match.allowed.empty()) {
      auto refusal = Refuse(405, "not that way; allowed: " + match.allowed);
      refusal.headers.emplace_back("Allow", match.allowed);
      return refusal;
    }
    if (settings.refusal)
      return Refuse(404, "there is nothing here; docs/api.md lists what there is");
    std::string known;
    for (const auto& [method, path] : table.All()) known += "\n" + path;
    return Refuse(404, "not here; there is" + known);
  }

  void Handle(HttpRequest request, const std::shared_ptr<wire::Answerer>& answerer) override {
    auto match = table.Find(request.method, request.path);
    const Responder responder(answerer);
    request.parameters = std::move(match.parameters);
    try {
      targets[match.route.value()].handler(std::move(request), responder);
    } catch (const std::exception&) {
      responder.Answer(Refuse(500, "this page could not be made"));
    }
  }

  std::optional<HttpResponse> MayStream(Connection& connection) override {
    auto place = places.ForStream(connection, connections);
    if (place.refusal) return std::move(place.refusal);
    if (place.leaves != nullptr) Drop(place.leaves);
    places.BecomeStream(connection);
    return std::nullopt;
  }

  std::optional<HttpResponse> MayHold(const wire::Share& share, std::size_t bytes) override {
    return bytes == 0 ? std::nullopt : places.ForBytes(share, bytes);
  }

  void Touch(const std::shared_ptr<Connection>& connection) override {
    if (std::exchange(connection->touched, true)) return;
    wire::Share& share = connection->share();
    share.ready.push_back(connection);
    if (!std::exchange(share.in_turn, true)) turns.push_back(&share);
  }

  // One step of each user in turn, so that nobody's many requests keep the others waiting.
  void TakeTurns() {
    const auto end = steady_clock::now() + kTurns;
    while (!turns.empty() && steady_clock::now() < end) {
      wire::Share& share = *turns.front();
      turns.pop_front();
      const auto connection = std::move(share.ready.front());
      share.ready.pop_front();
      share.in_turn = !share.ready.empty();
      if (share.in_turn) turns.push_back(&share);
      Step(connection);
    }
  }

  void Count(int status) override {
    ++requests;
    if (status >= 500)
      ++failed;
    else if (status >= 400)
      ++refused;
  }

  void Watch(int fd, std::uint32_t events, int operation) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    ::epoll_ctl(epoll.get(), operation, fd, &event);
  }

  void Accept(const Listener& listener) {
    for (int i = 0; i < kAcceptAtOnce; ++i) {
      Peer peer;
      Fd fd = listener.Accept(peer);
      if (!fd) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        if (errno != EAGAIN) PauseAccepting();
        return;
      }
      Seat(listener, std::move(fd), std::move(peer));
    }
  }

  void Seat(const Listener& listener, Fd fd, Peer peer) {
    wire::Share& share = places.Of(peer);
    const bool privileged = places.Privileged(peer);
    auto place = places.ForConnection(peer.came_by, share, privileged, connections);
    if (place.refusal) {
      if (listener.keys() != nullptr || !places.MayTurnAway(share)) return;
      place.leaves = places.TurnedAwayBefore(share, connections);
    }
    std::unique_ptr<TlsSession> tls;
    if (listener.keys() != nullptr && (tls = listener.keys()->NewSession()) == nullptr) return;
    const int number = fd.get();
    auto connection =
        std::make_shared<Connection>(std::move(fd), std::move(peer), std::move(tls), *this, share);
    if (place.refusal) connection->TurnAway(std::move(*place.refusal));
    places.Enter(*connection);
    if (place.leaves != nullptr) Drop(place.leaves);
    if (!privileged && !connection->turned_away()) Tire(*connection);
    connection->watched = connection->Wants();
    Watch(number, connection->watched, EPOLL_CTL_ADD);
    connections.emplace(number, std::move(connection));
  }

  void WatchListeners(std::uint32_t events, int operation) const {
    for (const Listener& listener : listeners) {
      if (listener.listens()) Watch(listener.fd(), events, operation);
    }
  }

  void PauseAccepting() {
    WatchListeners(0, EPOLL_CTL_MOD);
    accept_again = steady_clock::now() + kAcceptAgain;
  }

  void Step(const std::shared_ptr<Connection>& connection) {
    connection->touched = false;
    if (!connections.contains(connection->fd())) return;  // it is over already
    {
      // What a stream costs is made by those whose jobs it tells of.
      const auto meter = connection->streams() ? nullptr : connection->share().meter;
      const MeteredBlock metered(meter.get());
      if (!connection->Step()) return Drop(connection);
    }
    const std::uint32_t wants = connection->Wants();
    if (wants == connection->watched) return;
    connection->watched = wants;
    Watch(connection->fd(), wants, EPOLL_CTL_MOD);
  }

  void Drop(std::shared_ptr<Connection> connection) {
    if (connections.erase(connection->fd()) == 0) return;
    // Its descriptor may stay open a while, where somebody else still holds the connection.
    ::epoll_ctl(epoll.get(), EPOLL_CTL_DEL, connection->fd(), nullptr);
    ::shutdown(connection->fd(), SHUT_RDWR);
    connection->Leave();
    places.Leave(*connection);
    connection.reset();
  }

  void Sweep(steady_clock::time_point now) {
    swept = now;
    std::vector<std::shared_ptr<Connection>> late;
    for (const auto& [fd, connection] : connections) {
      if (connection->Late(now)) late.push_back(connection);
      if (connection->WakeIfRested(now)) Touch(connection);
    }
    for (const auto& connection : late) Drop(connection);
  }

  milliseconds Patience(steady_clock::time_point now) const {
    steady_clock::time_point until = now + std::chrono::hours(1);
    if (!connections.empty()) until = std::min(until, swept + kSweep);
    if (accept_again) until = std::min(until, *accept_again);
    if (listen_again) until = std::min(until, *listen_again);
    for (const Periodic& periodic : periodics) until = std::min(until, periodic.next);
    if (!turns.empty()) until = now;
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
  }

  void OnTime(steady_clock::time_point now) {
    if (now >= swept + kSweep) Sweep(now);
    if (accept_again && now >= *accept_again) {
      accept_again.reset();
      WatchListeners(EPOLLIN, EPOLL_CTL_MOD);
    }
    if (listen_again && now >= *listen_again) ListenAgain(now);
    for (Periodic& periodic : periodics) {
      if (now < periodic.next) continue;
      periodic.next = now + periodic.interval;
      periodic.work();
    }
  }

  // At the addresses that another program has held so far.
  void ListenAgain(steady_clock::time_point now) {
    listen_again.reset();
    for (Listener& listener : listeners) {
      if (listener.listens()) continue;
      if (listener.TryAgain()) {
        Watch(listener.fd(), accept_again ? 0U : EPOLLIN, EPOLL_CTL_ADD);
        if (settings.log) settings.log(fmt::format("listening on {} now", listener.place()));
      } else {
        listen_again =
            now + milliseconds(static_cast<std::int64_t>(settings.listen_again.value * 1e3));
      }
    }
  }

  void OnEvent(const epoll_event& event) {
    const auto listener = std::find_if(listeners.begin(), listeners.end(),
                                       [&](const Listener& l) { return l.fd() == event.data.fd; });
    if (listener != listeners.end()) return Accept(*listener);
    const auto found = connections.find(event.data.fd);
    if (found == connections.end()) return;
    const auto connection = found->second;
    // Both directions are closed, or the client's while somebody wants to know that (WhenGone): but
    // what came before may still be read.
    const bool broken = (event.events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    if (broken && (event.events & EPOLLIN) == 0) return Drop(connection);
    connection->readable |= (event.events & EPOLLIN) != 0;
    Touch(connection);
  }

  void Run() {
    mailbox->Own();
    swept = steady_clock::now();
    for (Periodic& periodic : periodics) periodic.next = swept + periodic.interval;
    ListenAgain(swept);
    std::array<epoll_event, 256> events;
    while (!stop) {
      const auto patience = Patience(steady_clock::now());
      const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()),
                                     static_cast<int>(patience.count()));
      for (const auto& work : mailbox->Take()) work();
      for (int i = 0; i < count; ++i) OnEvent(events[static_cast<std::size_t>(i)]);
      OnTime(steady_clock::now());
      TakeTurns();
    }
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}

HttpServer::~HttpServer() { Stop(); }

core::Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const Endpoint& endpoint,
                                                             const HttpOptions& options) {
  auto inside = std::make_unique<Impl>();
  inside->settings = options;
  auto listener = Listener::Open({.endpoint = endpoint}, true);
  RETURN_IF_ERROR(listener);
  if (!listener->listens()) return tl::unexpected(listener->Held());
  inside->listeners.push_back(std::move(*listener));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(inside)));
}

core::Result<std::unique_ptr<HttpServer>> HttpServer::Listen(
    const std::vector<ListenAddress>& listen_addresses, const HttpOptions& options) {
  auto inside = std::make_unique<Impl>();
  inside->settings = options;
  for (const ListenAddress& listen_at : listen_addresses) {
    auto listener = Listener::Open(listen_at, false);
    RETURN_IF_ERROR(listener);
    inside->listeners.push_back(std::move(*listener));
  }
  const auto& all = inside->listeners;
  const auto listens = [](const Listener& listener) { return listener.listens(); };
  const auto held = std::find_if_not(all.begin(), all.end(), listens);
  if (held != all.end() && std::none_of(all.begin(), all.end(), listens)) {
    return tl::unexpected(held->Held());
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(inside)));
}

void HttpServer::Route(const std::string& method, const std::string& path, Page page) {
  Route(
      method, path,
      [page = std::move(page)](const HttpRequest& request, const Responder& responder) {
        responder.Answer(page(request));
      },
      impl_->settings.most_body_bytes);
}

void HttpServer::Route(const std::string& method, const std::string& path, Handler handler,
                       std::size_t most_body_bytes) {
  const std::size_t route = impl_->table.Add(method, path);
  impl_->targets.resize(std::max(impl_->targets.size(), route + 1));
  impl_->targets[route] = {std::move(handler), most_body_bytes};
}

void HttpServer::SetGate(Gate gate) { impl_->gate = std::move(gate); }

void HttpServer::Every(core::Seconds interval, std::function<void()> work) {
  const milliseconds period(static_cast<std::int64_t>(interval.value * 1e3));
  impl_->periodics.push_back({std::max(period, milliseconds(1)), {}, std::move(work)});
}

void HttpServer::Start() {
  impl_->places.KeepFilesFree();
  impl_->Watch(impl_->mailbox->fd(), EPOLLIN, EPOLL_CTL_ADD);
  impl_->WatchListeners(EPOLLIN, EPOLL_CTL_ADD);
  impl_->thread = std::thread([this] { impl_->Run(); });
}

void HttpServer::Stop() {
  impl_->stop = true;
  impl_->mailbox->Post([] {});
  if (impl_->thread.joinable()) impl_->thread.join();
  impl_->mailbox->Close();
  impl_->places.Clear();
  impl_->turns.clear();
  impl_->connections.clear();
  impl_->listeners.clear();
}

std::uint16_t HttpServer::Port(std::size_t listen_at) const {
  return listen_at < impl_->listeners.size() ? impl_->listeners[listen_at].port()
                                             : std::uint16_t{0};
}

std::vector<std::string> HttpServer::Missing() const {
  std::vector<std::string> missing;
  for (const Listener& listener : impl_->listeners) {
    if (!listener.listens()) missing.push_back(listener.Held().message);
  }
  return missing;
}

void HttpServer::Post(std::function<void()> work) { impl_->mailbox->Post(std::move(work)); }

HttpFigures HttpServer::Figures() const {
  return {impl_->requests, impl_->refused, impl_->failed, impl_->places.connections(),
          impl_->places.streams()};
}

HttpUse HttpServer::UseOf(std::uint32_t uid) const { return impl_->places.UseOf(uid); }

std::vector<std::pair<std::string, std::string>> HttpServer::Routes() const {
  return impl_->table.All();
}

}  // namespace sharewell::http
