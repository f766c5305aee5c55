#include "json/reader.h"

#include <algorithm>
#include <cmath>

#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/text/utf8.h"
#include "json/text.h"

namespace sharewell::json {
namespace {

// Up to so many, looking through them is cheaper than sorting them.
constexpr std::size_t kFewMembers = 16;

std::string_view WithoutColon(std::string_view place) {
  while (!place.empty() && (place.back() == ' ' || place.back() == ':' || place.back() == '.')) {
    place.remove_suffix(1);
  }
  return place;
}

}  // namespace

Reader::Reader(Value object, std::string place, Trust trust, std::string& error)
    : Checker(std::move(place), trust, error), object_(object) {
  if (!object.is_object()) {
    const std::string why = fmt::format("{} is no object", object.Quoted());
    Checker("", trust, error).Fail(WithoutColon(this->place()), why);
    return;
  }
  if (object.size() <= kFewMembers) return;
  members_.reserve(object.size());
  for (const auto& member : object.members()) members_.push_back(member);
  std::stable_sort(members_.begin(), members_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

void Checker::Fail(std::string_view key, std::string_view why) {
  if (!ok()) return;
  error_ =
      key.empty() ? fmt::format("{}{}", place_, why) : fmt::format("{}{}: {}", place_, key, why);
}

Value Reader::Member(std::string_view key) {
  if (trust() == Trust::kSent) known_.push_back(key);
  if (!ok()) return {};
  if (members_.empty()) return object_[key];
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), key,
                       [](const auto& member, std::string_view k) { return member.first < k; });
  return found == members_.end() || found->first != key ? Value() : found->second;
}

Value Reader::Need(std::string_view key) {
  const Value member = Member(key);
  if (member.is_null()) Fail(key, "is missing");
  return member;
}

Value Reader::NeedOrNull(std::string_view key) {
  const Value member = Member(key);
  if (member.is_null() && !object_.Has(key)) Fail(key, "is missing");
  return member;
}

Reader Reader::Part(std::string_view key) {
  return {Need(key), fmt::format("{}{}.", place(), key), trust(), error()};
}

std::optional<std::int64_t> Checker::WholeOf(std::string_view key, Value value, Range range) {
  const auto whole = value.Whole();
  if (!whole && !value.Unsigned()) {
    Fail(key, fmt::format("{} is no whole number", value.Quoted()));
    return std::nullopt;
  }
  if (!whole || *whole < range.least || *whole > range.most) {
    Fail(key, fmt::format("{} is not from {} to {}", value.Quoted(), range.least, range.most));
    return std::nullopt;
  }
  return whole;
}

std::optional<double> Checker::NumberOf(std::string_view key, Value value, Within within) {
  const auto number = value.Number();
  if (!number) {
    Fail(key, fmt::format("{} is no number", value.Quoted()));
  } else if (trust_ == Trust::kSent && !(*number >= within.least && *number <= within.most)) {
    Fail(key, fmt::format("{} is not from {} to {}", value.Quoted(), within.least, within.most));
  } else {
    return number;
  }
  return std::nullopt;
}

std::optional<bool> Checker::FlagOf(std::string_view key, Value value) {
  const auto flag = value.Bool();
  if (!flag) Fail(key, fmt::format("{} is neither true nor false", value.Quoted()));
  return flag;
}

void Reader::Flag(std::string_view key, bool& value) {
  const Value member = Member(key);
  if (member.is_null()) return;
  if (const auto flag = FlagOf(key, member)) value = *flag;
}

std::optional<std::string> Checker::TextOf(std::string_view key, Value value, std::size_t most) {
  const auto text = value.Text();
  if (!text) {
    Fail(key, fmt::format("{} is no text", value.Quoted()));
    return std::nullopt;
  }
  if (trust_ == Trust::kStored || most == kAnyLength) return std::string(*text);
  if (std::any_of(text->begin(), text->end(), core::IsControl)) {
    Fail(key, fmt::format("{} has a control character in it", core::Quoted(*text)));
    return std::nullopt;
  }
  const auto characters = static_cast<std::size_t>(
      std::count_if(text->begin(), text->end(), [](char c) { return (c & 0xc0) != 0x80; }));
  if (characters > most) {
    Fail(key, fmt::format("{} has {} characters, and {} is the most", core::Quoted(*text),
                          characters, most));
    return std::nullopt;
  }
  return std::string(*text);
}

void Reader::Text(std::string_view key, std::string& value, std::size_t most) {
  const Value member = Member(key);
  if (member.is_null()) return;
  if (auto text = TextOf(key, member, most)) value = std::move(*text);
}

std::optional<std::string> Checker::BytesOf(std::string_view key, Value value) {
  std::optional<std::string> bytes;
  if (const auto text = value.Text()) {
    bytes = *text;
  } else if (const auto base64 = value["bytes"].Text(); base64 && value.size() == 1) {
    bytes = FromBase64(*base64);
  }
  if (!bytes) {
    Fail(key, fmt::format(R"({} is neither text nor {{"bytes":"BASE64"}})", value.Quoted()));
  } else if (bytes->find('\0') != std::string::npos) {
    Fail(key, fmt::format("{} has a NUL character in it", core::Quoted(*bytes)));
    bytes.reset();
  }
  return bytes;
}

void Reader::Each(std::string_view key, std::size_t most, const std::function<void(Value)>& take) {
  const Value list = Member(key);
  if (list.is_null()) return;
  if (!list.is_list()) return Fail(key, fmt::format("{} is no list", list.Quoted()));
  if (trust() == Trust::kSent && list.size() > most) {
    return Fail(key, fmt::format("has {} entries, and {} is the most", list.size(), most));
  }
  for (const Value entry : list.items()) {
    if (!ok()) return;
    take(entry);
  }
}

void Reader::Texts(std::string_view key, std::vector<std::string>& values, std::size_t most_entries,
                   std::size_t most) {
  Each(key, most_entries, [&](Value entry) {
    if (auto text = TextOf(key, entry, most)) values.push_back(std::move(*text));
  });
}

std::string Reader::NeedText(std::string_view key) {
  const Value member = Need(key);
  return ok() ? TextOf(key, member).value_or("") : "";
}

double Reader::NeedNumber(std::string_view key, Within within) {
  const Value member = Need(key);
  const double safe = std::max(within.least, 1.0);
  return ok() ? NumberOf(key, member, within).value_or(safe) : safe;
}

std::int64_t Reader::NeedWhole(std::string_view key, Range range) {
  const Value member = Member(key);
  if (member.is_null()) {
    Fail(key,
         fmt::format("is missing; give a whole number from {} to {}", range.least, range.most));
  }
  const std::int64_t safe = std::max<std::int64_t>(range.least, 1);
  return ok() ? WholeOf(key, member, range).value_or(safe) : safe;
}

std::vector<Value> Reader::NeedList(std::string_view key, std::size_t most) {
  std::vector<Value> entries;
  Need(key);
  Each(key, most, [&](Value entry) { entries.push_back(entry); });
  return entries;
}

std::vector<double> Reader::NeedNumbers(std::string_view key, Within within) {
  const Value list = Need(key);
  if (!ok()) return {};
  auto numbers = list.Numbers();
  if (!numbers) {
    Fail(key, fmt::format("{} is no list", list.Quoted()));
    return {};
  }
  const auto wrong = std::find_if_not(numbers->begin(), numbers->end(), [&](double number) {
    return number >= within.least && number <= within.most;
  });
  if (wrong == numbers->end()) return std::move(*numbers);
  const Value entry = list.At(static_cast<std::size_t>(wrong - numbers->begin()));
  Fail(key, fmt::format("has {} in it, which is no number from {} to {}", entry.Quoted(),
                        within.least, within.most));
  return {};
}

std::vector<double> Reader::NeedNumbers(std::string_view key, std::size_t count, Within within) {
  auto numbers = NeedNumbers(key, within);
  if (ok() && numbers.size() != count) {
    Fail(key, fmt::format("has {} entries, and needs {}", numbers.size(), count));
  }
  if (!ok()) numbers.clear();
  return numbers;
}

void Reader::RefuseOthers() {
  if (!ok() || trust() == Trust::kStored) return;
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [key, value] : object_.members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Fail(fmt::format("{} is no key that is known here{}", core::Quoted(key),
                              core::DidYouMean(std::string(key), known)));
    }
  }
}

}  // namespace sharewell::json
