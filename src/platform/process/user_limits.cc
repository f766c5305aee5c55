#include "platform/process/user_limits.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "core/text/parse_number.h"

namespace sharewell::platform {
namespace {

constexpr std::uintmax_t kMostLimitBytes = 1 << 20;  // of a file

struct LimitItem {
  std::string_view name;
  int resource;
  rlim_t unit;
};
constexpr std::array kItems = {
    LimitItem{"core", RLIMIT_CORE, 1024},      LimitItem{"data", RLIMIT_DATA, 1024},
    LimitItem{"fsize", RLIMIT_FSIZE, 1024},    LimitItem{"memlock", RLIMIT_MEMLOCK, 1024},
    LimitItem{"nofile", RLIMIT_NOFILE, 1},     LimitItem{"rss", RLIMIT_RSS, 1024},
    LimitItem{"stack", RLIMIT_STACK, 1024},    LimitItem{"cpu", RLIMIT_CPU, 60},
    LimitItem{"nproc", RLIMIT_NPROC, 1},       LimitItem{"as", RLIMIT_AS, 1024},
    LimitItem{"locks", RLIMIT_LOCKS, 1},       LimitItem{"sigpending", RLIMIT_SIGPENDING, 1},
    LimitItem{"msgqueue", RLIMIT_MSGQUEUE, 1}, LimitItem{"rtprio", RLIMIT_RTPRIO, 1},
};

std::vector<std::string_view> LimitWords(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  constexpr std::string_view kBlank = " \t\r";
  while (true) {
    const auto begin = line.find_first_not_of(kBlank);
    if (begin == line.npos) return words;
    const auto end = std::min(line.find_first_of(kBlank, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

std::optional<rlim_t> LimitValue(std::string_view text, rlim_t unit) {
  if (text == "-1" || text == "unlimited" || text == "infinity") return RLIM_INFINITY;
  const auto number = core::ParseWhole("limit", text, 0, UINT64_MAX);
  if (!number) return std::nullopt;
  return *number > (RLIM_INFINITY - 1) / unit ? RLIM_INFINITY : *number * unit;
}

// "1000:1999", "1000:", ":1999"; a whole word is a range where it has a colon.
bool InRange(std::string_view range, std::uint32_t id) {
  const auto colon = range.find(':');
  if (colon == range.npos) return false;
  const std::string_view from = range.substr(0, colon), to = range.substr(colon + 1);
  if (from.empty() && to.empty()) return false;
  // A single bound with nothing behind it means itself or above; before it, exactly that id.
  const auto first = core::ParseWhole("id", from.empty() ? to : from, 0, UINT32_MAX);
  if (from.empty()) return first && *first == id;
  const auto last = to.empty() ? core::Result<std::uint64_t>(UINT32_MAX)
                               : core::ParseWhole("id", to, 0, UINT32_MAX);
  return first && last && id >= *first && id <= *last;
}

enum Domain { kUser = 3, kGroup = 2, kAll = 1, kNone = 0 };  // the more, the closer

Domain MatchOf(std::string_view domain, const UserAccount& user,
               const std::vector<std::uint32_t>& gids, const std::vector<std::string>& groups) {
  if (domain == user.name || InRange(domain, user.uid)) return kUser;
  if (user.uid == 0) return kNone;
  if (domain == "*") return kAll;
  if (!domain.starts_with('@')) return kNone;
  domain.remove_prefix(1);
  const bool by_name = std::find(groups.begin(), groups.end(), domain) != groups.end();
  const bool by_id = std::any_of(gids.begin(), gids.end(),
                                 [&](std::uint32_t gid) { return InRange(domain, gid); });
  return by_name || by_id ? kGroup : kNone;
}

void ReadLimitFile(const std::filesystem::path& path, std::vector<LimitLine>& lines) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > kMostLimitBytes) return;
  std::ifstream in(path, std::ios::binary);
  const auto more = ReadLimitLines(std::string(std::istreambuf_iterator<char>(in), {}));
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<LimitLine> ReadLimitLines(std::string_view text) {
  std::vector<LimitLine> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto words = LimitWords(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.size() != 4) continue;
    const bool soft = words[1] == "soft" || words[1] == "-";
    const bool hard = words[1] == "hard" || words[1] == "-";
    const auto* item = std::find_if(kItems.begin(), kItems.end(),
                                    [&](const LimitItem& one) { return one.name == words[2]; });
    if (item == kItems.end() || !(soft || hard)) continue;
    const auto value = LimitValue(words[3], item->unit);
    if (value) lines.push_back({std::string(words[0]), soft, hard, item->resource, *value});
  }
  return lines;
}

std::vector<ProcessLimit> LimitsOf(const std::vector<LimitLine>& lines, const UserAccount& user,
                                   const std::vector<std::uint32_t>& gids,
                                   const std::vector<std::string>& groups) {
  struct Best {
    ProcessLimit limit;
    Domain soft = kNone, hard = kNone;
  };
  std::map<int, Best> best;
  for (const LimitLine& line : lines) {
    const Domain kind = MatchOf(line.domain, user, gids, groups);
    if (kind == kNone) continue;
    Best& of = best[line.resource];
    if (line.soft && kind >= of.soft) of.limit.soft = line.value, of.soft = kind;
    if (line.hard && kind >= of.hard) of.limit.hard = line.value, of.hard = kind;
  }
  std::vector<ProcessLimit> limits;
  for (auto& [resource, of] : best) {
    of.limit.resource = resource;
    limits.push_back(of.limit);
  }
  return limits;
}

rlimit LimitWith(const std::vector<ProcessLimit>& limits, int resource) {
  rlimit own{};
  ::getrlimit(static_cast<decltype(RLIMIT_NOFILE)>(resource), &own);
  for (const ProcessLimit& limit : limits) {
    if (limit.resource != resource) continue;
    own.rlim_max = std::min(own.rlim_max, limit.hard.value_or(own.rlim_max));
    own.rlim_cur = std::min(limit.soft.value_or(own.rlim_cur), own.rlim_max);
  }
  return own;
}

std::vector<ProcessLimit> UserLimits(const UserAccount& user, const std::string& folder) {
  std::vector<LimitLine> lines;
  ReadLimitFile(folder + "/limits.conf", lines);
  std::vector<std::filesystem::path> more;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder + "/limits.d", error), end;
       !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".conf") more.push_back(it->path());
  }
  std::sort(more.begin(), more.end());
  for (const auto& path : more) ReadLimitFile(path, lines);
  if (lines.empty()) return {};
  const auto gids = GroupsOfUser(user.name, user.gid);
  std::vector<std::string> groups;
  for (const std::uint32_t gid : gids) {
    if (auto name = GroupName(gid)) groups.push_back(std::move(*name));
  }
  return LimitsOf(lines, user, gids, groups);
}

}  // namespace sharewell::platform
