// WebhookServer: answers the API server over HTTPS before it keeps a pod (engine::AdmitPod).
//
// Its certificate it makes itself and keeps in a Secret that its replicas share, and it tells the
// API server whom to trust. A certificate is valid for 90 days and replaced after 60; the authority
// before stays trusted meanwhile, so that replicas may change one after the other. For the moment
// of a change nobody listens, and pods pass as they are (failurePolicy: Ignore).
//
// One thread, that of the driver, for all of it but answering, which the HTTP server's does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/result.h"
#include "engine/kubernetes/api/kube_driver.h"
#include "engine/kubernetes/webhook/admit_pod.h"
#include "engine/kubernetes/webhook/webhook_objects.h"
#include "http/http_server.h"

namespace sharewell::server {

struct WebhookOptions {
  http::Endpoint listen;
  std::string name_space;  // of its Service and its Secret
  engine::AdmissionOptions admission;
  std::function<std::int64_t()> now;  // seconds since 1970
  std::function<void(const std::string&)> log = [](const std::string&) {};
};

class WebhookServer {
 public:
  // `driver` must outlive it.
  WebhookServer(engine::KubeDriver& driver, WebhookOptions options);

  // Does what has to be done now: reads or makes the certificate, tells the API server, serves. An
  // error: not all of it could be done, and the next call tries again. What was served is served
  // on.
  core::Result<void> Step();
  std::uint16_t Port() const;  // 0: it does not listen yet

 private:
  core::Result<engine::WebhookKeys> Keys();
  core::Result<engine::WebhookKeys> NewKeys(const engine::WebhookKeys& before) const;
  core::Result<void> TellApiServer(const std::string& authorities);
  core::Result<void> Serve(const engine::WebhookKeys& keys);
  core::Result<engine::KubeAnswer> Ask(const engine::KubeRequest& request);

  engine::KubeDriver& driver_;
  const WebhookOptions options_;
  std::string served_;  // the certificate
  http::Endpoint listen_;
  std::unique_ptr<http::HttpServer> http_;  // the last: its thread uses the options
};

}  // namespace sharewell::server
