#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "core/text/quoted.h"

namespace sharewell::http {
namespace {

std::string WhyTls() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "it cannot be read" : reason;
}

// A server has nobody to ask for a password.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

struct TlsKeys::Impl {
  struct Free {
    void operator()(SSL_CTX* old) const { SSL_CTX_free(old); }
  };
  std::unique_ptr<SSL_CTX, Free> context;
};

struct TlsSession::Impl {
  struct Free {
    void operator()(SSL* old) const { SSL_free(old); }
  };
  std::unique_ptr<SSL, Free> ssl;
};

TlsKeys::TlsKeys(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}
TlsKeys::~TlsKeys() = default;
TlsSession::TlsSession(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}
TlsSession::~TlsSession() = default;

core::Result<std::unique_ptr<TlsKeys::Impl>> TlsKeys::NewContext() {
  auto inside = std::make_unique<Impl>();
  inside->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = inside->context.get();
  if (context == nullptr) return core::FailedError("TLS cannot be set up: {}", WhyTls());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(context, NoPassword);
  return inside;
}

core::Result<std::unique_ptr<TlsKeys>> TlsKeys::Load(const std::string& certificate,
                                                     const std::string& key) {
  auto inside = NewContext();
  RETURN_IF_ERROR(inside);
  SSL_CTX* context = (*inside)->context.get();
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    return core::UsageError(
        "--tls-cert: {}: {}; give a PEM file with the certificate and its chain",
        core::Quoted(certificate), WhyTls());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return core::UsageError(
        "--tls-key: {}: {}; give a PEM file with the certificate's key, without a password",
        core::Quoted(key), WhyTls());
  }
  return std::unique_ptr<TlsKeys>(new TlsKeys(std::move(*inside)));
}

core::Result<std::unique_ptr<TlsKeys>> TlsKeys::FromPem(std::string_view certificate,
                                                        std::string_view key) {
  auto inside = NewContext();
  RETURN_IF_ERROR(inside);
  SSL_CTX* context = (*inside)->context.get();
  const auto text = [](std::string_view pem) {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  };
  const auto certificate_text = text(certificate), key_text = text(key);
  if (certificate_text == nullptr || key_text == nullptr) {
    return core::FailedError("TLS cannot be set up: there is no memory");
  }
  const std::unique_ptr<X509, decltype(&X509_free)> own(
      PEM_read_bio_X509(certificate_text.get(), nullptr, NoPassword, nullptr), &X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, NoPassword, nullptr), &EVP_PKEY_free);
  if (own == nullptr || pair == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, pair.get()) != 1) {
    return core::FailedError("the certificate or its key cannot be used: {}", WhyTls());
  }
  return std::unique_ptr<TlsKeys>(new TlsKeys(std::move(*inside)));
}

std::unique_ptr<TlsSession> TlsKeys::NewSession() const {
  auto inside = std::make_unique<TlsSession::Impl>();
  inside->ssl.reset(SSL_new(impl_->context.get()));
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  if (inside->ssl == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return nullptr;
  }
  SSL_set_bio(inside->ssl.get(), in, out);
  SSL_set_accept_state(inside->ssl.get());
  return std::unique_ptr<TlsSession>(new TlsSession(std::move(inside)));
}

void TlsSession::Collect() {
  BIO* out = SSL_get_wbio(impl_->ssl.get());
  const std::size_t waits = BIO_ctrl_pending(out);
  if (waits == 0) return;
  const std::size_t before = outgoing_.size();
  outgoing_.resize(before + waits);
  const int got = BIO_read(out, outgoing_.data() + before, static_cast<int>(waits));
  outgoing_.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
}

bool TlsSession::Take(std::string_view encrypted, std::string& plain) {
  SSL* ssl = impl_->ssl.get();
  ERR_clear_error();
  if (BIO_write(SSL_get_rbio(ssl), encrypted.data(), static_cast<int>(encrypted.size())) <= 0) {
    return false;
  }
  std::array<char, 16384> room;
  int got = 0;
  while ((got = SSL_read(ssl, room.data(), static_cast<int>(room.size()))) > 0) {
    plain.append(room.data(), static_cast<std::size_t>(got));
  }
  const int why = SSL_get_error(ssl, got);
  if (!early_.empty() && SSL_is_init_finished(ssl) == 1) Put(std::exchange(early_, {}));
  Collect();
  return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

void TlsSession::Put(std::string_view plain) {
  SSL* ssl = impl_->ssl.get();
  if (SSL_is_init_finished(ssl) != 1) {
    early_ += plain;
    return;
  }
  ERR_clear_error();
  while (!plain.empty()) {
    const int put = SSL_write(ssl, plain.data(), static_cast<int>(plain.size()));
    if (put <= 0) break;  // the session is broken; reading tells
    plain.remove_prefix(static_cast<std::size_t>(put));
  }
  Collect();
}

void TlsSession::Close() {
  ERR_clear_error();
  SSL_shutdown(impl_->ssl.get());
  Collect();
}

namespace {

std::optional<std::int64_t> EndIn(BIO* pem) {
  const std::unique_ptr<X509, decltype(&X509_free)> found(
      pem == nullptr ? nullptr : PEM_read_bio_X509(pem, nullptr, nullptr, nullptr), &X509_free);
  std::tm end{};
  const bool read = found != nullptr && ASN1_TIME_to_tm(X509_get0_notAfter(found.get()), &end) == 1;
  ERR_clear_error();
  if (!read) return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&end));
}

using ReadBio = std::unique_ptr<BIO, decltype(&BIO_free)>;

}  // namespace

core::Result<std::int64_t> CertificateEnd(const std::string& certificate) {
  const ReadBio file(BIO_new_file(certificate.c_str(), "r"), &BIO_free);
  if (const auto end = EndIn(file.get())) return *end;
  return core::FailedError("{}: holds no certificate that can be read (PEM)",
                           core::Quoted(certificate));
}

core::Result<std::int64_t> CertificateEndIn(std::string_view pem) {
  const ReadBio text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  if (const auto end = EndIn(text.get())) return *end;
  return core::FailedError("it holds no certificate that can be read (PEM)");
}

}  // namespace sharewell::http
