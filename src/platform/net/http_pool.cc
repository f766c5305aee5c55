#include "platform/net/http_pool.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>

#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/files/text.h"
#include "platform/net/http_client.h"

namespace sharewell::platform {
namespace {

constexpr long kConnectMillis = 10'000;
// A host that vanished without a word: what it does not acknowledge for so long ends a connection.
constexpr unsigned kUserTimeoutMillis = 30'000;
constexpr long kKeepAliveIdle = 15, kKeepAliveInterval = 5;

long Millis(core::Seconds s) {
  return static_cast<long>(std::clamp(s.value * 1000, 1.0, 86'400'000.0));
}

// By number, and not by a name that could lead anywhere.
bool IsLoopbackAddress(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

int OnSocket(void*, curl_socket_t socket, curlsocktype) {
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMillis,
               sizeof(kUserTimeoutMillis));
  return CURL_SOCKOPT_OK;
}

void SetBlob(CURL* c, CURLoption option, const std::string& pem) {
  curl_blob blob{};
  blob.data = const_cast<char*>(pem.data());  // libcurl only reads it
  blob.len = pem.size();
  blob.flags = CURL_BLOB_NOCOPY;
  curl_easy_setopt(c, option, &blob);
}

core::Error PoolError(CURLcode code, const std::string& base, core::Seconds limit,
                      const char* details) {
  using core::ErrorKind;
  const std::string_view reason =
      details[0] != '\0' ? std::string_view(details) : std::string_view(curl_easy_strerror(code));
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {ErrorKind::kAbsent,
              fmt::format("{}: the host is not known; check its spelling, and DNS", base)};
    case CURLE_COULDNT_CONNECT:
      return {ErrorKind::kAbsent, fmt::format("{}: nothing answers there ({}); check address and "
                                              "port, and that the server runs",
                                              base, reason)};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorKind::kAbsent,
              fmt::format("{}: no whole answer within {:.3g} s; the server is too "
                          "slow, or something between holds it back",
                          base, limit.value),
              core::ErrorCause::kTooSlow};
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return {ErrorKind::kAbsent,
              fmt::format("{}: it went away before its answer was whole ({})", base, reason),
              core::ErrorCause::kWentAway};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {ErrorKind::kUsage,
              fmt::format("{}: its certificate is not to be trusted ({}); give the certificate of "
                          "the authority that signed it, and the name that it was made for",
                          base, reason)};
    case CURLE_SSL_CERTPROBLEM:
      return {
          ErrorKind::kUsage,
          fmt::format("{}: our client certificate or its key cannot be used ({})", base, reason)};
    default:
      return {ErrorKind::kFailed, fmt::format("{}: {}", base, reason)};
  }
}

}  // namespace

struct HttpPool::Transfer {
  struct FreeHeaders {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  PoolRequest request;
  CURL* curl = nullptr;
  std::unique_ptr<curl_slist, FreeHeaders> headers;
  std::string url, body;
  int status = 0;
  std::optional<core::Seconds> retry_after;
  bool done = false, over = false;
  std::optional<core::Error> error;
  bool* moved = nullptr;  // of the pool: something came
  char details[CURL_ERROR_SIZE] = "";

  void AddHeader(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    SHAREWELL_CHECK(longer != nullptr);
    static_cast<void>(headers.release());  // it is the head of `longer`
    headers.reset(longer);
  }

  static std::size_t TakeBody(char* data, std::size_t, std::size_t bytes, void* to) {
    Transfer& here = *static_cast<Transfer*>(to);
    *here.moved = true;
    if (here.request.on_body && here.status == 200) {
      here.over = !here.request.on_body(std::string_view(data, bytes));
    } else {
      here.over = bytes > here.request.most_bytes - here.body.size();
      if (!here.over) here.body.append(data, bytes);
    }
    return here.over ? 0 : bytes;
  }

