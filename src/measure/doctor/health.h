// What `sharewell doctor` found: plain rows.
#pragma once

#include <string>

namespace sharewell::measure {

enum class Soundness { kWorks, kPartly, kAbsent };

struct HealthRow {
  std::string section;  // "collectors", "store" ...; rows of one stand together
  std::string name;
  Soundness soundness = Soundness::kAbsent;
  std::string what;  // what is there, or why it is not
  std::string mend;  // the command that would mend it; empty: nothing to mend, or nothing can be
};

// Of `doctor --security`. A note is worth knowing; what is wrong should be put right.
enum class Standing { kGood, kNote, kWrong };

struct SecurityRow {
  std::string section;  // "files", "units" ...; rows of one stand together
  std::string name;
  Standing standing = Standing::kGood;
  std::string what;
  std::string mend;  // the command that puts it right; empty: nothing to do

  friend bool operator==(const SecurityRow&, const SecurityRow&) = default;
};

}  // namespace sharewell::measure
