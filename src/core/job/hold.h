// Hold: what keeps a job out of the queue until somebody lets it go, or what it lacks has come. One
// struct a kind, with what the kind stands on.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sharewell::core {

namespace hold {

// Its user, or an admin, wants it to wait.
struct ByUser {
  friend bool operator==(const ByUser&, const ByUser&) = default;
};
// It was paused by hand. While it is still being paused this is what will hold it.
struct Paused {
  std::string by;
  friend bool operator==(const Paused&, const Paused&) = default;
};
// Paused by hand, and its process has ended meanwhile: it begins anew when it is released.
struct EndedPaused {
  friend bool operator==(const EndedPaused&, const EndedPaused&) = default;
};
// Jobs that it comes after are not over: `job` and `others`.
struct AfterJob {
  std::int64_t job = 0;
  std::vector<std::int64_t> others = {};
  friend bool operator==(const AfterJob&, const AfterJob&) = default;
};
// It stands in the queue of a cluster's manager, and none of the nodes that are there could run it:
// it is tried again when a node comes.
struct NoNodes {
  std::string why;
  friend bool operator==(const NoNodes&, const NoNodes&) = default;
};
// It was admitted, and this machine could not run it any more when it was to be queued. Where nodes
// come and go it is tried again with each that comes.
struct MachineChanged {
  std::string why;
  friend bool operator==(const MachineChanged&, const MachineChanged&) = default;
};
// It stands in the queue of a cluster's manager, and would not be admitted here: a limit, a job it
// comes after that has failed.
struct Refused {
  std::string why;
  friend bool operator==(const Refused&, const Refused&) = default;
};
// Its record may have been written by somebody else than the server (JobRecord::untrusted).
struct Untrusted {
  // What is not as the server had sealed it. None of them: that cannot be told.
  bool user = false, command = false, environment = false;
  std::string runs_as = {};  // whose uid it has; empty: that of the user whom it names
  friend bool operator==(const Untrusted&, const Untrusted&) = default;
};
// The machine, its supervisor or its GPU went down under it so many times in a row.
struct LostRuns {
  int runs = 0;
  friend bool operator==(const LostRuns&, const LostRuns&) = default;
};

}  // namespace hold

using Hold =
    std::variant<hold::ByUser, hold::Paused, hold::EndedPaused, hold::AfterJob, hold::NoNodes,
                 hold::MachineChanged, hold::Refused, hold::Untrusted, hold::LostRuns>;

// In words, for people. `number` is that of the job it holds.
std::string InWords(const Hold& hold, std::int64_t number);
// Do these words begin with "held"? Those of a job that waits for another, or is paused, do not.
bool SaysHeld(const Hold& hold);

}  // namespace sharewell::core
