#include "core/key_digest.h"

#include <fmt/format.h>

#include <charconv>

#include "core/numbers/random.h"

namespace sharewell::core {

KeyDigest DigestOf(std::string_view text) {
  KeyDigest digest{0xcbf29ce484222325ULL, 0x9ae16a3b2f90404fULL};
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    digest.a = (digest.a ^ byte) * 0x100000001b3ULL;
    digest.b = Mix(digest.b ^ byte);
  }
  return digest;
}

std::string TextOf(const KeyDigest& digest) {
  return fmt::format("{:016x}{:016x}", digest.a, digest.b);
}

std::optional<KeyDigest> DigestFrom(const std::string& text) {
  KeyDigest digest;
  if (text.size() != 32) return std::nullopt;
  const char* middle = text.data() + 16;
  const char* end = text.data() + 32;
  if (std::from_chars(text.data(), middle, digest.a, 16).ptr != middle ||
      std::from_chars(middle, end, digest.b, 16).ptr != end) {
    return std::nullopt;
  }
  return digest;
}

}  // namespace sharewell::core
