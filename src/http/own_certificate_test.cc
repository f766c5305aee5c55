#include "http/own_certificate.h"

#include <gmock/gmock.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "http/tls.h"

namespace sharewell::http {
namespace {

using Parsed = std::unique_ptr<X509, decltype(&X509_free)>;

Parsed Read(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  return {PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr), &X509_free};
}

// As a client does: `certificate` by an authority that it was told.
bool Trusts(const std::string& authority, const std::string& certificate) {
  const Parsed root = Read(authority), leaf = Read(certificate);
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      &X509_STORE_free);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                              &X509_STORE_CTX_free);
  X509_STORE_add_cert(store.get(), root.get());
  X509_STORE_CTX_init(check.get(), store.get(), leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(check.get(), X509_PURPOSE_SSL_SERVER);
  return X509_verify_cert(check.get()) == 1;
}

TEST(OwnCertificate, IsTrustedByItsAuthorityForItsNamesAndTime) {
  const std::int64_t now = 1'800'000'000;
  const auto real_now = static_cast<std::int64_t>(std::time(nullptr));
  const auto made = MakeCertificate({"a.b.svc"}, real_now - 60, real_now + 3600);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(Trusts(made->authority, made->certificate));
  EXPECT_EQ(CertificateEndIn(made->certificate).value(), real_now + 3600);
  const Parsed leaf = Read(made->certificate);
  EXPECT_EQ(X509_check_host(leaf.get(), "a.b.svc", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "c.b.svc", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.1", 0), 1);
  EXPECT_TRUE(TlsKeys::FromPem(made->certificate, made->key));

  const auto other = MakeCertificate({"a.b.svc"}, now, now + 3600);
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_FALSE(Trusts(other->authority, made->certificate));
  EXPECT_FALSE(TlsKeys::FromPem(made->certificate, other->key));
  EXPECT_FALSE(MakeCertificate({}, now, now + 1));
}

TEST(OwnCertificate, TheFirstOfSeveralAndNoneOfNone) {
  const auto one = MakeCertificate({"a"}, 1'800'000'000, 1'800'003'600);
  const auto two = MakeCertificate({"a"}, 1'800'000'000, 1'800'003'600);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(FirstCertificate(one->authority + two->authority), one->authority);
  EXPECT_EQ(FirstCertificate("no certificate"), "");
  EXPECT_FALSE(CertificateEndIn("no certificate"));
  EXPECT_FALSE(TlsKeys::FromPem("", ""));
}

}  // namespace
}  // namespace sharewell::http
