#include "engine/slurm/read/slurm_shares.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/parse_number.h"
#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;

constexpr std::size_t kMostShares = 1'000'000;

std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Calls take(fields) for each line of N fields, with a bar between them.
template <std::size_t N, class Take>
Result<void> EachRow(std::string_view text, const char* command, Take take) {
  std::size_t rows = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (std::count(line.begin(), line.end(), '|') != N - 1 || ++rows > kMostShares) {
      return FailedError("{} did not print {} fields, but {}", command, N, Quoted(line));
    }
    std::array<std::string_view, N> fields;
    for (std::string_view& field : fields) {
      const std::size_t bar = std::min(line.find('|'), line.size());
      field = WithoutBlanks(line.substr(0, bar));
      line.remove_prefix(std::min(bar + 1, line.size()));
    }
    RETURN_IF_ERROR(take(fields));
  }
  return {};
}

}  // namespace

std::vector<std::string> FairShareCommand() {
  return {"sshare", "--all", "--noheader", "--parsable2", "--format", "Account,User,FairShare"};
}

Result<void> ParseFairShare(std::string_view text, SlurmShares& to) {
  return EachRow<3>(text, "sshare", [&](const auto& fields) -> Result<void> {
    if (fields[1].empty() || fields[2].empty()) return {};  // an account's own line
    const auto factor = core::FiniteNumber(fields[2]);
    if (!factor || *factor < 0) {
      return FailedError("sshare: {} is no fair-share factor", Quoted(fields[2]));
    }
    to.fair[{std::string(fields[1]), std::string(fields[0])}] = std::min(*factor, 1.0);
    return {};
  });
}

std::vector<std::string> QosCommand() {
  return {"sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,Priority"};
}

Result<void> ParseQos(std::string_view text, SlurmShares& to) {
  return EachRow<2>(text, "sacctmgr", [&](const auto& fields) -> Result<void> {
    const auto priority = core::FiniteNumber(fields[1]);
    if (fields[0].empty() || !priority || *priority < 0) {
      return FailedError("sacctmgr: {} is no priority of a QOS", Quoted(fields[1]));
    }
    to.qos[std::string(fields[0])] = *priority;
    return {};
  });
}

double WeightOf(const SlurmJob& job, const SlurmShares& shares) {
  constexpr double kLeast = 0.01, kStep = 1.25;
  double weight = 1, most = 0;
  if (const auto its = shares.fair.find({job.user, job.account}); its != shares.fair.end()) {
    weight = its->second;
  } else if (!shares.fair.empty()) {  // as the others are on the whole
    weight = 0;
    for (const auto& [who, factor] : shares.fair) weight += factor;
    weight /= static_cast<double>(shares.fair.size());
  }
  for (const auto& [name, priority] : shares.qos) most = std::max(most, priority);
  if (const auto its = shares.qos.find(job.qos); its != shares.qos.end() && most > 0) {
    weight *= 1 + its->second / most;
  }
  if (weight == 1) return 1;
  return std::pow(kStep, std::round(std::log(std::max(weight, kLeast)) / std::log(kStep)));
}

}  // namespace sharewell::engine
