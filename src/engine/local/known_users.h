// KnownUsers: the groups, home and shell of users, which a directory far away may have. It is asked
// by an errand, and the answer is kept for a while. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/job/job_record.h"
#include "core/units.h"
#include "engine/local/errands.h"
#include "engine/local/run_setup.h"

namespace sharewell::engine {

class KnownUsers {
 public:
  // `answered` is called on any thread when Answers has something new.
  explicit KnownUsers(std::function<void()> answered) : errands_(std::move(answered)) {}

  // False: it is being asked for, and Answers will have it.
  bool Knows(const core::Account& account, core::Seconds now);
  const RunUser& Of(std::uint32_t uid) { return users_[uid].user; }
  // Whose figures have come.
  std::vector<std::uint32_t> Answers(core::Seconds now);

 private:
  struct Known {
    RunUser user;
    core::Seconds asked;
    bool asking = false;
  };

  std::map<std::uint32_t, Known> users_;
  std::vector<std::uint32_t> answers_;
  Errands errands_;  // the last: what they do to the rest comes to an end first
};

}  // namespace sharewell::engine
