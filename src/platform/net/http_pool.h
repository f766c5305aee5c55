// HttpPool: many exchanges at once with one server, over few connections that are kept (HTTP/2
// where the server speaks it). Some may last for hours and bring their body bit by bit.
//
// It trusts the certificates that it is given and no others, not the system's either. Plain http
// is for loopback alone: whoever could listen on the way would have the token. No redirect is
// followed. Nothing here is logged.
//
// One thread, except Wake. What an exchange asked for may have happened although it ended with an
// error, and, where a kept connection broke, even twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "platform/mutex.h"

namespace sharewell::platform {

struct HttpPeer {
  std::string base;    // "https://HOST:PORT", perhaps with a path; no '/' at its end
  std::string ca_pem;  // whom to trust; of https it must not be empty
  std::string certificate_pem = {}, key_pem = {};  // who we are; empty: not said
};

struct PoolRequest {
  std::string method = "GET";
  std::string path;  // after the base, with the query
  std::string body = {};
  std::vector<std::string> headers = {};
  std::string token = {};    // sent as "Authorization: Bearer TOKEN"
  core::Seconds timeout{0};  // 0: it may last
  std::size_t most_bytes = std::size_t{512} << 20;
  // The body of a 200 as it comes, instead of body(); false ends the exchange as too much.
  std::function<bool(std::string_view)> on_body = {};
};

class HttpPool {
  struct Impl;
  struct Transfer;

 public:
  // One exchange. It is ended when it is destroyed, which must be before the pool is.
  class Exchange {
   public:
    Exchange(HttpPool& pool, std::unique_ptr<Transfer> transfer);
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    bool done() const;
    int status() const;  // 0: none has come yet
    std::string& body();
    std::optional<core::Seconds> retry_after() const;
    // Why no whole answer came; REQUIRES done().
    const std::optional<core::Error>& error() const;

   private:
    HttpPool& pool_;
    std::unique_ptr<Transfer> transfer_;
  };

  // An error: the address is none, or plain http beyond loopback, or nobody is to be trusted.
  static core::Result<std::unique_ptr<HttpPool>> Make(HttpPeer peer);
  ~HttpPool();
  HttpPool(const HttpPool&) = delete;
  HttpPool& operator=(const HttpPool&) = delete;

  std::unique_ptr<Exchange> Begin(PoolRequest request);
  // Until something came, one has ended, Wake() was called, or so long. True: it was woken.
  bool Drive(core::Seconds at_most);
  void Wake();  // any thread

 private:
  explicit HttpPool(HttpPeer peer);
  void Collect();
  // Gives every connection up, and with them all exchanges. After an answer did not come in time:
  // one that hangs would be used again and again, and HTTP/2 puts everything on it.
  void Reconnect();

  const HttpPeer peer_;
  Mutex mutex_;
  std::unique_ptr<Impl> impl_;  // mutex_ is held while it is replaced, and to wake
  std::atomic<bool> woken_{false};
};

}  // namespace sharewell::platform
