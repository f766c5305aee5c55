// `sharewell doctor --security`: what of an installation others could read, change or use up. Looks
// and changes nothing; what cannot be looked at is a note.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/commands/security/installation.h"
#include "core/metric.h"
#include "measure/doctor/health.h"

namespace sharewell::cli {

using SecurityRows = std::vector<measure::SecurityRow>;

// `now`: by the wall clock.
SecurityRows ExamineSecurity(const Installation& installation, core::UnixMillis now);

// A file or folder of the installation's owner, of whose mode the bits `forbidden` must not be set;
// `mode` is what the cure gives it. False: there is none, and no row.
struct PlaceCheck {
  std::string section, name, path;
  mode_t forbidden = 022;
  const char* mode = "go-w";
  bool of_root = false;  // whoever the server's owner is
};
bool CheckPlace(const Installation& installation, const PlaceCheck& check, SecurityRows& rows);

// The parts of it.
void CheckFiles(const Installation& installation, SecurityRows& rows);
void CheckUnits(const Installation& installation, SecurityRows& rows);
void CheckAccess(const Installation& installation, core::UnixMillis now, SecurityRows& rows);
void CheckAgents(const Installation& installation, SecurityRows& rows);

}  // namespace sharewell::cli
