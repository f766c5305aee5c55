#include "platform/net/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "core/shown.h"
#include "core/suggest.h"

namespace sharewell::platform {
namespace {

constexpr std::size_t kLongestUrl = 4096;
constexpr long kMostRedirects = 5;

struct CloseCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

struct Body {
  std::string text;
  std::size_t most = 0;
  bool over = false;
};

std::size_t TakeBody(char* data, std::size_t, std::size_t bytes, void* to) {
  Body& body = *static_cast<Body*>(to);
  if (bytes > body.most - body.text.size()) {
    body.over = true;
    return 0;  // ends the transfer
  }
  body.text.append(data, bytes);
  return bytes;
}

// For messages: without the name and password it may carry.
std::string Told(std::string_view url) {
  const auto begin = url.find("://");
  const auto end = begin == std::string_view::npos ? begin : url.find_first_of("/?#", begin + 3);
  const auto at = url.substr(0, end).rfind('@');
  if (begin == std::string_view::npos || at == std::string_view::npos) return core::Shown(url);
  return core::Shown(std::string(url.substr(0, begin + 3)) + std::string(url.substr(at + 1)));
}

core::Result<void> CheckUrl(const std::string& url) {
  if (url.size() > kLongestUrl) return core::UsageError("the URL is longer than {}", kLongestUrl);
  const bool control =
      std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; });
  const std::string scheme = core::LowerCase(url.substr(0, std::min(url.find(':'), url.size())));
  if (control || (scheme != "http" && scheme != "https") || HostOfUrl(url).empty()) {
    return core::UsageError("{} is no URL we can read; give http://HOST:PORT/PATH", Told(url));
  }
  return {};
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

core::Error InWords(CURLcode code, const HttpRequest& request, const char* details) {
  using core::ErrorKind;
  const std::string url = Told(request.url);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {ErrorKind::kAbsent, fmt::format("{}: the host {} is not known; check its spelling",
                                              url, core::Shown(HostOfUrl(request.url)))};
    case CURLE_COULDNT_CONNECT:
      return {ErrorKind::kAbsent,
              fmt::format("{}: nothing answers there; check host and port, and that the exporter "
                          "runs",
                          url)};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorKind::kAbsent,
              fmt::format("{}: no whole answer within {:g} s; the server is too slow, or something "
                          "between holds it back",
                          url, request.timeout.value)};
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {ErrorKind::kUsage,
              fmt::format("{}: leads to something that is neither http nor https", url)};
    case CURLE_URL_MALFORMAT:
      return {ErrorKind::kUsage,
              fmt::format("{} is no URL we can read; give http://HOST:PORT/PATH", url)};
    default:
      return {ErrorKind::kFailed,
              fmt::format("{}: {}", url,
                          details[0] != '\0' ? std::string_view(details)
                                             : std::string_view(curl_easy_strerror(code)))};
  }
}

}  // namespace

bool LooksLikeUrl(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view scheme = text.substr(0, colon);
  return std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+';
  });
}

std::string HostOfUrl(std::string_view url) {
  const auto begin = url.find("://");
  if (begin == std::string_view::npos) return {};
  url.remove_prefix(begin + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const auto at = url.rfind('@'); at != std::string_view::npos) url.remove_prefix(at + 1);
  if (url.starts_with('[')) {  // an IPv6 address
    const auto end = url.find(']');
    return end == std::string_view::npos ? std::string() : std::string(url.substr(1, end - 1));
  }
  return std::string(url.substr(0, url.find(':')));
}

core::Result<HttpAnswer> HttpGet(const HttpRequest& request) {
  if (auto ok = CheckUrl(request.url); !ok) return tl::unexpected(ok.error());
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, CloseCurl> curl(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (!curl) return core::FailedError("libcurl cannot be started");
  std::unique_ptr<curl_slist, CloseCurl> headers;
  for (const std::string& header : request.headers) {
    curl_slist* longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) return core::FailedError("out of memory");
    static_cast<void>(headers.release());  // it is the head of `longer`
    headers.reset(longer);
  }
  Body body{.text = {}, .most = request.most_bytes};
  char details[CURL_ERROR_SIZE] = "";
  CURL* const c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_timeout.value * 1000));
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.value * 1000));
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");  // whatever libcurl can undo
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  // A proxy from the environment cannot know what this machine's own address means.
  if (IsLoopback(HostOfUrl(request.url))) curl_easy_setopt(c, CURLOPT_PROXY, "");
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, details);
  const CURLcode code = curl_easy_perform(c);
  if (body.over) {
    return core::FailedError("{}: answers with more than {} MiB; is this the right address?",
                             Told(request.url), request.most_bytes >> 20);
  }
  if (code != CURLE_OK) return tl::unexpected(InWords(code, request, details));
  HttpAnswer answer;
  long status = 0;
  const char* type = nullptr;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type);
  answer.status = static_cast<int>(status);
  if (type != nullptr) answer.content_type = type;
  answer.body = std::move(body.text);
  return answer;
}

core::Result<std::string> Fetch(const HttpRequest& request) {
  auto answer = HttpGet(request);
  if (!answer) return tl::unexpected(answer.error());
  if (answer->status == 200) return std::move(answer->body);
  const std::string url = Told(request.url);
  if (answer->status == 404) {
    return core::UsageError("{}: the server has no such page (404); exporters answer at /metrics",
                            url);
  }
  if (answer->status == 401 || answer->status == 403) {
    return core::UsageError(
        "{}: the server wants a name or a token (status {}); put it into the "
        "URL as http://USER:PASSWORD@HOST/",
        url, answer->status);
  }
  return core::FailedError("{}: the server answers with status {}", url, answer->status);
}

}  // namespace sharewell::platform
