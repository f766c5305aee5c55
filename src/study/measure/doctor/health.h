// What `sharewell doctor` found: plain rows.
#pragma once

#include <string>

namespace sharewell::study {

enum class Soundness { kWorks, kPartly, kAbsent };

struct HealthRow {
  std::string section;  // "collectors", "store" ...; rows of one stand together
  std::string name;
  Soundness soundness = Soundness::kAbsent;
  std::string what;  // what is there, or why it is not
  std::string mend;  // the command that would mend it; empty: nothing to mend, or nothing can be
};

}  // namespace sharewell::study
