#include "api/access/sign_ins.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "api/access/secrets.h"

namespace sharewell::api {
namespace {

constexpr std::size_t kCodeBytes = 16;  // nobody guesses it
constexpr std::size_t kSessionBytes = 24;
constexpr std::size_t kMostCodes = 16;  // of one user
constexpr std::size_t kMostSessions = 32;
constexpr int kMostWrong = 10;  // of one who asks, in a minute
constexpr std::chrono::minutes kWrongLasts{1};

}  // namespace

void SignIns::MakeRoom(HeldBySha& held, std::uint32_t uid, std::size_t most, Time now) {
  std::erase_if(held, [&](const auto& entry) { return entry.second.until <= now; });
  const auto is_theirs = [&](const auto& entry) { return entry.second.account.uid == uid; };
  if (static_cast<std::size_t>(std::count_if(held.begin(), held.end(), is_theirs)) < most) return;
  auto oldest = held.end();
  for (auto it = held.begin(); it != held.end(); ++it) {
    const bool older = oldest == held.end() || it->second.until < oldest->second.until;
    if (is_theirs(*it) && older) oldest = it;
  }
  held.erase(oldest);
}

core::Result<std::string> SignIns::NewCode(const core::Account& account, Time now) {
  auto code = RandomHex(kCodeBytes);
  RETURN_IF_ERROR(code);
  MakeRoom(codes_, account.uid, kMostCodes, now);
  Held held{account, now + kCodeLasts};
  held.account.admin = false;  // as with tokens: more rights are root's to give
  codes_.insert_or_assign(Sha256(*code), std::move(held));
  return code;
}

Allowed<SignIns::Session> SignIns::Exchange(std::string_view code, const std::string& asking,
                                            Time now) {
  std::erase_if(wrong_, [&](const auto& entry) { return entry.second.since + kWrongLasts <= now; });
  const auto sent = wrong_.find(asking);
  if (sent != wrong_.end() && sent->second.codes >= kMostWrong) {
    return tl::unexpected(
        Refusal{429, "too many wrong sign-in codes came from here; try again in a minute"});
  }
  const auto found = codes_.find(Sha256(code));
  if (found == codes_.end() || found->second.until <= now) {
    Wrong& wrong = wrong_.try_emplace(asking, Wrong{now, 0}).first->second;
    ++wrong.codes;
    return tl::unexpected(
        Refusal{403,
                "this sign-in link was used already, or is older than 10 minutes; `sharewell "
                "dashboard` prints a new one"});
  }
  const core::Account account = found->second.account;
  codes_.erase(found);
  const auto chance = RandomHex(kSessionBytes);
  if (!chance) return tl::unexpected(Refusal{500, chance.error().message});
  MakeRoom(sessions_, account.uid, kMostSessions, now);
  Session session{std::string(kSession) + *chance, account};
  sessions_.insert_or_assign(Sha256(session.secret), Held{account, now + kSessionLasts});
  return session;
}

std::optional<core::Account> SignIns::Find(std::string_view secret, Time now) {
  const auto found = sessions_.find(Sha256(secret));
  if (found == sessions_.end() || found->second.until <= now) return std::nullopt;
  found->second.until = now + kSessionLasts;
  return found->second.account;
}

}  // namespace sharewell::api
