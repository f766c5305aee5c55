#include "engine/kubernetes/kube_status.h"

#include <simdjson.h>

#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostMessage = 2000;

std::string StatusText(const dom::element& of, const char* key) {
  std::string_view text;
  if (of[key].get(text) != simdjson::SUCCESS) return {};
  // A server's words go to a terminal and into logs.
  std::string out(text.substr(0, kMostMessage));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return out;
}

}  // namespace

KubeStatus ReadKubeStatus(std::string_view json) {
  KubeStatus out;
  dom::parser parser;
  dom::element status;
  std::string_view kind;
  if (parser.parse(json.data(), json.size()).get(status) != simdjson::SUCCESS ||
      status["kind"].get(kind) != simdjson::SUCCESS || kind != "Status") {
    return out;
  }
  std::int64_t code = 0;
  if (status["code"].get(code) == simdjson::SUCCESS && code >= 100 && code < 600) {
    out.code = static_cast<int>(code);
  }
  out.reason = StatusText(status, "reason");
  out.message = StatusText(status, "message");
  std::string_view next;
  if (status["metadata"]["continue"].get(next) == simdjson::SUCCESS) out.next_page = next;
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
