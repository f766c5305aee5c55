// KeyDigest: what stands for a core::WorkloadKey where many are kept. Pure.
#pragma once

#include <string>

#include "core/key_digest.h"

namespace sharewell::server {

// A key as it is kept: commands may be a megabyte long.
using core::DigestFrom;
using core::DigestOf;
using core::HashOfDigest;
using core::KeyDigest;
using core::TextOf;
// Of one user's runs of it alone.
KeyDigest OwnedDigest(const std::string& user, const std::string& key);

}  // namespace sharewell::server
