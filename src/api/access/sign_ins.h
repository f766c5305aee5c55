// SignIns: how a browser is told whose it is. A user gets a code at the Unix socket, where the
// kernel says who asks. The dashboard exchanges it, once and within minutes, for a session, which
// acts as that user (never as an admin) until nobody has used it for long or the server stops.
// Codes and sessions are kept in memory alone, as their SHA-256.
//
// One thread. The time is an argument.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/access/refusal.h"
#include "core/job/submission.h"

namespace sharewell::api {

class SignIns {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kCodeLasts{10};
  static constexpr std::chrono::hours kSessionLasts{12};    // after it was used last
  static constexpr std::string_view kSession = "session.";  // what the secret of one begins with

  struct Session {
    std::string secret;
    core::Account account;
  };

  core::Result<std::string> NewCode(const core::Account& account, Time now);
  // Uses the code up. `asking`: whoever sent it; one who sends many wrong ones has to wait.
  Allowed<Session> Exchange(std::string_view code, const std::string& asking, Time now);
  std::optional<core::Account> Find(std::string_view secret, Time now);

 private:
  struct Held {
    core::Account account;
    Time until;
  };
  using HeldBySha = std::map<std::string, Held>;
  struct Wrong {
    Time since;
    int codes = 0;
  };

  // Forgets what is over, and of that user the oldest where there are `most`.
  static void MakeRoom(HeldBySha& held, std::uint32_t uid, std::size_t most, Time now);

  HeldBySha codes_, sessions_;
  std::map<std::string, Wrong> wrong_;  // by who asks, of the last minute
};

}  // namespace sharewell::api
