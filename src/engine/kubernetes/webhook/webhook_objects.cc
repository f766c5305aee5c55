#include "engine/kubernetes/webhook/webhook_objects.h"

#include <fmt/format.h>

#include <vector>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_status.h"
#include "json/text.h"
#include "json/value.h"
#include "json/writer.h"

namespace sharewell::engine {
namespace {

using core::Result;

// As secrets of kind kubernetes.io/tls have them, and what we add.
constexpr const char* kCertificateKey = "tls.crt";
constexpr const char* kPrivateKey = "tls.key";
constexpr const char* kAuthoritiesKey = "ca.crt";
// Ours in a configuration end so: "pods.sharewell.io".
constexpr std::string_view kOurHook = ".sharewell.io";

std::string SecretsPath(const std::string& name_space) {
  return fmt::format("/api/v1/namespaces/{}/secrets", KubeEscaped(name_space));
}

std::string HookPath() {
  return fmt::format("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{}",
                     kWebhookName);
}

std::string InSecret(json::Value secret, const char* key) {
  return json::FromBase64(secret["data"][key].Text().value_or("")).value_or("");
}

}  // namespace

KubeRequest ReadKeysRequest(const std::string& name_space) {
  return {"GET", fmt::format("{}/{}", SecretsPath(name_space), kWebhookName), "", ""};
}

KubeRequest WriteKeysRequest(const std::string& name_space, const WebhookKeys& keys) {
  const std::string body = json::ObjectLine([&](json::Writer& out) {
    out.Field("apiVersion", "v1");
    out.Field("kind", "Secret");
    out.Field("type", "kubernetes.io/tls");
    out.Object("metadata", [&] {
      out.Field("name", kWebhookName);
      if (!keys.version.empty()) out.Field("resourceVersion", keys.version);
    });
    out.Object("data", [&] {
      out.Field(kCertificateKey, json::Base64(keys.certificate));
      out.Field(kPrivateKey, json::Base64(keys.key));
      out.Field(kAuthoritiesKey, json::Base64(keys.authorities));
    });
  });
  const std::string path = SecretsPath(name_space);
  if (keys.version.empty()) return {"POST", path, body, ""};
  return {"PUT", fmt::format("{}/{}", path, kWebhookName), body, ""};
}

Result<WebhookKeys> ParseKeys(std::string_view secret) {
  const auto parsed = json::Document::Parse(secret);
  const json::Value root = json::RootOf(parsed);
  WebhookKeys keys;
  keys.version = root["metadata"]["resourceVersion"].Text().value_or("");
  if (root["kind"].Text() != "Secret" || keys.version.empty()) {
    return core::FailedError("the Secret {} of the webhook cannot be read: it is no Secret",
                             kWebhookName);
  }
  keys.certificate = InSecret(root, kCertificateKey);
  keys.key = InSecret(root, kPrivateKey);
  keys.authorities = InSecret(root, kAuthoritiesKey);
  return keys;
}

KubeRequest ReadHookRequest() { return {"GET", HookPath(), "", ""}; }

Result<std::optional<KubeRequest>> TrustRequest(std::string_view configuration,
                                                const std::string& authorities) {
  const auto parsed = json::Document::Parse(configuration);
  const json::Value root = json::RootOf(parsed);
  const std::string bundle = json::Base64(authorities);
  std::vector<std::string> ours;
  bool trusts = true;
  for (const json::Value hook : root["webhooks"].items()) {
    const auto name = hook["name"].Text().value_or("");
    if (!name.ends_with(kOurHook)) continue;
    ours.emplace_back(name);
    trusts = trusts && hook["clientConfig"]["caBundle"].Text() == bundle;
  }
  if (ours.empty()) {
    return core::FailedError(
        "the MutatingWebhookConfiguration {} has no webhook of a name in *{}; apply "
        "deploy/kubernetes/webhook again",
        kWebhookName, kOurHook);
  }
  if (trusts) return std::optional<KubeRequest>();
  // Of a webhook of that name this is changed, and all else stays.
  return std::optional(KubeRequest{"PATCH", HookPath(), json::ObjectLine([&](json::Writer& out) {
                                     out.List("webhooks", ours, [&](const std::string& name) {
                                       out.Object([&] {
                                         out.Field("name", name);
                                         out.Object("clientConfig",
                                                    [&] { out.Field("caBundle", bundle); });
                                       });
                                     });
                                   }),
                                   "application/strategic-merge-patch+json"});
}

}  // namespace sharewell::engine
