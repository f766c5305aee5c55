// The two objects in the API server that the webhook keeps itself: the Secret with its certificate,
// which its replicas share, and the MutatingWebhookConfiguration, which says to the API server whom
// to trust. All of them have one name. Pure: requests, and what their answers say.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/kubernetes/api/kube_driver.h"

namespace sharewell::engine {

// Of the Service, the Secret and the MutatingWebhookConfiguration (deploy/kubernetes/webhook).
inline constexpr std::string_view kWebhookName = "sharewell-webhook";

struct WebhookKeys {
  std::string certificate, key;  // PEM
  // Whom the API server is to trust, PEM: the newest first, then the one before, by which replicas
  // are known that still serve the certificate before.
  std::string authorities;
  std::string version;  // of the Secret; empty: there is none yet

  friend bool operator==(const WebhookKeys&, const WebhookKeys&) = default;
};

KubeRequest ReadKeysRequest(const std::string& name_space);
// Makes it, or replaces the one of that version: 409 where another replica was quicker.
KubeRequest WriteKeysRequest(const std::string& name_space, const WebhookKeys& keys);
// An error: it is no Secret. What it does not hold is empty.
core::Result<WebhookKeys> ParseKeys(std::string_view secret);

KubeRequest ReadHookRequest();
// What makes the API server trust these, in all webhooks of ours in `configuration`; absent: it
// does already. An error: it has none of ours.
core::Result<std::optional<KubeRequest>> TrustRequest(std::string_view configuration,
                                                      const std::string& authorities);

}  // namespace sharewell::engine
