// What `sharewell doctor` found, as text and JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sharewell::report {

enum class Soundness { kWorks, kPartly, kAbsent };

struct HealthRow {
  std::string section;  // "collectors", "store" ...; rows of one stand together
  std::string name;
  Soundness soundness = Soundness::kAbsent;
  std::string what;  // what is there, or why it is not
  std::string mend;  // the command that would mend it; empty: nothing to mend, or nothing can be
};

std::string HealthText(const std::vector<HealthRow>& rows);
std::string HealthJson(const std::vector<HealthRow>& rows);

}  // namespace sharewell::report
