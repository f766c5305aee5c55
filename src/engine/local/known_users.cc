#include "engine/local/known_users.h"

#include <unistd.h>

#include <utility>

namespace sharewell::engine {
namespace {

constexpr core::Seconds kUserKnown{60};  // asking for groups may go over the network

}  // namespace

bool KnownUsers::Knows(const core::Account& account, core::Seconds now) {
  if (::geteuid() != 0) return true;  // nobody else's is needed
  Known& known = users_[account.uid];
  if (!known.user.groups.empty() && now <= known.asked + kUserKnown) return true;
  if (std::exchange(known.asking, true)) return false;
  errands_.Run([this, account]() -> Errands::Then {
    return [this, uid = account.uid, user = UserOf(account)] {
      users_[uid].user = user;
      answers_.push_back(uid);
    };
  });
  return false;
}

std::vector<std::uint32_t> KnownUsers::Answers(core::Seconds now) {
  errands_.Finish();
  for (const std::uint32_t uid : answers_) {
    users_[uid].asked = now;
    users_[uid].asking = false;
  }
  return std::exchange(answers_, {});
}

}  // namespace sharewell::engine
