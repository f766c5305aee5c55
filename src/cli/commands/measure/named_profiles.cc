#include "cli/commands/measure/named_profiles.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::cli {
namespace {

using core::ProfileRecord;

std::optional<std::int64_t> AsId(const std::string& word) {
  std::int64_t id = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, id);
  if (word.empty() || error != std::errc() || rest != end) return std::nullopt;
  return id;
}

}  // namespace

void SortByAge(std::vector<ProfileRecord>& records) {
  std::sort(records.begin(), records.end(), [](const ProfileRecord& a, const ProfileRecord& b) {
    return std::pair(a.created, a.id) < std::pair(b.created, b.id);
  });
}

core::Result<std::vector<ProfileRecord>> NamedProfiles(store::ProfileStore& store,
                                                       const std::string& word,
                                                       store::ProfileFilter filter,
                                                       const std::string& command) {
  filter.id = AsId(word);
  if (!filter.id) filter.name = word;
  auto found = store.Profiles(filter);
  if (found && found->empty() && filter.id) {
    filter.id.reset();
    filter.name = word;  // a name may be a number
    found = store.Profiles(filter);
  }
  if (!found) return found;
  SortByAge(*found);
  if (!found->empty()) return found;
  const auto all = store.Profiles({});
  RETURN_IF_ERROR(all);
  std::vector<std::string> names;
  for (const ProfileRecord& record : *all) names.push_back(record.name);
  return core::UsageError("{}: there is no profile {}; `sharewell profiles list` shows {}{}",
                          command, core::Quoted(word), names.empty() ? "none yet" : "them",
                          core::DidYouMean(word, names));
}

}  // namespace sharewell::cli
