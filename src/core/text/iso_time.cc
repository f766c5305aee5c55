#include "core/text/iso_time.h"

#include <cstddef>
#include <cstdint>

namespace sharewell::core {
namespace {

constexpr UnixMillis kMinuteMillis = 60'000, kDayMillis = 86'400'000;
constexpr int kDaysInMonth[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

// What is read of a text, from its beginning.
class IsoReader {
 public:
  explicit IsoReader(std::string_view text) : text_(text) {}

  bool done() const { return text_.empty(); }
  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // So many digits, and a value within the bounds.
  std::optional<int> Digits(std::size_t count, int least, int most) {
    if (text_.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return std::nullopt;
      value = value * 10 + (text_[i] - '0');
    }
    if (value < least || value > most) return std::nullopt;
    text_.remove_prefix(count);
    return value;
  }
  // Digits behind a point, as milliseconds; finer ones are cut.
  std::optional<int> Fraction() {
    int millis = 0, worth = 100;
    std::size_t digits = 0;
    for (; digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9'; ++digits) {
      millis += (text_[digits] - '0') * worth;
      worth /= 10;
    }
    text_.remove_prefix(digits);
    return digits > 0 ? std::optional(millis) : std::nullopt;
  }

 private:
  std::string_view text_;
};

bool IsLeap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

// Days since 1970-01-01 of a date in the Gregorian calendar.
std::int64_t DaysTo(int year, int month, int day) {
  const std::int64_t before = year - 1;
  std::int64_t days = before * 365 + before / 4 - before / 100 + before / 400 - 719'162;
  for (int m = 1; m < month; ++m) days += kDaysInMonth[m - 1] + (m == 2 && IsLeap(year) ? 1 : 0);
  return days + day - 1;
}

std::optional<std::int64_t> DateIn(IsoReader& in) {
  const auto year = in.Digits(4, 1, 9999);
  if (!year || !in.Take('-')) return std::nullopt;
  const auto month = in.Digits(2, 1, 12);
  if (!month || !in.Take('-')) return std::nullopt;
  const int last = kDaysInMonth[*month - 1] + (*month == 2 && IsLeap(*year) ? 1 : 0);
  const auto day = in.Digits(2, 1, last);
  return day ? std::optional(DaysTo(*year, *month, *day)) : std::nullopt;
}

// "08:00", "08:00:00", "08:00:00.25".
std::optional<UnixMillis> ClockIn(IsoReader& in) {
  const auto hour = in.Digits(2, 0, 23);
  if (!hour || !in.Take(':')) return std::nullopt;
  const auto minute = in.Digits(2, 0, 59);
  if (!minute) return std::nullopt;
  UnixMillis time = (*hour * 60 + *minute) * kMinuteMillis;
  if (!in.Take(':')) return time;
  const auto second = in.Digits(2, 0, 59);
  if (!second) return std::nullopt;
  time += *second * 1000;
  if (!in.Take('.')) return time;
  const auto fraction = in.Fraction();
  return fraction ? std::optional(time + *fraction) : std::nullopt;
}

// What local time is ahead of UTC.
std::optional<UnixMillis> OffsetIn(IsoReader& in) {
  if (in.done() || in.Take('Z')) return 0;
  const int sign = in.Take('+') ? 1 : in.Take('-') ? -1 : 0;
  const auto hours = in.Digits(2, 0, 23);
  if (sign == 0 || !hours) return std::nullopt;
  if (in.done()) return sign * *hours * 60 * kMinuteMillis;
  in.Take(':');
  const auto minutes = in.Digits(2, 0, 59);
  if (!minutes) return std::nullopt;
  return sign * (*hours * 60 + *minutes) * kMinuteMillis;
}

}  // namespace

std::optional<UnixMillis> ParseIsoTime(std::string_view text) {
  IsoReader in(text);
  const auto days = DateIn(in);
  if (!days) return std::nullopt;
  if (in.done() || (in.Take('Z') && in.done())) return *days * kDayMillis;
  if (!in.Take('T') && !in.Take(' ')) return std::nullopt;
  const auto clock = ClockIn(in);
  if (!clock) return std::nullopt;
  const auto offset = OffsetIn(in);
  if (!offset || !in.done()) return std::nullopt;
  return *days * kDayMillis + *clock - *offset;
}

}  // namespace sharewell::core
