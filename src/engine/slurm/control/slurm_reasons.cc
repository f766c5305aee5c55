#include "engine/slurm/control/slurm_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/slurm/control/slurm_hold.h"
#include "engine/slurm/control/slurm_place.h"
#include "engine/slurm/read/slurm_read.h"

namespace sharewell::engine {
namespace {

constexpr std::size_t kMostOfReason = 160;
// Where `scontrol show job` is read, a note stands behind texts like this one.
constexpr std::string_view kNoteField = "AdminComment=";

// On one line, and no longer than a line; not cut in the middle of a character.
std::string ShortReason(std::string words) {
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '\n' || c == '"' || c == '\''; }, ' ');
  if (words.size() <= kMostOfReason) return words;
  std::size_t end = kMostOfReason;
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xC0) == 0x80) --end;
  return words.substr(0, end) + "...";
}

std::string_view Unquoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '"' && text.front() != '\'')) return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace

bool IsShownReason(std::string_view comment) { return Unquoted(comment).starts_with(kShownReason); }

bool SlurmReasons::MayShow(std::int64_t job, Shown& shown) const {
  const SlurmKnown& known = book_.jobs().at(job);
  if (book_.runs().contains(job)) {
    shown.sent = false;  // it is being placed, which takes the words back
    return false;
  }
  if (shown.sent || (shown.at && book_.now() < *shown.at + kOfOneEvery)) {
    return false;
  }
  if (!known.job || !WaitsHeldByUs(*known.line) || LosesHold(*known.line)) return false;
  if (Unquoted(known.job->comment) == std::string(kShownReason) + shown.text) {
    shown.sent = true;  // by an earlier server
    return false;
  }
  const bool is_split = known.job->array_tasks.empty() || known.job->array_task;
  const std::string& comment = known.job->comment;
  return is_split && (comment.empty() || IsShownReason(comment)) &&
         shown.text.find(kNoteField) == std::string::npos;
}

core::Result<void> SlurmReasons::Send() {
  if (book_.now() < again_) return {};
  again_ = book_.now() + kEvery;
  if (!book_.options().reasons) return {};
  for (auto& [job, words] : book_.options().reasons()) {
    Shown& shown = reasons_[job];
    std::string text = ShortReason(words);
    if (text == shown.text) continue;
    shown.text = std::move(text);
    shown.sent = false;
  }
  std::erase_if(reasons_, [&](const auto& one) {
    const auto known = book_.jobs().find(one.first);
    return known == book_.jobs().end() || !known->second.line;
  });
  if (!book_.options().admin || book_.options().dry_run) return {};
  std::vector<std::pair<core::Seconds, std::int64_t>> due;
  for (auto& [job, shown] : reasons_) {
    if (MayShow(job, shown)) due.emplace_back(shown.at.value_or(core::Seconds(-1)), job);
  }
  std::sort(due.begin(), due.end());
  if (due.size() > kMostAtOnce) due.resize(kMostAtOnce);
  std::vector<std::string> lines;
  for (const auto& [at, job] : due) {
    Shown& shown = reasons_.at(job);
    shown.at = book_.now();
    shown.sent = true;
    SlurmKnown& known = book_.jobs().at(job);
    const auto value = ScontrolValue(std::string(kShownReason) + shown.text);
    if (!value) continue;  // it has letters that scontrol cannot be told
    known.shows_reason = true;
    lines.push_back(fmt::format("update JobId={} Comment={}", SlurmName(*known.job), *value));
  }
  if (lines.empty()) return {};
  const auto complaint = book_.client().Control(lines);
  RETURN_IF_ERROR(complaint);
  return {};
}

}  // namespace sharewell::engine
