// The twelve jobs of `sharewell demo`: what each tells the server that it needs, and what its
// stand-in really does. Pure data.
#pragma once

#include <string>
#include <vector>

#include "core/job/submission.h"

namespace sharewell::cli {

// Who comes when, by the story that the demo tells.
enum class DemoPart { kFirst, kNewcomer, kOthers };

struct DemoPlaces {
  std::string program;  // sharewell itself: stand-ins are `sharewell stand-in`
  std::string server;   // its socket
  std::string folder;   // to start in, and where stand-ins tell each other of their load
};

// In the order in which they are submitted; they are numbered from 1 over all parts.
std::vector<core::Submission> DemoJobs(DemoPart part, const DemoPlaces& places);

}  // namespace sharewell::cli
