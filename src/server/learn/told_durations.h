// ToldDurations: by how much longer a user's jobs take than that user told. Short jobs go first, so
// a duration that is told too short would otherwise go first for ever. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::server {

class ToldDurations {
 public:
  // A job of that user was to take `told` alone, and took `took`.
  void Add(const std::string& user, core::Seconds told, core::Seconds took);
  // What the next one is believed to take, of which that user told `told`: longer by the median
  // over the user's last jobs, never shorter.
  core::Seconds Believed(const std::string& user, core::Seconds told) const;
  void Forget(const std::string& user) { by_user_.erase(user); }

 private:
  static constexpr std::size_t kJobs = 15, kMostUsers = 10'000;

  std::map<std::string, std::vector<double>> by_user_;  // took over told, the newest last
};

}  // namespace sharewell::server
