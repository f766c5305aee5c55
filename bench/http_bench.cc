// The server under many listeners: what publishing an event costs its thread with no event stream
// and with 500, one of which reads nothing; and how long 10,000 jobs take to be listed.
#include <benchmark/benchmark.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/api.h"
#include "api/fake_job_service.h"
#include "control/sampling/sampler.h"
#include "http/test_client.h"

namespace sharewell::api {
namespace {

using http::TestClient;
using std::chrono::steady_clock;

struct Served {
  FakeJobService service;
  FakeJobStore store;
  std::unique_ptr<http::HttpServer> server =
      http::HttpServer::Listen(std::vector<http::ListenAddress>{http::ListenAddress{}},
                               {.limits = [](auto) { return core::Limits{.streams = 1000}; }})
          .value();
  std::unique_ptr<Api> api = std::make_unique<Api>(
      *server, service, [this] { return store.Open(); }, Studies{}, ApiOptions{});

  Served() { server->Start(); }
  ~Served() {
    server->Stop();
    api.reset();
  }
};

// Clients that listen, all but the last one read by one thread as bytes come.
class Listeners {
 public:
  Listeners(std::uint16_t port, int count) : epoll_(::epoll_create1(0)) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < count; ++i) {
      clients_.push_back(std::make_unique<TestClient>(port));
      clients_.back()->Send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
      clients_.back()->Until(": sharewell\n\n");
      if (i + 1 == count) break;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = clients_.back()->fd();
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, event.data.fd, &event);
    }
    const int little = 4096;
    ::setsockopt(clients_.back()->fd(), SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    reader_ = std::thread([this] { Read(); });
  }
  ~Listeners() {
    stop_ = true;
    reader_.join();
    ::close(epoll_);
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void Read() {
    std::vector<epoll_event> events(256);
    std::vector<char> room(65536);
    while (!stop_) {
      const int count = ::epoll_wait(epoll_, events.data(), 256, 50);
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        const ssize_t got = ::recv(fd, room.data(), room.size(), MSG_DONTWAIT);
        if (got > 0) bytes_ += static_cast<std::uint64_t>(got);
        if (got == 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
      }
    }
  }

  int epoll_;
  std::vector<std::unique_ptr<TestClient>> clients_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> bytes_{0};
  std::thread reader_;
};

void PublishToStreams(benchmark::State& state) {
  Served served;
  const int count = static_cast<int>(state.range(0));
  std::unique_ptr<Listeners> listeners;
  if (count > 0) listeners = std::make_unique<Listeners>(served.server->Port(), count);
  const double before = control::OwnCost().resident.value_or(core::Bytes(0)).value;
  std::vector<double> times;
  std::int64_t id = 0;
  for (auto _ : state) {
    const auto start = steady_clock::now();
    served.service.hub.Publish({++id, 0, "job.started", 1, std::string(400, 'x')});
    times.push_back(std::chrono::duration<double>(steady_clock::now() - start).count());
    state.SetIterationTime(times.back());
    // A thousand events a second, which is what a thousand submissions a second give.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::sort(times.begin(), times.end());
  state.counters["p99_us"] = times[times.size() * 99 / 100] * 1e6;
  state.counters["most_us"] = times.back() * 1e6;
  const double after = control::OwnCost().resident.value_or(core::Bytes(0)).value;
  state.counters["grown_MB"] = (after - before) / 1e6;
  state.counters["streams_left"] = static_cast<double>(served.server->Figures().streams);
  if (listeners) state.counters["told_MB"] = static_cast<double>(listeners->bytes()) / 1e6;
}
BENCHMARK(PublishToStreams)->Arg(0)->Arg(500)->Iterations(10'000)->UseManualTime();

void ListTenThousand(benchmark::State& state) {
  Served served;
  core::JobRecord record;
  record.user = {"ann", 1000, 1000, false};
  record.asked.command = {"python3", "train.py", "--epochs", "10"};
  record.reason = "no GPU has room for it yet";
  record.asked.environment.assign(40, {"SOME_VARIABLE", "with a value of common length"});
  for (record.number = 1; record.number <= 10'000; ++record.number) served.service.jobs.Put(record);
  for (auto _ : state) {
    const TestClient client(served.server->Port());
    client.Send(
        "GET /api/v1/jobs?live=1&limit=10000 HTTP/1.1\r\nHost: localhost\r\nConnection: "
        "close\r\n\r\n");
    benchmark::DoNotOptimize(client.All());
  }
}
BENCHMARK(ListTenThousand)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace sharewell::api
