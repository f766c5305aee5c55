// KeyDigest: what stands for a core::WorkloadKey where many are kept. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sharewell::server {

// A key as it is kept: commands may be a megabyte long.
struct KeyDigest {
  std::uint64_t a = 0, b = 0;

  friend bool operator==(const KeyDigest&, const KeyDigest&) = default;
};
KeyDigest DigestOf(const std::string& key);
// Of one user's runs of it alone.
KeyDigest OwnedDigest(const std::string& user, const std::string& key);
std::string TextOf(const KeyDigest& digest);                   // 32 hexadecimal digits
std::optional<KeyDigest> DigestFrom(const std::string& text);  // and back
struct HashOfDigest {
  std::size_t operator()(const KeyDigest& digest) const noexcept { return digest.a; }
};

}  // namespace sharewell::server
