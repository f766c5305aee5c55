#include "core/hold.h"

#include <fmt/format.h>

namespace sharewell::core {
namespace {

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
    return fmt::format("waits for job {}", one.job);
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
  std::string operator()(const hold::Untrusted&) const {
    return fmt::format(
        "held: its record was not written by this server, so as whom it should run is "
        "not known (somebody changed the database, or the store is older than seals are); "
        "root can look at it with `sharewell job {}` and then release or cancel it",
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
