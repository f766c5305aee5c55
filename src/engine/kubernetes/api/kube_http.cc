#include "engine/kubernetes/api/kube_http.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/text/quoted.h"
#include "engine/kubernetes/watch_lines.h"
#include "platform/files/mapped_file.h"
#include "platform/files/text.h"
#include "platform/net/http_pool.h"

namespace sharewell::engine {
namespace {

using core::Result;
using core::Seconds;
using platform::HttpPool;

constexpr std::size_t kMostToken = std::size_t{64} << 10;
// At once; the rest waits here. An API server gives each client a share of its own.
constexpr std::size_t kMostInFlight = 64;
constexpr std::size_t kMostRefusal = std::size_t{1} << 20;
// Lines that nobody has taken yet, of one watch.
constexpr std::size_t kMostWaiting = std::size_t{256} << 20;

Seconds SteadyNow() {
  return Seconds(
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// A token that stands in a file, as it is now.
class TokenFile {
 public:
  TokenFile(std::string path, std::string token)
      : path_(std::move(path)), token_(std::move(token)) {}

  Result<const std::string*> Now() {
    if (path_.empty()) return &token_;
    struct stat found {};
    if (::stat(path_.c_str(), &found) != 0) {
      // It is replaced by renaming: the last one still serves.
      if (!token_.empty()) return &token_;
      return core::UsageError("{}: the token's file is not there", core::Quoted(path_));
    }
    const Stamp stamp{found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
    if (!token_.empty() && stamp == stamp_) return &token_;
    if (found.st_size > static_cast<off_t>(kMostToken)) {
      return core::UsageError("{} is too long for a token", core::Quoted(path_));
    }
    auto file = platform::MappedFile::Open(path_);
    RETURN_IF_ERROR(file);
    std::string_view text = platform::Trimmed(file->text());
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    RETURN_IF_ERROR(Check(text));
    token_ = text;
    stamp_ = stamp;
    return &token_;
  }

  Result<void> Check(std::string_view token) const {
    const bool odd = std::any_of(token.begin(), token.end(),
                                 [](unsigned char c) { return c <= ' ' || c >= 0x7f; });
    if (!token.empty() && !odd) return {};
    return core::UsageError("{}: {}", path_.empty() ? "the token" : core::Quoted(path_),
                            token.empty() ? "it is empty" : "that is no token: it has blanks");
  }

 private:
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  const std::string path_;
  std::string token_;
  Stamp stamp_;
};

// What came of one watch. The driver asks it whether there is something to take.
struct Arrived {
  WatchLines lines;
  std::size_t waiting = 0;
};

class HttpWatch : public KubeWatch {
 public:
  HttpWatch(std::unique_ptr<Arrived> arrived, std::unique_ptr<HttpPool::Exchange> exchange,
            std::string why, std::vector<HttpWatch*>& all)
      : arrived_(std::move(arrived)),
        exchange_(std::move(exchange)),
        why_(std::move(why)),
        all_(all) {
    all_.push_back(this);
  }
  ~HttpWatch() override { all_.erase(std::find(all_.begin(), all_.end(), this)); }
  HttpWatch(const HttpWatch&) = delete;
  HttpWatch& operator=(const HttpWatch&) = delete;

  bool Take(std::vector<std::string>& lines, std::string& why) override {
    arrived_->lines.Take(lines);
    arrived_->waiting = 0;
    if (exchange_ && !exchange_->done()) return true;
    told_ = true;
    why = why_;
    if (!exchange_) return false;
    if (exchange_->error()) why = exchange_->error()->message;
    if (exchange_->status() != 200 && !exchange_->body().empty()) {
      lines.push_back(exchange_->body());
    }
    return false;
  }
  int status() const override { return exchange_ ? exchange_->status() : 0; }
  std::optional<Seconds> retry_after() const override {
    return exchange_ ? exchange_->retry_after() : std::nullopt;
  }
  // That it has ended is news once.
  bool HasNews() const {
    return !arrived_->lines.empty() || (!told_ && (!exchange_ || exchange_->done())) ||
           (status() != 0 && !begun_);
  }
  void Begun() { begun_ = status() != 0; }

 private:
  std::unique_ptr<Arrived> arrived_;  // before the exchange, which fills it
  std::unique_ptr<HttpPool::Exchange> exchange_;
  std::string why_;
  std::vector<HttpWatch*>& all_;
  bool told_ = false, begun_ = false;
};

class HttpDriver : public KubeHttp {
 public:
  HttpDriver(std::unique_ptr<HttpPool> pool, TokenFile token)
      : pool_(std::move(pool)), token_(std::move(token)) {}

  Result<KubeAnswer> Ask(const KubeRequest& request, Seconds limit) override {
    return std::move(AskAll({&request, 1}, limit).front());
  }

  std::vector<Result<KubeAnswer>> AskAll(std::span<const KubeRequest> requests,
                                         Seconds limit) override {
    const Seconds deadline = SteadyNow() + limit;
    std::vector<Result<KubeAnswer>> answers(requests.size(), KubeAnswer{});
    std::vector<std::pair<std::size_t, std::unique_ptr<HttpPool::Exchange>>> under_way;
    std::size_t next = 0;
    bool woken = false;
    while (next < requests.size() || !under_way.empty()) {
      for (; next < requests.size() && under_way.size() < kMostInFlight; ++next) {
        const Seconds left = deadline - SteadyNow();
        if (left <= Seconds(0)) {
          answers[next] = tl::unexpected(core::Error{
              core::ErrorKind::kAbsent,
              fmt::format("it was not asked for: the {:g} s for all were over", limit.value)});
          continue;
        }
        auto begun = Begin(requests[next], left);
        if (begun) {
          under_way.emplace_back(next, std::move(*begun));
        } else {
          answers[next] = tl::unexpected(begun.error());
        }
      }
      if (under_way.empty()) continue;
      woken = pool_->Drive(std::clamp(deadline - SteadyNow(), Seconds(0.01), Seconds(1))) || woken;
      std::erase_if(under_way, [&](auto& one) {
        auto& [index, exchange] = one;
        if (!exchange->done()) return false;
        if (exchange->error()) {
          answers[index] = tl::unexpected(*exchange->error());
        } else {
          answers[index] =
              KubeAnswer{exchange->status(), std::move(exchange->body()), exchange->retry_after()};
        }
        return true;
      });
    }
    if (woken) pool_->Wake();  // it was for WaitForLines
    return answers;
  }

  std::unique_ptr<KubeWatch> Watch(const std::string& path) override {
    auto arrived = std::make_unique<Arrived>();
    const auto token = Token();
    if (!token) {
      return std::make_unique<HttpWatch>(std::move(arrived), nullptr, token.error().message,
                                         watches_);
    }
    ++requests_;
    Arrived* to = arrived.get();
    auto exchange = pool_->Begin({.method = "GET",
                                  .path = path,
                                  .headers = {"Accept: application/json", kAgent},
                                  .token = **token,
                                  .most_bytes = kMostRefusal,
                                  .on_body = [to](std::string_view bytes) {
                                    to->waiting += bytes.size();
                                    return to->waiting <= kMostWaiting && to->lines.Add(bytes);
                                  }});
    return std::make_unique<HttpWatch>(std::move(arrived), std::move(exchange), std::string(),
                                       watches_);
  }

  void WaitForLines(Seconds at_most) override {
    const Seconds deadline = SteadyNow() + at_most;
    const auto has_news = [&] {
      return std::any_of(watches_.begin(), watches_.end(),
                         [](const HttpWatch* watch) { return watch->HasNews(); });
    };
    // At least once, so that what lies in a socket is read however often this is called.
    bool woken = pool_->Drive(Seconds(0));
    while (!woken && !has_news()) {
      const Seconds left = deadline - SteadyNow();
      if (left <= Seconds(0)) break;
      woken = pool_->Drive(left);
    }
    for (HttpWatch* watch : watches_) watch->Begun();
  }

  void Wake() override { pool_->Wake(); }
  std::int64_t requests() const override { return requests_; }

 private:
  static constexpr const char* kAgent = "User-Agent: sharewell";

  Result<const std::string*> Token() { return token_.Now(); }

  Result<std::unique_ptr<HttpPool::Exchange>> Begin(const KubeRequest& request, Seconds limit) {
    const auto token = Token();
    RETURN_IF_ERROR(token);
    ++requests_;
    platform::PoolRequest wanted{.method = request.method,
                                 .path = request.path,
                                 .body = request.body,
                                 .headers = {"Accept: application/json", kAgent},
                                 .token = **token,
                                 .timeout = limit};
    // Exactly one: an API server refuses two.
    wanted.headers.push_back(request.body.empty()
                                 ? "Content-Type:"
                                 : "Content-Type: " + (request.content_type.empty()
                                                           ? "application/json"
                                                           : request.content_type));
    return pool_->Begin(std::move(wanted));
  }

  std::unique_ptr<HttpPool> pool_;
  TokenFile token_;
  std::vector<HttpWatch*> watches_;  // all that are under way
  std::atomic<std::int64_t> requests_{0};
};

}  // namespace

Result<std::unique_ptr<KubeHttp>> NewKubeHttp(KubeAccess access) {
  TokenFile token(access.token_file, access.token);
  if (!access.token_file.empty()) {
    RETURN_IF_ERROR(token.Now());
  } else if (!access.token.empty()) {
    RETURN_IF_ERROR(token.Check(access.token));
  }
  auto pool = HttpPool::Make({.base = std::move(access.server),
                              .ca_pem = std::move(access.ca_pem),
                              .certificate_pem = std::move(access.certificate_pem),
                              .key_pem = std::move(access.key_pem)});
  RETURN_IF_ERROR(pool);
  return std::make_unique<HttpDriver>(std::move(*pool), std::move(token));
}

}  // namespace sharewell::engine
