// KeyDigest: 128 bits that stand for a longer text where many are kept or compared: a workload's
// key, what a job told of itself. No secret is kept by it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sharewell::core {

struct KeyDigest {
  std::uint64_t a = 0, b = 0;

  friend bool operator==(const KeyDigest&, const KeyDigest&) = default;
};
KeyDigest DigestOf(std::string_view text);
std::string TextOf(const KeyDigest& digest);                   // 32 hexadecimal digits
std::optional<KeyDigest> DigestFrom(const std::string& text);  // and back
struct HashOfDigest {
  std::size_t operator()(const KeyDigest& digest) const noexcept { return digest.a; }
};

}  // namespace sharewell::core
