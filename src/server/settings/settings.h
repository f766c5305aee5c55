// Settings: what each user may take of the server: sharewell.toml, the defaults, and who is in
// which group. A user's own table wins over those of groups; of several groups the most generous
// value wins, key by key; then [limits], then the default. An admin never gets less than the
// admins' default but by a table of their own.
//
// Any thread, and never waits: groups come from the kernel with each request at the socket, and
// where it is a token that says who asks, from the name service on a thread of its own. Until that
// has answered, only the user's own table and [limits] are known to apply.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/worker.h"
#include "core/job/limits.h"
#include "core/job/submission.h"
#include "core/projects.h"
#include "platform/mutex.h"
#include "server/settings/settings_file.h"

namespace sharewell::server {

// The machine's accounts; a fake in tests.
struct NameService {
  std::function<std::optional<std::uint32_t>(const std::string&name)> user, group;
  std::function<std::vector<std::uint32_t>(std::uint32_t uid)> groups_of;
};
NameService SystemNames();

struct SettingsOptions {
  std::uint32_t own_uid = 0;                      // the server's own account is an admin
  std::optional<std::uint32_t> admin_group = {};  // so are its members
  NameService names = SystemNames();
  // Of users that this machine does not have, and that are known by name alone: namespaces. Absent:
  // there are none.
  std::optional<std::uint32_t> uid_of_names = {};
};

class Settings {
 public:
  Settings(const SettingsFile& file, SettingsOptions options);

  core::Limits LimitsOf(std::uint32_t uid) const;
  core::Limits LimitsOf(const core::Account& who) const;
  core::AccountLimits Explain(const core::Account& who) const;  // with where each comes from
  // How that user's jobs start of which nothing is known.
  api::UnknownJobs UnknownOf(const core::Account& who) const;
  const core::Projects& projects() const { return projects_; }
  // The kernel says that a process of this user's is in these groups.
  void Meet(std::uint32_t uid, std::vector<std::uint32_t> groups) const;

  // Users and groups of the file that this machine does not have, in words.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  struct Table {
    std::string from;  // "[limits.group.lab]"
    GivenLimits given;
  };
  struct Known {
    std::vector<std::uint32_t> groups;
    std::chrono::steady_clock::time_point asked;
    bool asking = false;
  };
  std::vector<std::uint32_t> GroupsOf(std::uint32_t uid) const;
  Known& Remember(std::uint32_t uid) const SHAREWELL_REQUIRES(mutex_);
  // `name`: of a user that is known by it alone.
  core::AccountLimits Resolve(std::uint32_t uid, const std::string& name, bool admin,
                              bool explain) const;

  const GivenLimits everybody_;
  const SettingsOptions options_;
  std::map<std::uint32_t, Table> users_, groups_;  // by uid and gid
  std::map<std::string, Table> named_;             // users that are known by name alone
  api::UnknownJobs unknown_;                       // of everybody
  std::map<std::uint32_t, api::UnknownJobs> unknown_of_;
  std::map<std::string, api::UnknownJobs> unknown_of_named_;
  const core::Projects projects_;
  std::vector<std::string> remarks_;
  mutable platform::Mutex mutex_;
  mutable std::map<std::uint32_t, Known> known_ SHAREWELL_GUARDED_BY(mutex_);
  mutable api::Worker asking_;  // the last: it uses all of the above
};

}  // namespace sharewell::server
