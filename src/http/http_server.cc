#include "http/http_server.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/result.h"
#include "http/connection.h"
#include "http/listener.h"
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
constexpr int kAcceptAtOnce = 64;
constexpr std::size_t kMostPeers = 4096;  // that are remembered without having anything open

HttpResponse PlainRefusal(int, const std::string& words) { return {.body = words + "\n"}; }

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
  std::unordered_map<int, std::shared_ptr<Connection>> connections;  // by fd
  std::map<std::string, wire::Share> shares;
  std::vector<std::shared_ptr<Connection>> touched;
  std::optional<steady_clock::time_point> accept_again;
  steady_clock::time_point swept;
  std::atomic<std::uint64_t> requests{0}, refused{0}, failed{0};
  std::atomic<std::size_t> plain{0}, streams{0};  // connections
  std::atomic<bool> stop{false};
  std::thread thread;

  const HttpOptions& options() const override { return settings; }

  HttpResponse Refuse(int status, const std::string& words) const override {
    HttpResponse response =
        settings.refusal ? settings.refusal(status, words) : PlainRefusal(status, words);
    response.status = status;
    return response;
  }

  std::optional<HttpResponse> Admit(HttpRequest& head, std::size_t& most_body) override {
    const auto match = table.Find(head.method, head.path);
    if (match.route) {
      most_body = targets[*match.route].most_body;
      if (!gate) return std::nullopt;
      try {
        return gate(head);
      } catch (const std::exception&) {
        return Refuse(500, "who may do this could not be found out");
      }
    }
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

  bool MayStream(wire::Share& share) override {
    if (streams >= settings.most_streams || share.streams >= settings.most_streams_of_one) {
      return false;
    }
    ++share.streams, ++streams;
    --share.connections, --plain;
    return true;
  }

  void Touch(const std::shared_ptr<Connection>& connection) override {
    if (std::exchange(connection->touched, true)) return;
    touched.push_back(connection);
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
      wire::Share& share = shares[PeerName(peer)];
      // One too many is told so, as far as its buffer takes it, and closed again at once.
      if (plain >= settings.most_connections ||
          share.connections >= settings.most_connections_of_one) {
        constexpr std::string_view kFull =
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n";
        if (listener.keys() == nullptr) {
          [[maybe_unused]] const auto sent =
              ::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        continue;
      }
      std::unique_ptr<TlsSession> tls;
      if (listener.keys() != nullptr && (tls = listener.keys()->NewSession()) == nullptr) continue;
      const int number = fd.get();
      auto connection = std::make_shared<Connection>(std::move(fd), std::move(peer), std::move(tls),
                                                     *this, share, mailbox);
      ++share.connections, ++plain;
      connection->watched = connection->Wants();
      Watch(number, connection->watched, EPOLL_CTL_ADD);
      connections.emplace(number, std::move(connection));
    }
  }

  // Half of the file descriptors are for everything else that this process does.
  void KeepFilesFree() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return;
    const std::size_t room = files.rlim_cur / 2;
    settings.most_connections =
        std::min(settings.most_connections, std::max<std::size_t>(room / 4, 1));
    settings.most_streams = std::min(settings.most_streams, room - room / 4);
    settings.most_streams_of_one = std::min(settings.most_streams_of_one, settings.most_streams);
  }

  void PauseAccepting() {
    for (const Listener& listener : listeners) Watch(listener.fd(), 0, EPOLL_CTL_MOD);
    accept_again = steady_clock::now() + kAcceptAgain;
  }

  void Step(const std::shared_ptr<Connection>& connection, bool readable) {
    connection->touched = false;
    if (!connections.contains(connection->fd())) return;  // it is over already
    if (!connection->Step(readable)) return Drop(connection);
    const std::uint32_t wants = connection->Wants();
    if (wants == connection->watched) return;
    connection->watched = wants;
    Watch(connection->fd(), wants, EPOLL_CTL_MOD);
  }

  void Drop(std::shared_ptr<Connection> connection) {
    connections.erase(connection->fd());
    wire::Share& share = connection->share();
    if (connection->streams()) {
      --share.streams, --streams;
    } else {
      --share.connections, --plain;
    }
    connection->Leave();
    connection.reset();
    if (shares.size() > kMostPeers) {
      std::erase_if(shares, [](const auto& entry) {
        const wire::Share& s = entry.second;
        return s.connections + s.streams + s.bytes == 0;
      });
    }
  }

  void Sweep(steady_clock::time_point now) {
    swept = now;
    std::vector<std::shared_ptr<Connection>> late;
    for (const auto& [fd, connection] : connections) {
      if (connection->Late(now)) late.push_back(connection);
    }
    for (const auto& connection : late) Drop(connection);
  }

  milliseconds Patience(steady_clock::time_point now) const {
    steady_clock::time_point until = now + std::chrono::hours(1);
    if (!connections.empty()) until = std::min(until, swept + kSweep);
    if (accept_again) until = std::min(until, *accept_again);
    for (const Periodic& periodic : periodics) until = std::min(until, periodic.next);
    if (!touched.empty()) until = now;
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until - now));
  }

  void OnTime(steady_clock::time_point now) {
    if (now >= swept + kSweep) Sweep(now);
    if (accept_again && now >= *accept_again) {
      accept_again.reset();
      for (const Listener& listener : listeners) Watch(listener.fd(), EPOLLIN, EPOLL_CTL_MOD);
    }
    for (Periodic& periodic : periodics) {
      if (now < periodic.next) continue;
      periodic.next = now + periodic.interval;
      periodic.work();
    }
  }

  void OnEvent(const epoll_event& event) {
    const auto listener = std::find_if(listeners.begin(), listeners.end(),
                                       [&](const Listener& l) { return l.fd() == event.data.fd; });
    if (listener != listeners.end()) return Accept(*listener);
    const auto found = connections.find(event.data.fd);
    if (found == connections.end()) return;
    const auto connection = found->second;
    const bool broken = (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    // Both directions are closed: but what came before may still be read.
    if (broken && (event.events & EPOLLIN) == 0) return Drop(connection);
    Step(connection, (event.events & EPOLLIN) != 0);
  }

  void Run() {
    mailbox->Own();
    swept = steady_clock::now();
    for (Periodic& periodic : periodics) periodic.next = swept + periodic.interval;
    std::array<epoll_event, 256> events;
    while (!stop) {
      const auto patience = Patience(steady_clock::now());
      const int count = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()),
                                     static_cast<int>(patience.count()));
      for (const auto& work : mailbox->Take()) work();
      for (int i = 0; i < count; ++i) OnEvent(events[static_cast<std::size_t>(i)]);
      OnTime(steady_clock::now());
      // One step each, so that nobody's many requests keep the others waiting.
      for (const auto& connection : std::exchange(touched, {})) Step(connection, false);
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
  impl_->KeepFilesFree();
  impl_->Watch(impl_->mailbox->fd(), EPOLLIN, EPOLL_CTL_ADD);
  for (const Listener& listener : impl_->listeners) {
    impl_->Watch(listener.fd(), EPOLLIN, EPOLL_CTL_ADD);
  }
  impl_->thread = std::thread([this] { impl_->Run(); });
}

void HttpServer::Stop() {
  impl_->stop = true;
  impl_->mailbox->Post([] {});
  if (impl_->thread.joinable()) impl_->thread.join();
  impl_->mailbox->Close();
  impl_->touched.clear();
  impl_->connections.clear();
  impl_->listeners.clear();
}

std::uint16_t HttpServer::Port(std::size_t listen_at) const {
  return listen_at < impl_->listeners.size() ? impl_->listeners[listen_at].port()
                                             : std::uint16_t{0};
}

void HttpServer::Post(std::function<void()> work) { impl_->mailbox->Post(std::move(work)); }

HttpFigures HttpServer::Figures() const {
  return {impl_->requests, impl_->refused, impl_->failed, impl_->plain, impl_->streams};
}

std::vector<std::pair<std::string, std::string>> HttpServer::Routes() const {
  return impl_->table.All();
}

}  // namespace sharewell::http
