// Lists as Slurm writes them: "n[1-3,7],m01" and "0-9:2,12%4".
#include <algorithm>
#include <charconv>

#include "core/text/quoted.h"
#include "core/text/utf8.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;

constexpr std::int64_t kMostHostNumber = 999'999'999;
constexpr std::size_t kMostHostName = 256;
constexpr std::int64_t kMostTask = 4'000'000'000;

// "01-10", "7": the first, the last, and how many digits they are filled up to.
struct HostRange {
  std::int64_t first = 0, last = 0;
  std::size_t width = 0;
};

std::optional<HostRange> ParseHostRange(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const auto first = SlurmWhole(low, kMostHostNumber);
  const auto last =
      dash == std::string_view::npos ? first : SlurmWhole(text.substr(dash + 1), kMostHostNumber);
  if (!first || !last || *last < *first || low.size() > 9) return std::nullopt;
  return HostRange{*first, *last, low.size()};
}

tl::unexpected<core::Error> TooManyHosts(std::string_view list, std::size_t most) {
  return FailedError("the list of hosts {} has more than {} names", Quoted(list), most);
}

// One name with any number of brackets: names grow from left to right.
Result<void> ExpandOneHost(std::string_view item, std::string_view list, std::size_t most,
                           std::vector<std::string>& out) {
  const auto refuse = [&]() {
    return FailedError("the list of hosts {} cannot be read: {} is no name or range of names",
                       Quoted(list), Quoted(item));
  };
  std::vector<std::string> names{""};
  const std::size_t room = most - out.size();
  while (!item.empty()) {
    const std::size_t open = item.find('[');
    const std::string_view text = item.substr(0, open);
    for (std::string& name : names) name += text;
    if (open == std::string_view::npos) break;
    const std::size_t close = item.find(']', open);
    if (close == std::string_view::npos) return refuse();
    std::vector<std::string> grown;
    for (const std::string_view part : SplitAtCommas(item.substr(open + 1, close - open - 1))) {
      const auto range = ParseHostRange(part);
      if (!range) return refuse();
      // Counted before anything is made: a short text may stand for a billion names.
      const auto count = static_cast<std::size_t>(range->last - range->first + 1);
      if (count > room || count * names.size() > room - grown.size()) {
        return TooManyHosts(list, most);
      }
      for (const std::string& name : names) {
        for (std::int64_t n = range->first; n <= range->last; ++n) {
          grown.push_back(fmt::format("{}{:0{}}", name, n, range->width));
        }
      }
    }
    if (grown.empty()) return refuse();
    names = std::move(grown);
    item.remove_prefix(close + 1);
  }
  if (names.size() > room) return TooManyHosts(list, most);
  for (std::string& name : names) {
    if (name.empty() || name.size() > kMostHostName) return refuse();
    out.push_back(std::move(name));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> ExpandHosts(std::string_view list, std::size_t most) {
  std::vector<std::string> out;
  if (list.empty() || list == "(null)" || list == "None assigned") return out;
  if (std::any_of(list.begin(), list.end(), [](char c) {
        return core::IsControl(c) || c == ' ' || c == '"' || c == '\'' || c == '=' || c == '|';
      })) {
    return FailedError("the list of hosts {} has characters that no name of a host has",
                       Quoted(list));
  }
  if (std::count(list.begin(), list.end(), '[') != std::count(list.begin(), list.end(), ']')) {
    return FailedError("the list of hosts {} has a bracket that is not closed", Quoted(list));
  }
  for (const std::string_view item : SplitAtCommas(list)) {
    // More than four dimensions are no cluster's: 65,536 empty brackets would only take time.
    if (std::count(item.begin(), item.end(), '[') > 4) {
      return FailedError("the list of hosts {} has more than four ranges in one name",
                         Quoted(list));
    }
    RETURN_IF_ERROR(ExpandOneHost(item, list, most, out));
  }
  return out;
}

Result<std::vector<std::int64_t>> ExpandTasks(std::string_view list, std::size_t most) {
  std::vector<std::int64_t> out;
  std::string_view tasks = list.substr(0, list.find('%'));
  if (tasks.size() < list.size() && !SlurmWhole(list.substr(tasks.size() + 1), kMostTask)) {
    return FailedError("the tasks {} end in no limit of how many run at once", Quoted(list));
  }
  if (tasks.starts_with('[') && tasks.ends_with(']')) tasks = tasks.substr(1, tasks.size() - 2);
  for (const std::string_view item : SplitAtCommas(tasks)) {
    const std::size_t colon = item.find(':');
    const std::string_view range = item.substr(0, colon);
    const std::size_t dash = range.find('-');
    const auto first = SlurmWhole(range.substr(0, dash), kMostTask);
    const auto last =
        dash == std::string_view::npos ? first : SlurmWhole(range.substr(dash + 1), kMostTask);
    const auto step = colon == std::string_view::npos
                          ? std::optional<std::int64_t>(1)
                          : SlurmWhole(item.substr(colon + 1), kMostTask);
    if (!first || !last || !step || *step == 0 || *last < *first) {
      return FailedError(
          "the tasks {} cannot be read at {}; where Slurm cut the list (...), set "
          "SLURM_BITSTR_LEN=0 for its commands",
          Quoted(list), Quoted(item));
    }
    if (static_cast<std::uint64_t>((*last - *first) / *step) >= most - out.size()) {
      return FailedError("the tasks {} are more than {}", Quoted(list), most);
    }
    for (std::int64_t task = *first; task <= *last; task += *step) out.push_back(task);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) {
    return FailedError("the tasks {} name one task twice", Quoted(list));
  }
  return out;
}

}  // namespace sharewell::engine
