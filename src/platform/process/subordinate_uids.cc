#include "platform/process/subordinate_uids.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/text/parse_number.h"
#include "platform/process/user_account.h"

namespace sharewell::platform {
namespace {

constexpr off_t kMostBytes = 16 << 20;

std::optional<std::uint32_t> Number(std::string_view text) {
  const auto number = core::ParseWhole("uid", text, 0, UINT32_MAX);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<std::uint32_t> UidOf(const std::string& owner) {
  const auto user = UserNamed(owner);
  return user ? std::optional(user->uid) : Number(owner);
}

}  // namespace

std::vector<SubordinateRange> ReadSubordinateRanges(std::string_view text) {
  std::vector<SubordinateRange> ranges;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos || first == 0 || line.front() == '#') continue;
    const auto from = Number(line.substr(first + 1, second - first - 1));
    const auto count = Number(line.substr(second + 1));
    if (from && count) ranges.push_back({std::string(line.substr(0, first)), *from, *count});
  }
  return ranges;
}

void SubordinateUids::ReadAgain() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0 || status.st_size > kMostBytes) {
    ranges_.clear();
    size_ = -1;
    return;
  }
  if (status.st_size == size_ && status.st_mtim.tv_sec == changed_.tv_sec &&
      status.st_mtim.tv_nsec == changed_.tv_nsec) {
    return;
  }
  std::ifstream in(path_, std::ios::binary);
  ranges_ = ReadSubordinateRanges(std::string(std::istreambuf_iterator<char>(in), {}));
  size_ = status.st_size;
  changed_ = status.st_mtim;
}

std::uint32_t SubordinateUids::OwnerOf(std::uint32_t uid) {
  ReadAgain();
  for (const SubordinateRange& range : ranges_) {
    if (uid < range.first || uid - range.first >= range.count) continue;
    if (UserWithUid(uid)) return uid;
    return UidOf(range.owner).value_or(uid);
  }
  return uid;
}

}  // namespace sharewell::platform
