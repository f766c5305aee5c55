#include "api/access/secrets.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

namespace sharewell::api {
namespace {

std::string Hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

core::Result<std::string> RandomHex(std::size_t bytes) {
  std::vector<unsigned char> chance(bytes);
  if (::getrandom(chance.data(), chance.size(), 0) != static_cast<ssize_t>(chance.size())) {
    return core::FailedError("the kernel gives no random bytes: {}", std::strerror(errno));
  }
  return Hex(chance);
}

std::string Sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    return {};
  }
  return Hex({digest.data(), length});
}

}  // namespace sharewell::api
