#include "server/learn/key_digest.h"

#include "core/job/submission.h"

namespace sharewell::server {

KeyDigest OwnedDigest(const std::string& user, const std::string& key) {
  return DigestOf(core::OwnedKey(user, key));
}

}  // namespace sharewell::server
