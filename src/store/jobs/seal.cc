#include "store/jobs/seal.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "core/result.h"

namespace sharewell::store {
namespace {

constexpr char kBetween = '.';
constexpr std::size_t kDigits = 64, kPartDigits = 32;

bool Same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), b.size()) == 0;
}

// In the order of hold::Untrusted. No record begins with any of these, and none is another's.
std::array<std::string, 3> PartsOf(const core::JobRecord& job) {
  std::array<std::string, 3> parts = {
      fmt::format("user {} {} {}", job.user.uid, job.user.gid, job.user.name), "command",
      "environment"};
  const auto add = [](std::string& part, std::string_view text) {
    part += fmt::format(" {}:", text.size());
    part += text;
  };
  add(parts[1], job.asked.folder);
  add(parts[1], job.asked.image);
  for (const std::string& word : job.asked.command) add(parts[1], word);
  for (const auto& [name, value] : job.asked.environment) {
    add(parts[2], name);
    add(parts[2], value);
  }
  return parts;
}

}  // namespace

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
  return Same(seal.substr(0, seal.find(kBetween)), Of(number, record));
}

std::string Seal::Of(const core::JobRecord& job, std::string_view record) const {
  if (!active()) return {};
  std::string seal = Of(job.number, record);
  for (const std::string& part : PartsOf(job)) {
    seal += kBetween;
    seal += Of(job.number, part).substr(0, kPartDigits);
  }
  return seal;
}

core::hold::Untrusted Seal::Changed(const core::JobRecord& job, std::string_view seal) const {
  std::array<bool, 3> changed{};
  const auto parts = PartsOf(job);
  if (!active() || seal.size() != kDigits + parts.size() * (kPartDigits + 1)) return {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto sealed = seal.substr(kDigits + i * (kPartDigits + 1) + 1, kPartDigits);
    changed[i] = !Same(sealed, std::string_view(Of(job.number, parts[i])).substr(0, kPartDigits));
  }
  return {changed[0], changed[1], changed[2]};
}

}  // namespace sharewell::store
