#include "server/kubernetes/webhook_server.h"

#include <fmt/format.h>

#include <utility>

#include "engine/kubernetes/control/kube_status.h"
#include "http/own_certificate.h"
#include "http/tls.h"
#include "platform/files/watcher_files.h"

namespace sharewell::server {
namespace {

using core::Result;
using engine::KubeRefused;

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kValidDays = 90, kReplacedBefore = 30 * kDay;
constexpr std::int64_t kClocksDiffer = 3600;  // at most, between here and the API server
constexpr core::Seconds kAskLimit{10};
// A pod before and after its change, of at most 1.5 MiB each.
constexpr std::size_t kMostReview = std::size_t{4} << 20;
constexpr int kReplicasAtOnce = 3;
// Longer than the API server keeps a connection that it does not use (90 s): so it is always the
// one that closes, and sends no question into a connection that is being closed.
constexpr core::Seconds kIdle{120};

}  // namespace

WebhookServer::WebhookServer(engine::KubeDriver& driver, WebhookOptions options)
    : driver_(driver), options_(std::move(options)), listen_(options_.listen) {}

std::uint16_t WebhookServer::Port() const { return http_ ? http_->Port() : 0; }

Result<engine::KubeAnswer> WebhookServer::Ask(const engine::KubeRequest& request) {
  return driver_.Ask(request, kAskLimit);
}

Result<void> WebhookServer::Step() {
  const auto keys = Keys();
  RETURN_IF_ERROR(keys);
  // First whom to trust, so that no certificate is served that nobody trusts yet. What stops that
  // is no reason not to serve: an admin may have told the API server.
  const auto told = TellApiServer(keys->authorities);
  RETURN_IF_ERROR(Serve(*keys));
  return told;
}

Result<engine::WebhookKeys> WebhookServer::Keys() {
  // Of several replicas that find no usable certificate one is the first; the others take its.
  for (int tried = 0; tried < kReplicasAtOnce; ++tried) {
    const auto answer = Ask(engine::ReadKeysRequest(options_.name_space));
    RETURN_IF_ERROR(answer);
    engine::WebhookKeys keys;
    if (answer->status == 200) {
      auto read = engine::ParseKeys(answer->body);
      RETURN_IF_ERROR(read);
      keys = std::move(*read);
      const auto end = http::CertificateEndIn(keys.certificate);
      const bool fits = http::TlsKeys::FromPem(keys.certificate, keys.key).has_value() &&
                        !http::FirstCertificate(keys.authorities).empty();
      if (fits && end && *end - kReplacedBefore > options_.now()) return keys;
    } else if (answer->status != 404) {
      return tl::unexpected(KubeRefused(
          fmt::format("the Secret {} of the webhook: cannot be read", engine::kWebhookName),
          *answer));
    }
    const auto made = NewKeys(keys);
    RETURN_IF_ERROR(made);
    const auto written = Ask(engine::WriteKeysRequest(options_.name_space, *made));
    RETURN_IF_ERROR(written);
    if (written->status == 200 || written->status == 201) {
      options_.log(fmt::format("made a certificate for {} days, in the Secret {}/{}", kValidDays,
                               options_.name_space, engine::kWebhookName));
      return made;
    }
    if (written->status != 409) {
      return tl::unexpected(KubeRefused(
          fmt::format("the Secret {} of the webhook: cannot be written", engine::kWebhookName),
          *written));
    }
  }
  return core::FailedError(
      "the Secret {} of the webhook changes faster than it can be read: who else writes it?",
      engine::kWebhookName);
}

Result<engine::WebhookKeys> WebhookServer::NewKeys(const engine::WebhookKeys& before) const {
  const std::int64_t now = options_.now();
  const auto own =
      http::MakeCertificate({fmt::format("{}.{}.svc", engine::kWebhookName, options_.name_space)},
                            now - kClocksDiffer, now + kValidDays * kDay);
  RETURN_IF_ERROR(own);
  return engine::WebhookKeys{own->certificate, own->key,
                             own->authority + http::FirstCertificate(before.authorities),
                             before.version};
}

Result<void> WebhookServer::TellApiServer(const std::string& authorities) {
  const auto answer = Ask(engine::ReadHookRequest());
  RETURN_IF_ERROR(answer);
  const std::string what =
      fmt::format("the MutatingWebhookConfiguration {}: cannot be ", engine::kWebhookName);
  if (answer->status != 200) return tl::unexpected(KubeRefused(what + "read", *answer));
  const auto request = engine::TrustRequest(answer->body, authorities);
  RETURN_IF_ERROR(request);
  if (!*request) return {};
  const auto patched = Ask(**request);
  RETURN_IF_ERROR(patched);
  if (patched->status != 200) return tl::unexpected(KubeRefused(what + "changed", *patched));
  options_.log("told the API server whom to trust");
  return {};
}

Result<void> WebhookServer::Serve(const engine::WebhookKeys& keys) {
  if (http_ && keys.certificate == served_) return {};
  http_.reset();  // its port is needed
  const std::vector<http::ListenAddress> addresses = {{.kind = http::ListenKind::kTls,
                                                       .endpoint = listen_,
                                                       .certificate = keys.certificate,
                                                       .key = keys.key,
                                                       .pem = true}};
  http::HttpOptions with;
  with.log = options_.log;
  with.timeout = kIdle;
  auto listening = http::HttpServer::Listen(addresses, with);
  RETURN_IF_ERROR(listening);
  http_ = std::move(*listening);
  listen_.port = http_->Port();
  // The API server is one client for everybody's pods: nobody counts what its answers cost.
  http_->SetGate([](const http::HttpRequest&) {
    return http::HttpServer::Admission{.refusal = {}, .uid = {}, .admin = true};
  });
  http_->Route("GET", "/healthz",
               [](const http::HttpRequest&) { return http::HttpResponse{.body = "ok\n"}; });
  http_->Route(
      "POST", "/pods",
      [this](const http::HttpRequest& request, const http::Responder& responder) {
        auto answer = engine::AdmitPod(request.body, options_.admission, platform::WatcherFiles());
        if (answer) {
          responder.Answer({200, "application/json", std::move(*answer)});
        } else {
          responder.Answer({.status = 400, .body = answer.error().message + "\n"});
        }
      },
      kMostReview);
  http_->Start();
  served_ = keys.certificate;
  return {};
}

}  // namespace sharewell::server
