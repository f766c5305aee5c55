#include "server/health_page.h"

#include <utility>

namespace sharewell::server {

core::Result<std::unique_ptr<HealthPage>> HealthPage::Serve(const http::Endpoint& endpoint) {
  auto listening = http::HttpServer::Listen(endpoint);
  if (!listening) return core::FailedError("--health: {}", listening.error().message);
  return std::unique_ptr<HealthPage>(new HealthPage(std::move(*listening)));
}

HealthPage::HealthPage(std::unique_ptr<http::HttpServer> http) : http_(std::move(http)) {
  http_->Route("GET", "/healthz", [this](const http::HttpRequest&) { return Answer(); });
  http_->Start();
}

HealthPage::~HealthPage() { http_->Stop(); }

void HealthPage::SetProblem(Problem problem) {
  const std::scoped_lock lock(mutex_);
  problem_ = std::move(problem);
}

std::uint16_t HealthPage::Port() const { return http_->Port(); }

http::HttpResponse HealthPage::Answer() {
  const std::scoped_lock lock(mutex_);
  if (!problem_) return {.body = "ok\nnot serving: it starts, ends, or waits to lead\n"};
  const std::string problem = problem_();
  if (!problem.empty()) return {.status = 503, .body = problem + "\n"};
  return {.body = "ok\n"};
}

}  // namespace sharewell::server
