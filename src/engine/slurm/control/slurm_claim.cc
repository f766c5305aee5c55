#include "engine/slurm/control/slurm_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

constexpr std::string_view kClaimMark = "sharewell1";
constexpr std::string_view kAllPartitions = "*";
constexpr std::size_t kClaimFields = 8;
constexpr std::size_t kMostClaims = 64;
constexpr std::int64_t kMostMillis = 100'000'000'000'000;

// One word for scontrol, and one field for us.
std::string ClaimWord(std::string_view text) {
  std::string word(text.substr(0, 128));
  std::replace_if(
      word.begin(), word.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; },
      '_');
  return word.empty() ? "-" : word;
}

std::string FromClaimWord(std::string_view word) {
  return word == "-" ? std::string() : std::string(word);
}

std::vector<std::string_view> SplitClaim(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<SlurmClaim> OneClaim(std::string_view text) {
  const auto parts = SplitClaim(text, ',');
  if (parts.size() != kClaimFields || parts[0] != kClaimMark) return std::nullopt;
  const auto process = SlurmWhole(parts[3], kMostMillis);
  const auto since = SlurmWhole(parts[6], kMostMillis), beat = SlurmWhole(parts[7], kMostMillis);
  if (!process || !since || !beat || parts[1].empty()) return std::nullopt;
  SlurmClaim claim;
  claim.partition = parts[1] == kAllPartitions ? std::string() : std::string(parts[1]);
  claim.host = FromClaimWord(parts[2]);
  claim.process = *process;
  claim.store = FromClaimWord(parts[4]);
  claim.machine = FromClaimWord(parts[5]);
  claim.since = *since;
  claim.beat = *beat;
  return claim;
}

std::string IdentityOf(const SlurmClaim& claim) {
  return fmt::format("{},{},{},{}", claim.host, claim.process, claim.store, claim.since);
}

// Both sides come to the same answer.
bool BeganBefore(const SlurmClaim& a, const SlurmClaim& b) {
  return std::tie(a.since, a.store, a.host, a.process) <
         std::tie(b.since, b.store, b.host, b.process);
}

}  // namespace

std::string ClaimText(const std::vector<SlurmClaim>& claims) {
  std::string text;
  for (const SlurmClaim& one : claims) {
    if (!text.empty()) text += ';';
    text += fmt::format("{},{},{},{},{},{},{},{}", kClaimMark,
                        one.partition.empty() ? kAllPartitions : ClaimWord(one.partition),
                        ClaimWord(one.host), one.process, ClaimWord(one.store),
                        ClaimWord(one.machine), one.since, one.beat);
  }
  return text;
}

std::optional<std::vector<SlurmClaim>> ClaimsIn(std::string_view text) {
  std::vector<SlurmClaim> claims;
  if (text.empty() || text == "(null)") return claims;
  for (const std::string_view part : SplitClaim(text, ';')) {
    auto claim = OneClaim(part);
    if (!claim || claims.size() == kMostClaims) return std::nullopt;
    claims.push_back(std::move(*claim));
  }
  return claims;
}

bool ClaimKeeper::IsMine(const SlurmClaim& claim) const {
  return claim.partition == mine_.partition && IdentityOf(claim) == IdentityOf(mine_);
}

bool ClaimKeeper::Overlaps(const SlurmClaim& claim) const {
  return claim.partition.empty() || mine_.partition.empty() || claim.partition == mine_.partition;
}

// By the times of day only what is seen when we begin: later on a claim lives as long as it is
// renewed, whatever the clocks say.
bool ClaimKeeper::IsGone(const SlurmClaim& claim, core::UnixMillis wall, core::Seconds now) {
  if (!mine_.store.empty() && claim.store == mine_.store) return true;
  if (!mine_.machine.empty() && claim.machine == mine_.machine) return true;
  const auto [found, fresh] = seen_.try_emplace(IdentityOf(claim));
  Seen& seen = found->second;
  if (fresh) {
    const double age = static_cast<double>(wall - claim.beat) / 1e3;
    seen = {claim.beat, now, !began_ && age > kClaimGone.value};
  } else if (seen.beat != claim.beat) {
    seen = {claim.beat, now, false};
  }
  return seen.dead || now >= seen.changed + kClaimGone;
}

ClaimKeeper::Look ClaimKeeper::At(const std::map<std::string, std::string>& fields,
                                  core::UnixMillis wall, core::Seconds now) {
  Look look;
  std::map<std::string, std::vector<SlurmClaim>> keep;  // by node, without what is to go
  std::map<std::string, bool> changed;
  std::string room;  // where we are, or may be
  std::optional<core::UnixMillis> written;
  for (const auto& [node, text] : fields) {
    auto claims = ClaimsIn(text);
    if (!claims) continue;
    if (room.empty()) room = node;
    for (SlurmClaim& claim : *claims) {
      if (IsMine(claim)) {
        room = node;
        written = claim.beat;
        changed[node] = true;  // unless it is as it should be
        continue;
      }
      if (!Overlaps(claim)) {
        keep[node].push_back(std::move(claim));
        continue;
      }
      const bool gone = IsGone(claim, wall, now);
      if (!gone && (!began_ || BeganBefore(claim, mine_))) {
        if (!look.other) {
          look.heard = core::Seconds(static_cast<double>(wall - claim.beat) / 1e3);
          look.other_node = node;
          look.other = claim;
        }
        keep[node].push_back(std::move(claim));
        continue;
      }
      changed[node] = true;  // it is gone, or has to make room
    }
  }
  if (look.other) {
    // What we said ourselves does not stand beside theirs.
    if (written) look.write.emplace_back(room, ClaimText(keep[room]));
    return look;
  }
  if (room.empty()) {
    look.no_room = true;
    began_ = true;
    return look;
  }
  began_ = true;
  const bool due = !written || wall < *written ||
                   static_cast<double>(wall - *written) / 1e3 >= kClaimAgain.value;
  for (auto& [node, is] : changed) {
    if (node == room) continue;
    look.write.emplace_back(node, ClaimText(keep[node]));
  }
  const bool alone_there = written && ClaimsIn(fields.at(room))->size() == keep[room].size() + 1;
  if (due || !alone_there) {
    mine_.beat = wall;
    keep[room].push_back(mine_);
    look.write.emplace_back(room, ClaimText(keep[room]));
  }
  return look;
}

std::vector<std::pair<std::string, std::string>> ClaimKeeper::Leave(
    const std::map<std::string, std::string>& fields) const {
  std::vector<std::pair<std::string, std::string>> write;
  for (const auto& [node, text] : fields) {
    auto claims = ClaimsIn(text);
    if (!claims) continue;
    if (std::erase_if(*claims, [&](const SlurmClaim& one) { return IsMine(one); }) > 0) {
      write.emplace_back(node, ClaimText(*claims));
    }
  }
  return write;
}

}  // namespace sharewell::engine
