#include "engine/kubernetes/control/kube_status.h"

#include "core/text/plain_text.h"
#include "core/text/quoted.h"
#include "json/value.h"

namespace sharewell::engine {
namespace {

constexpr std::size_t kMostMessage = 2000;

std::string StatusText(json::Value of, std::string_view key) {
  // A server's words go to a terminal and into logs.
  return core::PlainText(of[key].Text().value_or("").substr(0, kMostMessage), " ");
}

}  // namespace

KubeStatus ReadKubeStatus(std::string_view text) {
  KubeStatus out;
  const auto parsed = json::Document::Parse(text);
  const json::Value status = json::RootOf(parsed);
  if (status["kind"].Text() != "Status") return out;
  const std::int64_t code = status["code"].Whole().value_or(0);
  if (code >= 100 && code < 600) out.code = static_cast<int>(code);
  out.reason = StatusText(status, "reason");
  out.message = StatusText(status, "message");
  out.next_page = status["metadata"]["continue"].Text().value_or("");
  return out;
}

std::string KubeEscaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

core::Error KubeRefused(const std::string& what, const KubeAnswer& answer) {
  using core::ErrorKind;
  const KubeStatus status = ReadKubeStatus(answer.body);
  const std::string said = status.message.empty() ? core::Quoted(answer.body) : status.message;
  if (answer.status == 401) {
    return {ErrorKind::kUsage,
            fmt::format("{}: the API server does not know who asks (401: {}); the token or client "
                        "certificate is wrong or has expired",
                        what, said)};
  }
  if (answer.status == 403) {
    return {ErrorKind::kUsage,
            fmt::format("{}: the API server forbids it (403: {}); give the named user that right: "
                        "deploy/kubernetes/base/rbac.yaml has all that are needed",
                        what, said)};
  }
  if (answer.status == 429 || answer.status >= 500) {
    return {ErrorKind::kAbsent, fmt::format("{}: the API server cannot serve it now ({}: {})", what,
                                            answer.status, said)};
  }
  return {ErrorKind::kFailed,
          fmt::format("{}: the API server refuses it ({}: {})", what, answer.status, said)};
}

}  // namespace sharewell::engine
