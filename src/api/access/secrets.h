// Secrets: made by chance, and kept as their SHA-256 alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::api {

// So many random bytes of the kernel, in hexadecimal.
core::Result<std::string> RandomHex(std::size_t bytes);

// In hexadecimal; empty where OpenSSL fails, which nothing equals that was made here.
std::string Sha256(std::string_view text);

}  // namespace sharewell::api
