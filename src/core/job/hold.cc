#include "core/job/hold.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace sharewell::core {
namespace {

constexpr std::size_t kMostNamed = 20;  // of the jobs that one waits for

struct HoldWords {
  std::int64_t number;

  std::string operator()(const hold::ByUser&) const {
    return "held: `sharewell release` lets it go";
  }
  std::string operator()(const hold::Paused& one) const { return "paused by " + one.by; }
  std::string operator()(const hold::EndedPaused&) const {
    return "held: its process ended while it was paused; it begins anew when it is released";
  }
  std::string operator()(const hold::AfterJob& one) const {
    if (one.others.empty()) return fmt::format("waits for job {}", one.job);
    std::vector<std::int64_t> named = one.others;
    named.insert(named.begin(), one.job);
    const std::size_t more = named.size() - std::min(named.size(), kMostNamed);
    named.resize(named.size() - more);
    const std::string rest = more == 0 ? "" : fmt::format(" and {} more", more);
    return fmt::format("waits for jobs {}{}", fmt::join(named, ", "), rest);
  }
  std::string operator()(const hold::NoNodes& one) const {
    return fmt::format("held until there are nodes for it: {}; {}", one.why, WhatToDo());
  }
  std::string operator()(const hold::MachineChanged& one) const {
    return "held, as this machine is not what it was: " + one.why;
  }
  std::string operator()(const hold::Refused& one) const {
    return fmt::format("held: {}; {}", one.why, WhatToDo());
  }
  std::string operator()(const hold::Untrusted& one) const {
    std::vector<std::string_view> differs;
    if (one.user) differs.emplace_back("its user");
    if (one.command) differs.emplace_back("its command, folder or image");
    if (one.environment) differs.emplace_back("its environment");
    std::string words =
        differs.empty()
            ? "held: its record was not written by this server, so as whom it should run is not "
              "known (somebody changed the database, or the store is older than seals are)"
            : fmt::format(
                  "held: somebody changed its record in the database: not as it was "
                  "written are {}",
                  fmt::join(differs, ", "));
    if (!one.runs_as.empty()) {
      return fmt::format(
          "{}; it would not run as the user whom it names, but as {}, and cannot be released; "
          "`sharewell cancel {}` ends it",
          words, one.runs_as, number);
    }
    return fmt::format(
        "{}; root can look at it with `sharewell job {}` and then release or cancel it", words,
        number);
  }
  std::string operator()(const hold::LostRuns& one) const {
    return fmt::format(
        "held, as the machine, its supervisor or its GPU went down under it {} times in a row; "
        "`sharewell release {}` lets it try again",
        one.runs, number);
  }

 private:
  std::string WhatToDo() const {
    return fmt::format("`sharewell release {0}` tries it again, `sharewell cancel {0}` ends it",
                       number);
  }
};

}  // namespace

std::string InWords(const Hold& hold, std::int64_t number) {
  return std::visit(HoldWords{number}, hold);
}

bool SaysHeld(const Hold& hold) {
  return !std::holds_alternative<hold::AfterJob>(hold) &&
         !std::holds_alternative<hold::Paused>(hold);
}

}  // namespace sharewell::core
