#include "platform/files/watch_lines.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/text/plain_text.h"

namespace sharewell::platform {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;
constexpr std::size_t kLongestId = 64;

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0) {
    return std::nullopt;
  }
  return number;
}

std::string_view NextWord(std::string_view& rest) {
  const auto space = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(std::min(rest.size(), space + 1));
  return word;
}

}  // namespace

void WatchLines::Read(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() < kLongestLine) {
      line_ += part;
    } else {
      too_long_ = true;
    }
    if (end == std::string_view::npos) return;
    if (!too_long_) Line(line_);
    line_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
}

void WatchLines::Line(std::string_view line) {
  if (line.starts_with('+')) {
    if (const auto more = Number(line.substr(1))) steps_ = std::min(steps_ + *more, kMostSteps);
  } else if (line.starts_with("doc ")) {
    Piece(line.substr(4));
  } else if (line.starts_with("off ") && off_.empty()) {
    off_ = core::PlainText(line.substr(4, kLongestWhy), " ");
  } else if (line == "by report_step") {
    by_report_step_ = true;
  }
}

void WatchLines::Piece(std::string_view rest) {
  const std::string_view id = NextWord(rest);
  const auto place = Number(NextWord(rest));
  const std::string_view last = NextWord(rest);
  if (id.empty() || id.size() > kLongestId || !place || (last != "0" && last != "1")) return;
  auto found = begun_.find(id);
  if (*place == 0) {
    if (found == begun_.end()) {
      if (begun_.size() >= kMostDocuments) begun_.erase(begun_.begin());
      found = begun_.emplace(std::string(id), Document{}).first;
    }
    found->second = {};
  }
  // A piece was lost: without it the rest is worth nothing.
  if (found == begun_.end() || found->second.next != *place ||
      found->second.text.size() + rest.size() > kLargestDocument) {
    if (found != begun_.end()) begun_.erase(found);
    return;
  }
  found->second.text += rest;
  ++found->second.next;
  if (last == "0") return;
  whole_ = std::move(found->second.text);
  begun_.erase(found);
}

std::optional<std::string> WatchLines::TakeDocument() { return std::exchange(whole_, {}); }

}  // namespace sharewell::platform
