// One server places the jobs of a Slurm partition, wherever it runs and whatever store it has: it
// says so in Slurm itself, in the field Extra of a node, which admins alone may write and every
// server reads with the nodes:
//
//   Extra=sharewell1,gpu,head,4711,<store>,<machine>,<since>,<beat>
//
// and says it again every 30 s. A second server that finds such a claim does not begin. Where two
// began at the same moment, the one that began later stops placing as soon as it sees the other. A
// claim that is not renewed counts as gone. A field with anything else in it is left alone. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "core/units.h"

namespace sharewell::engine {

struct SlurmClaim {
  std::string partition;  // empty: all of them
  std::string host;
  std::int64_t process = 0;
  // Nobody else has them while this server lives, so that a claim with the same store, or of the
  // same machine, is that of an earlier one that is gone. Empty: nothing can be told by it.
  std::string store, machine;
  core::UnixMillis since = 0;  // it began
  core::UnixMillis beat = 0;   // it said so last

  friend bool operator==(const SlurmClaim&, const SlurmClaim&) = default;
};

inline constexpr core::Seconds kClaimAgain(30);  // it is said
inline constexpr core::Seconds kClaimGone(120);  // unless it is said for so long

std::string ClaimText(const std::vector<SlurmClaim>& claims);
// Absent: these are somebody else's words.
std::optional<std::vector<SlurmClaim>> ClaimsIn(std::string_view text);

class ClaimKeeper {
 public:
  struct Look {
    std::optional<SlurmClaim> other;                         // places the jobs: we may not
    std::string other_node;                                  // where that is said
    core::Seconds heard{};                                   // so long ago, by its clock and ours
    std::vector<std::pair<std::string, std::string>> write;  // node and its new text
    bool no_room = false;  // every node's field has other words: nothing can be claimed
  };

  explicit ClaimKeeper(SlurmClaim mine) : mine_(std::move(mine)) {}
  // `fields`: of every node that has words there, and of one that has none, if there is one.
  // `wall`: the time of day; `now`: a clock that never goes back.
  Look At(const std::map<std::string, std::string>& fields, core::UnixMillis wall,
          core::Seconds now);
  // What is written at the end, so that another may begin at once.
  std::vector<std::pair<std::string, std::string>> Leave(
      const std::map<std::string, std::string>& fields) const;

 private:
  struct Seen {
    core::UnixMillis beat = 0;
    core::Seconds changed{};
    bool dead = false;  // when it was first seen
  };
  bool IsMine(const SlurmClaim& claim) const;
  bool Overlaps(const SlurmClaim& claim) const;
  bool IsGone(const SlurmClaim& claim, core::UnixMillis wall, core::Seconds now);

  SlurmClaim mine_;
  bool began_ = false;
  std::map<std::string, Seen> seen_;  // claims of others
};

}  // namespace sharewell::engine
