#include "store/jobs/seal.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "core/result.h"

namespace sharewell::store {

std::string Seal::Of(std::int64_t number, std::string_view record) const {
  if (!active()) return {};
  // The id and the number have no line break in them, so no two jobs have the same text.
  std::string text = fmt::format("{}\n{}\n", store_id_, number);
  text += record;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  const auto* made = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          digest.data(), &length);
  SHAREWELL_CHECK(made != nullptr && length == 32);
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string seal;
  for (unsigned i = 0; i < length; ++i) {
    seal += kHexDigits[digest[i] >> 4];
    seal += kHexDigits[digest[i] & 15];
  }
  return seal;
}

bool Seal::Matches(std::int64_t number, std::string_view record, std::string_view seal) const {
  if (!active()) return true;
  const std::string right = Of(number, record);
  return seal.size() == right.size() && CRYPTO_memcmp(seal.data(), right.data(), right.size()) == 0;
}

}  // namespace sharewell::store