  static std::size_t TakeHeader(char* data, std::size_t, std::size_t bytes, void* to) {
    Transfer& here = *static_cast<Transfer*>(to);
    *here.moved = true;
    std::string_view line(data, bytes);
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (line.empty()) {  // the end of the head
      long status = 0;
      curl_easy_getinfo(here.curl, CURLINFO_RESPONSE_CODE, &status);
      if (status >= 200) here.status = static_cast<int>(status);
      return bytes;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return bytes;
    if (core::LowerCase(line.substr(0, colon)) != "retry-after") return bytes;
    const auto seconds = core::FiniteNumber(Trimmed(line.substr(colon + 1)));
    if (seconds && *seconds >= 0) here.retry_after = core::Seconds(*seconds);
    return bytes;
  }
};

struct HttpPool::Impl {
  CURLM* multi = curl_multi_init();
  std::set<Transfer*> running;
  bool moved = false;

  Impl() {
    SHAREWELL_CHECK(multi != nullptr);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  }
  ~Impl() { curl_multi_cleanup(multi); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

HttpPool::Exchange::Exchange(HttpPool& pool, std::unique_ptr<Transfer> transfer)
    : pool_(pool), transfer_(std::move(transfer)) {}

HttpPool::Exchange::~Exchange() {
  if (pool_.impl_->running.erase(transfer_.get()) > 0) {
    curl_multi_remove_handle(pool_.impl_->multi, transfer_->curl);
  }
  curl_easy_cleanup(transfer_->curl);
}

bool HttpPool::Exchange::done() const { return transfer_->done; }
int HttpPool::Exchange::status() const { return transfer_->status; }
std::string& HttpPool::Exchange::body() { return transfer_->body; }
std::optional<core::Seconds> HttpPool::Exchange::retry_after() const {
  return transfer_->retry_after;
}
const std::optional<core::Error>& HttpPool::Exchange::error() const { return transfer_->error; }

core::Result<std::unique_ptr<HttpPool>> HttpPool::Make(HttpPeer peer) {
  const std::string host = HostOfUrl(peer.base);
  const bool https = peer.base.starts_with("https://");
  const bool odd = std::any_of(peer.base.begin(), peer.base.end(),
                               [](unsigned char c) { return c <= ' ' || c >= 0x7f || c == '@'; });
  if ((!https && !peer.base.starts_with("http://")) || host.empty() || odd) {
    return core::UsageError("{} is no address of a server; give https://HOST:PORT",
                            core::Quoted(peer.base));
  }
  if (!https && !IsLoopbackAddress(host)) {
    return core::UsageError(
        "{}: without TLS anybody on the way could read and use our token; give https:// "
        "(http:// is for 127.0.0.1 alone)",
        core::Quoted(peer.base));
  }
  if (https && peer.ca_pem.empty()) {
    return core::UsageError("{}: no certificate authority is given to check its certificate with",
                            core::Quoted(peer.base));
  }
  if (peer.certificate_pem.empty() != peer.key_pem.empty()) {
    return core::UsageError("{}: of client certificate and key one is missing",
                            core::Quoted(peer.base));
  }
  while (peer.base.ends_with('/')) peer.base.pop_back();
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return core::FailedError("libcurl cannot be started");
  return std::unique_ptr<HttpPool>(new HttpPool(std::move(peer)));
}

HttpPool::HttpPool(HttpPeer peer) : peer_(std::move(peer)), impl_(std::make_unique<Impl>()) {}
HttpPool::~HttpPool() = default;

std::unique_ptr<HttpPool::Exchange> HttpPool::Begin(PoolRequest request) {
  auto transfer = std::make_unique<Transfer>();
  Transfer& t = *transfer;
  t.request = std::move(request);
  t.url = peer_.base + t.request.path;
  t.moved = &impl_->moved;
  CURL* const c = t.curl = curl_easy_init();
  SHAREWELL_CHECK(c != nullptr);
  for (const std::string& header : t.request.headers) t.AddHeader(header);
  t.AddHeader("Expect:");  // a long body goes at once
  curl_easy_setopt(c, CURLOPT_URL, t.url.c_str());
  curl_easy_setopt(c, CURLOPT_PRIVATE, &t);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  // Rather a stream of a connection that is being made than one more connection.
  curl_easy_setopt(c, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, kConnectMillis);
  if (t.request.timeout.value > 0) {
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, Millis(t.request.timeout));
  }
  curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(c, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdle);
  curl_easy_setopt(c, CURLOPT_TCP_KEEPINTVL, kKeepAliveInterval);
  curl_easy_setopt(c, CURLOPT_SOCKOPTFUNCTION, OnSocket);
  curl_easy_setopt(c, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  // Debian's libcurl would trust the certificates of this folder beside those that it is given.
  curl_easy_setopt(c, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(c, CURLOPT_CAINFO, nullptr);
  SetBlob(c, CURLOPT_CAINFO_BLOB, peer_.ca_pem);
  if (!peer_.certificate_pem.empty()) {
    SetBlob(c, CURLOPT_SSLCERT_BLOB, peer_.certificate_pem);
    SetBlob(c, CURLOPT_SSLKEY_BLOB, peer_.key_pem);
  }
  // A proxy from the environment cannot know what this machine's own address means.
  if (IsLoopbackAddress(HostOfUrl(peer_.base))) curl_easy_setopt(c, CURLOPT_PROXY, "");
  if (t.request.method != "GET") {
    curl_easy_setopt(c, CURLOPT_POST, 1L);  // with a body, be it empty, whatever the verb
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, t.request.method.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, t.request.body.data());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(t.request.body.size()));
  }
  if (!t.request.token.empty()) {
    curl_easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(c, CURLOPT_XOAUTH2_BEARER, t.request.token.c_str());
  }
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, t.headers.get());
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, Transfer::TakeBody);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &t);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, Transfer::TakeHeader);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &t);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t.details);
  impl_->running.insert(&t);
  curl_multi_add_handle(impl_->multi, c);
  return std::make_unique<Exchange>(*this, std::move(transfer));
}

