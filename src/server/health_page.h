// HealthPage: `/healthz` alone, over plain HTTP, for whoever asks: a kubelet's probes, a load
// balancer. It answers before its server does, so that a replica that waits to lead is alive too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/result.h"
#include "http/http_server.h"

namespace sharewell::server {

class HealthPage {
 public:
  // What keeps the server from doing its work; empty: nothing does. Any thread.
  using Problem = std::function<std::string()>;

  // Listens and answers at once; port 0: one that is free. Fails where another program holds the
  // address.
  static core::Result<std::unique_ptr<HealthPage>> Serve(const http::Endpoint& endpoint);
  ~HealthPage();
  HealthPage(const HealthPage&) = delete;
  HealthPage& operator=(const HealthPage&) = delete;

  // Absent: there is no server yet, or no longer. It is not called any more when this returns.
  void SetProblem(Problem problem);
  std::uint16_t Port() const;

 private:
  explicit HealthPage(std::unique_ptr<http::HttpServer> http);
  http::HttpResponse Answer();

  std::mutex mutex_;
  Problem problem_;  // guarded by mutex_
  std::unique_ptr<http::HttpServer> http_;
};

}  // namespace sharewell::server
