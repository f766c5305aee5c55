#include "report/jobs/job_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text/words.h"
#include "report/jobs/job_tables.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::JobRecord;

constexpr std::size_t kMostPieces = 3;  // of numbers; more are no longer read, only first and last
// So many columns behind the place where names part tell them apart.
constexpr std::size_t kTelling = 8;

std::size_t InCommon(std::string_view a, std::string_view b) {
  const auto parts = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto same = static_cast<std::size_t>(parts.first - a.begin());
  // Not in the middle of a character.
  while (same > 0 && same < a.size() && (static_cast<unsigned char>(a[same]) & 0xC0) == 0x80) {
    --same;
  }
  return same;
}

bool IsInWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

// Of a name, from where on it is unlike the others: the beginning of that word.
std::size_t DiffersFrom(const std::string& name, const std::vector<std::string>& names) {
  std::size_t same = 0;
  for (const std::string& other : names) {
    if (other != name) same = std::max(same, InCommon(name, other));
  }
  std::size_t begin = std::min(same, name.size());
  while (begin > 0 && same - begin < kTelling && IsInWord(name[begin - 1])) --begin;
  // "lr=0.01" says more than "0.01".
  if (begin > 0 && name[begin - 1] == '=') {
    --begin;
    while (begin > 0 && same - begin < kTelling && IsInWord(name[begin - 1])) --begin;
  }
  return begin;
}

// Its words, as a shell would be given them, without quotes: to be read, not to be run.
std::string CommandOf(const JobRecord& job) {
  return PlainText(fmt::format("{}", fmt::join(job.asked.command, " ")));
}

std::string NumberPieces(std::vector<std::int64_t> numbers, std::size_t most) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    pieces.push_back(last == i ? fmt::format("{}", numbers[i])
                               : fmt::format("{}-{}", numbers[i], numbers[last]));
    i = last + 1;
  }
  if (pieces.size() > most) return fmt::format("{}...{}", numbers.front(), numbers.back());
  return fmt::format("{}", fmt::join(pieces, ","));
}

std::vector<std::int64_t> NumbersOf(const JobRow& row) {
  std::vector<std::int64_t> numbers;
  for (const JobRecord* job : row) numbers.push_back(job->number);
  return numbers;
}

}  // namespace

bool JobsShown::Takes(const JobRecord& job) const {
  if (!user.empty() && job.user.name != user) return false;
  return phases.empty() || std::find(phases.begin(), phases.end(), job.phase) != phases.end();
}

std::vector<JobRow> JobRowsOf(const std::vector<const JobRecord*>& jobs, bool flat) {
  std::vector<JobRow> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> of_array;
  for (const JobRecord* job : jobs) {
    const std::string array = flat ? std::string() : core::ArrayOf(job->asked);
    if (!array.empty()) {
      const auto [there, added] = of_array.try_emplace({job->user.name, array}, rows.size());
      if (!added) {
        rows[there->second].push_back(job);
        continue;
      }
    }
    rows.push_back({job});
  }
  return rows;
}

std::string JobNumbersInWords(const JobRow& row) {
  return NumberPieces(NumbersOf(row), kMostPieces);
}

std::string JobNameOf(const JobRow& row) {
  const std::string first = PlainText(core::DisplayName(row.front()->asked));
  std::size_t begin = first.size(), end = first.size();
  bool alike = true;
  for (const JobRecord* job : row) {
    const std::string name = PlainText(core::DisplayName(job->asked));
    if (name == first) continue;
    alike = false;
    begin = std::min(begin, InCommon(first, name));
    const auto parts = std::mismatch(first.rbegin(), first.rend(), name.rbegin(), name.rend());
    auto tail = static_cast<std::size_t>(parts.first - first.rbegin());
    tail = std::min({tail, first.size() - begin, name.size() - std::min(begin, name.size())});
    end = std::min(end, tail);
  }
  if (alike) return first;
  // A number that begins or ends alike is not half a value: "lr=0.*" would hide that.
  while (begin > 0 && IsInWord(first[begin - 1]) && begin < first.size()) --begin;
  std::size_t from = first.size() - std::min(end, first.size() - begin);
  while (from < first.size() && (IsInWord(first[from]) || (first[from] & 0x80) != 0)) ++from;
  return first.substr(0, begin) + "*" + first.substr(from);
}

std::vector<std::string> JobNamesOf(const std::vector<JobRow>& rows) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::size_t>> rows_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    names.push_back(JobNameOf(rows[i]));
    if (rows[i].size() == 1 && rows[i][0]->asked.name.empty()) rows_of[names[i]].push_back(i);
  }
  for (const auto& [name, alike] : rows_of) {
    const std::string first = CommandOf(*rows[alike[0]][0]);
    const bool differ = std::any_of(alike.begin(), alike.end(),
                                    [&](std::size_t i) { return CommandOf(*rows[i][0]) != first; });
    if (!differ) continue;
    for (const std::size_t i : alike) names[i] = CommandOf(*rows[i][0]);
  }
  return names;
}

std::vector<std::string> CutNames(const std::vector<std::string>& names, std::size_t width) {
  std::vector<std::string> cut;
  for (const std::string& name : names) {
    if (DisplayWidth(name) <= width || width < kTelling) {
      cut.push_back(CutTo(name, width));
      continue;
    }
    const std::size_t from = DiffersFrom(name, names);
    const std::size_t before = DisplayWidth(std::string_view(name).substr(0, from));
    const std::string rest = name.substr(from);
    if (before + std::min(DisplayWidth(rest), kTelling) < width) {
      cut.push_back(CutTo(name, width));
      continue;
    }
    // What differs, and as much of the beginning as there is room for, at least a quarter.
    const std::size_t tail = std::min(DisplayWidth(rest), width - width / 4 - 1);
    const std::size_t head = BytesWithin(name, width - tail - 1);
    cut.push_back(name.substr(0, head) + "…" + CutTo(rest, tail));
  }
  return cut;
}

std::string SaidOnce(const std::vector<std::pair<JobRow, std::string>>& texts, std::size_t width,
                     std::size_t most) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> said;
  std::map<std::string, std::size_t> where;
  for (const auto& [row, text] : texts) {
    if (text.empty()) continue;
    const auto [there, added] = where.try_emplace(text, said.size());
    if (added) said.push_back({text, {}});
    const auto numbers = NumbersOf(row);
    auto& all = said[there->second].second;
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(most, said.size()); ++i) {
    const auto& [text, numbers] = said[i];
    out +=
        Wrapped(fmt::format("{}: {}", NumberPieces(numbers, kMostPieces), text), width, 2) + "\n";
  }
  if (said.size() > most) {
    out += Wrapped(fmt::format("and {}; `sharewell why JOB` says why of one job",
                               core::Count(said.size() - most, "more reason")),
                   width, 2) +
           "\n";
  }
  return out;
}

}  // namespace sharewell::report