bool HttpPool::Drive(core::Seconds at_most) {
  impl_->moved = false;
  int running = 0;
  curl_multi_perform(impl_->multi, &running);
  Collect();
  if (!impl_->moved && !woken_.load()) {
    curl_multi_poll(impl_->multi, nullptr, 0, static_cast<int>(Millis(at_most)), nullptr);
    curl_multi_perform(impl_->multi, &running);
    Collect();
  }
  return woken_.exchange(false);
}

void HttpPool::Collect() {
  bool hangs = false;
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(impl_->multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* of = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &of);
    Transfer& t = *reinterpret_cast<Transfer*>(of);
    const CURLcode code = message->data.result;
    t.done = true;
    if (t.over) {
      t.error = core::Error{core::ErrorKind::kFailed,
                            fmt::format("{}: answers with more than is taken", peer_.base)};
    } else if (code != CURLE_OK) {
      t.error = PoolError(code, peer_.base, t.request.timeout, t.details);
    }
    hangs = hangs || code == CURLE_OPERATION_TIMEDOUT;
    impl_->running.erase(&t);
    curl_multi_remove_handle(impl_->multi, t.curl);
    impl_->moved = true;
  }
  if (hangs) Reconnect();
}

void HttpPool::Reconnect() {
  auto fresh = std::make_unique<Impl>();
  fresh->moved = true;
  for (Transfer* t : impl_->running) {
    curl_multi_remove_handle(impl_->multi, t->curl);
    t->done = true;
    t->error = core::Error{
        core::ErrorKind::kAbsent,
        fmt::format("{}: the connection was given up, because an answer did not come", peer_.base)};
    t->moved = &fresh->moved;
  }
  const MutexLock lock(mutex_);
  impl_ = std::move(fresh);
}

void HttpPool::Wake() {
  woken_.store(true);
  const MutexLock lock(mutex_);
  curl_multi_wakeup(impl_->multi);
}

}  // namespace sharewell::platform
