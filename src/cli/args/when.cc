#include "cli/args/when.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "cli/args/values.h"
#include "core/text/quoted.h"

namespace sharewell::cli {
namespace {

constexpr int kMostDaysAgo = 100 * 366;

std::optional<int> Digits(std::string_view text, std::size_t at, std::size_t length) {
  if (at + length > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, length)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "08:00" or "08:00:00".
std::optional<std::chrono::seconds> ClockTime(std::string_view text) {
  const auto hour = Digits(text, 0, 2);
  const auto minute = Digits(text, 3, 2);
  const auto second = text.size() == 5 ? std::optional(0) : Digits(text, 6, 2);
  const bool shaped = (text.size() == 5 || (text.size() == 8 && text[5] == ':')) && text[2] == ':';
  if (!shaped || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

std::optional<core::UnixMillis> Calendar(std::string_view text) {
  const auto year = Digits(text, 0, 4);
  const auto month = Digits(text, 5, 2);
  const auto day = Digits(text, 8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  std::chrono::seconds time = std::chrono::sys_days(date).time_since_epoch();
  std::string_view rest = text.substr(10);
  if (rest.ends_with('Z')) rest.remove_suffix(1);
  if (!rest.empty()) {
    if (rest[0] != 'T' && rest[0] != ' ') return std::nullopt;
    const auto clock = ClockTime(rest.substr(1));
    if (!clock) return std::nullopt;
    time += *clock;
  }
  return std::chrono::milliseconds(time).count();
}

}  // namespace

core::Result<core::UnixMillis> ParseWhen(std::string_view flag, std::string_view text,
                                         core::UnixMillis now) {
  if (text == "now") return now;
  if (const auto time = Calendar(text)) return *time;
  if (const auto ago = ParseTime(flag, text, kMostDaysAgo)) {
    return now - static_cast<core::UnixMillis>(std::llround(ago->value * 1e3));
  }
  return core::UsageError(
      "{}: {} is not a time; give 90s, 15m, 12h or 3d (ago), now, or 2026-11-15T08:00 in UTC", flag,
      core::Quoted(text));
}

}  // namespace sharewell::cli
