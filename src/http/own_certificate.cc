#include "http/own_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>

namespace sharewell::http {
namespace {

template <class T, void (*kFree)(T*)>
struct FreeWith {
  void operator()(T* old) const { kFree(old); }
};
using KeyPair = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY, EVP_PKEY_free>>;
using MadeCertificate = std::unique_ptr<X509, FreeWith<X509, X509_free>>;
using MemoryBio = std::unique_ptr<BIO, FreeWith<BIO, BIO_free_all>>;

constexpr const char* kAuthorityName = "Sharewell, for this certificate alone";

core::Error NotMade() {
  ERR_clear_error();
  return {core::ErrorKind::kFailed,
          "no certificate can be made: OpenSSL refuses (is there memory and randomness?)"};
}

// Fills in all but the extensions; the key of `signer` signs it later.
bool Describe(X509* made, EVP_PKEY* pair, const char* subject, const char* issuer,
              std::int64_t from, std::int64_t until) {
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1) return false;
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7F) | 0x40);  // positive, never short
  const std::unique_ptr<BIGNUM, FreeWith<BIGNUM, BN_free>> number(
      BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr));
  const auto name = [](X509_NAME* to, const char* text) {
    return X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC,
                                      reinterpret_cast<const unsigned char*>(text), -1, -1, 0) == 1;
  };
  return number != nullptr && X509_set_version(made, X509_VERSION_3) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(made)) != nullptr &&
         ASN1_TIME_set(X509_getm_notBefore(made), static_cast<std::time_t>(from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(made), static_cast<std::time_t>(until)) != nullptr &&
         X509_set_pubkey(made, pair) == 1 && name(X509_get_subject_name(made), subject) &&
         name(X509_get_issuer_name(made), issuer);
}

bool Extend(X509* made, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, made, nullptr, nullptr, 0);
  context.db = nullptr;  // it names no section of a configuration
  const std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION, X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(made, extension.get(), -1) == 1;
}

std::string TextIn(BIO* memory) {
  std::string text(BIO_ctrl_pending(memory), '\0');
  const int got = BIO_read(memory, text.data(), static_cast<int>(text.size()));
  text.resize(static_cast<std::size_t>(got > 0 ? got : 0));
  return text;
}

std::string PemOf(X509* certificate) {
  const MemoryBio memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || PEM_write_bio_X509(memory.get(), certificate) != 1) return {};
  return TextIn(memory.get());
}

std::string PemOf(EVP_PKEY* key) {
  const MemoryBio memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr ||
      PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return {};
  }
  return TextIn(memory.get());
}

}  // namespace

core::Result<OwnCertificate> MakeCertificate(const std::vector<std::string>& names,
                                             std::int64_t from, std::int64_t until) {
  if (names.empty()) return tl::unexpected(NotMade());
  const KeyPair authority_key(EVP_EC_gen("P-256")), key(EVP_EC_gen("P-256"));
  const MadeCertificate authority(X509_new()), certificate(X509_new());
  if (!authority_key || !key || !authority || !certificate) return tl::unexpected(NotMade());
  std::string alternatives = "IP:127.0.0.1";
  for (const std::string& name : names) alternatives += ",DNS:" + name;
  const bool made =
      Describe(authority.get(), authority_key.get(), kAuthorityName, kAuthorityName, from, until) &&
      Extend(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      Extend(authority.get(), authority.get(), NID_key_usage, "critical,keyCertSign") &&
      Extend(authority.get(), authority.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(authority.get(), authority_key.get(), EVP_sha256()) > 0 &&
      Describe(certificate.get(), key.get(), "sharewell", kAuthorityName, from, until) &&
      Extend(certificate.get(), authority.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      Extend(certificate.get(), authority.get(), NID_key_usage, "critical,digitalSignature") &&
      Extend(certificate.get(), authority.get(), NID_ext_key_usage, "serverAuth") &&
      Extend(certificate.get(), authority.get(), NID_authority_key_identifier, "keyid") &&
      Extend(certificate.get(), authority.get(), NID_subject_alt_name, alternatives) &&
      X509_sign(certificate.get(), authority_key.get(), EVP_sha256()) > 0;
  OwnCertificate own;
  if (made) own = {PemOf(authority.get()), PemOf(certificate.get()), PemOf(key.get())};
  if (own.authority.empty() || own.certificate.empty() || own.key.empty()) {
    return tl::unexpected(NotMade());
  }
  return own;
}

std::string FirstCertificate(std::string_view pem) {
  const MemoryBio memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const MadeCertificate found(
      memory == nullptr ? nullptr : PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return found == nullptr ? std::string() : PemOf(found.get());
}

}  // namespace sharewell::http
