// A certificate for a server whose clients can be told whom to trust: made here, signed by an
// authority that is made for it alone and whose key nobody keeps. So nothing can be signed in its
// name later, and a new certificate comes with a new authority.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::http {

// PEM, each.
struct OwnCertificate {
  std::string authority;  // whom clients are to trust
  std::string certificate, key;
};

// For these DNS names and 127.0.0.1, valid from then until then (seconds since 1970).
core::Result<OwnCertificate> MakeCertificate(const std::vector<std::string>& names,
                                             std::int64_t from, std::int64_t until);

// The first certificate of a PEM text, as PEM; empty: there is none.
std::string FirstCertificate(std::string_view pem);

}  // namespace sharewell::http
