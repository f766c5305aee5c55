// TLS for a server, over memory: encrypted bytes in, plain bytes out, and back. Who moves the bytes
// is not its business, so that one kind of connection serves with and without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::http {

class TlsSession {
 public:
  ~TlsSession();
  // Takes what came from the network and adds what it says to `plain`. False: the other side has
  // closed or broken it; what is in outgoing() should still be sent.
  bool Take(std::string_view encrypted, std::string& plain);
  void Put(std::string_view plain);
  void Close();                                  // says goodbye
  std::string& outgoing() { return outgoing_; }  // to be sent; whoever does, erases it

 private:
  friend class TlsKeys;
  struct Impl;
  explicit TlsSession(std::unique_ptr<Impl> inside);
  void Collect();

  std::unique_ptr<Impl> impl_;
  std::string outgoing_, early_;  // early_: plain bytes of before the handshake's end
};

// A certificate and its key. One thread.
class TlsKeys {
 public:
  static core::Result<std::unique_ptr<TlsKeys>> Load(const std::string& certificate,
                                                     const std::string& key);
  // The same from PEM texts.
  static core::Result<std::unique_ptr<TlsKeys>> FromPem(std::string_view certificate,
                                                        std::string_view key);
  ~TlsKeys();
  std::unique_ptr<TlsSession> NewSession() const;  // null: no memory

 private:
  struct Impl;
  explicit TlsKeys(std::unique_ptr<Impl> inside);
  static core::Result<std::unique_ptr<Impl>> NewContext();
  std::unique_ptr<Impl> impl_;
};

// Until when the first certificate of a PEM file is valid, in seconds since 1970.
core::Result<std::int64_t> CertificateEnd(const std::string& certificate);
// The same of a PEM text.
core::Result<std::int64_t> CertificateEndIn(std::string_view pem);

}  // namespace sharewell::http
