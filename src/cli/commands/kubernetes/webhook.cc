#include "cli/commands/kubernetes/webhook.h"

#include <fmt/format.h>

#include <utility>

#include "cli/terminal.h"
#include "engine/kubernetes/api/kube_access.h"
#include "engine/kubernetes/api/kube_http.h"
#include "platform/clock/wall_clock.h"
#include "server/kubernetes/webhook_server.h"
#include "server/settings/daemon.h"

namespace sharewell::cli {
namespace {

// How long another replica may serve a certificate that was replaced.
constexpr core::Seconds kNextStep{60};
constexpr core::Seconds kNextTry{5};
constexpr const char* kUsualNamespace = "sharewell-system";

}  // namespace

core::Result<ExitCode> RunWebhook(const WebhookFlags& flags) {
  const auto endpoint = http::ParseEndpoint("--listen", flags.listen);
  RETURN_IF_ERROR(endpoint);
  // Before any thread is started, so that none of them is interrupted.
  const HoldInterrupts held;
  auto access = engine::FindKubeAccess({.kubeconfig = flags.kubeconfig, .context = flags.context});
  RETURN_IF_ERROR(access);
  server::WebhookOptions options;
  options.listen = *endpoint;
  options.name_space = access->name_space.empty() ? kUsualNamespace : access->name_space;
  options.admission.scheduler = flags.scheduler;
  options.admission.writers = {
      flags.account.empty() ? fmt::format("system:serviceaccount:{}:sharewell", options.name_space)
                            : flags.account};
  options.now = [] { return platform::UnixNow() / 1000; };
  options.log = SayLine;
  const auto driver = engine::NewKubeHttp(std::move(*access));
  RETURN_IF_ERROR(driver);
  server::WebhookServer webhook(**driver, std::move(options));
  std::string said;
  for (;;) {
    const auto done = webhook.Step();
    // What an admin can give it meanwhile, such as a right, is no reason to end.
    const std::string words = done
                                  ? fmt::format("answers the API server on port {}", webhook.Port())
                                  : done.error().message;
    if (std::exchange(said, words) != words) SayLine(words);
    if (server::WaitForSignal(done ? kNextStep : kNextTry)) return kOk;
  }
}

}  // namespace sharewell::cli
