#include "platform/net/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/files/text.h"

namespace sharewell::platform {
namespace {

constexpr std::size_t kLongestUrl = 4096;
constexpr long kMostRedirects = 5;
constexpr long kOkStatus = 200;

struct CloseCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// One answer on its way, as libcurl's callbacks fill it.
struct Arriving {
  const HttpRequest& request;
  CURL* curl = nullptr;
  HttpAnswer answer = {};
  bool over = false;   // more than is allowed
  bool ended = false;  // by the caller

  long Status() const {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
};

std::size_t TakeBody(char* data, std::size_t, std::size_t bytes, void* to) {
  Arriving& here = *static_cast<Arriving*>(to);
  if (here.request.on_body && here.Status() == kOkStatus) {
    here.ended = !here.request.on_body(std::string_view(data, bytes));
    return here.ended ? 0 : bytes;
  }
  if (bytes > here.request.most_bytes - here.answer.body.size()) {
    here.over = true;
    return 0;  // ends the transfer
  }
  here.answer.body.append(data, bytes);
  return bytes;
}

std::size_t TakeHeader(char* data, std::size_t, std::size_t bytes, void* to) {
  Arriving& here = *static_cast<Arriving*>(to);
  const std::string_view line(data, bytes);
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return bytes;
  const std::string name = core::LowerCase(line.substr(0, colon));
  for (std::size_t i = 0; i < here.request.wanted.size(); ++i) {
    if (name != core::LowerCase(here.request.wanted[i])) continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.back() == '\r' || value.back() == '\n')) value.remove_suffix(1);
    here.answer.wanted[i] = std::string(Trimmed(value));
  }
  return bytes;
}

int OnWait(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  Arriving& here = *static_cast<Arriving*>(to);
  here.ended = here.ended || !here.request.on_wait();
  return here.ended ? 1 : 0;
}

// For messages: without the name and password it may carry.
std::string Told(std::string_view url) {
  const auto begin = url.find("://");
  const auto end = begin == std::string_view::npos ? begin : url.find_first_of("/?#", begin + 3);
  const auto at = url.substr(0, end).rfind('@');
  if (begin == std::string_view::npos || at == std::string_view::npos) return core::Quoted(url);
  return core::Quoted(std::string(url.substr(0, begin + 3)) + std::string(url.substr(at + 1)));
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
                                              url, core::Quoted(HostOfUrl(request.url)))};
    case CURLE_COULDNT_CONNECT:
      if (!request.unix_socket.empty()) {
        return {ErrorKind::kAbsent,
                fmt::format("{}: nothing answers there", core::Quoted(request.unix_socket))};
      }
      return {ErrorKind::kAbsent,
              fmt::format("{}: nothing answers there; check host and port, and that the exporter "
                          "runs",
                          url)};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorKind::kAbsent,
              fmt::format("{}: no whole answer within {:g} s; the server is too slow, or something "
                          "between holds it back",
                          url, request.timeout.value),
              core::ErrorCause::kTooSlow};
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
      return {ErrorKind::kAbsent,
              fmt::format("{}: it went away before its answer was whole ({})", url,
                          curl_easy_strerror(code)),
              core::ErrorCause::kWentAway};
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

void SetWhatIsSent(CURL* c, const HttpRequest& request) {
  if (request.method != "GET") {
    curl_easy_setopt(c, CURLOPT_POST, 1L);  // with a body, be it empty, whatever the verb
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  if (!request.unix_socket.empty()) {
    curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
  }
  if (!request.token.empty()) {
    curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, request.token.c_str());
  }
  if (!request.ca_file.empty()) curl_easy_setopt(c, CURLOPT_CAINFO, request.ca_file.c_str());
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

core::Result<HttpAnswer> HttpSend(const HttpRequest& request) {
  RETURN_IF_ERROR(CheckUrl(request.url));
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, CloseCurl> curl(ready == CURLE_OK ? curl_easy_init() : nullptr);
  if (!curl) return core::FailedError("libcurl cannot be started");
  std::unique_ptr<curl_slist, CloseCurl> headers;
  std::vector<std::string> lines = request.headers;
  lines.emplace_back("Expect:");  // a long body goes at once: not every server says "100 Continue"
  for (const std::string& header : lines) {
    curl_slist* longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) return core::FailedError("out of memory");
    static_cast<void>(headers.release());  // it is the head of `longer`
    headers.reset(longer);
  }
  CURL* const c = curl.get();
  Arriving arriving{.request = request, .curl = c};
  arriving.answer.wanted.resize(request.wanted.size());
  char details[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION,
                   request.method == "GET" && request.token.empty() ? 1L : 0L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_timeout.value * 1000));
  curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.value * 1000));
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");  // whatever libcurl can undo
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  // A proxy from the environment cannot know what this machine's own address means.
  if (IsLoopback(HostOfUrl(request.url)) || !request.unix_socket.empty()) {
    curl_easy_setopt(c, CURLOPT_PROXY, "");
  }
  SetWhatIsSent(c, request);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &arriving);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &arriving);
  if (request.on_wait) {
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, OnWait);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, &arriving);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  }
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, details);
  const CURLcode code = curl_easy_perform(c);
  if (arriving.over) {
    return core::FailedError("{}: answers with more than {} MiB; is this the right address?",
                             Told(request.url), request.most_bytes >> 20);
  }
  if (code != CURLE_OK && !arriving.ended) return tl::unexpected(InWords(code, request, details));
  const char* type = nullptr;
  curl_easy_getinfo(c, CURLINFO_CONTENT_TYPE, &type);
  arriving.answer.status = static_cast<int>(arriving.Status());
  if (type != nullptr) arriving.answer.content_type = type;
  return std::move(arriving.answer);
}

core::Result<std::string> Fetch(const HttpRequest& request) {
  auto answer = HttpSend(request);
  RETURN_IF_ERROR(answer);
  if (answer->status == kOkStatus) return std::move(answer->body);
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
