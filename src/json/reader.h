// Reader: takes the members of one JSON object one by one, and keeps the first thing that is wrong,
// with the place it is wrong at: "needs.busy: 1.5 is not from 0 to 1". What is asked after that
// leaves its target as it was, so a reader asks for all it needs and looks at the error once.
//
//   std::string error;
//   json::Reader reader(document.root(), "", json::Trust::kSent, error);
//   reader.Number("days", days, {0.001, 3650});
//   reader.RefuseOthers();
//   if (!error.empty()) return UsageError("{}", error);
//
// A member that is not there, or null, leaves its target as it was, too, unless it is needed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/units.h"
#include "json/value.h"
#include "json/within.h"

namespace sharewell::json {

// What a client sent or a person wrote is held to bounds; what we stored ourselves is only held to
// its types, and may have members that a newer program wrote.
enum class Trust : std::uint8_t { kSent, kStored };

namespace internal {

template <class T>
struct WithoutOptional {
  using type = T;
};
template <class T>
struct WithoutOptional<std::optional<T>> {
  using type = T;
};

// What fits the type, and where it was sent lies in the range too.
template <std::integral Integer>
Range Narrowed(Range range, Trust trust) {
  using Limits = std::numeric_limits<Integer>;
  Range all;
  if (std::in_range<std::int64_t>(Limits::max())) {
    all = {static_cast<std::int64_t>(Limits::min()), static_cast<std::int64_t>(Limits::max())};
  } else if (std::is_unsigned_v<Integer>) {
    all.least = 0;
  }
  if (trust == Trust::kStored) return all;
  return {std::max(range.least, all.least), std::min(range.most, all.most)};
}

}  // namespace internal

// What is wrong first, and where. Readers of parts share the error of the whole.
class Checker {
 public:
  static constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

  // `place` stands before each key: "needs.", "net.json: layers[3]: ". `error` must outlive it.
  Checker(std::string place, Trust trust, std::string& error)
      : place_(std::move(place)), trust_(trust), error_(error) {}

  bool ok() const { return error_.empty(); }
  Trust trust() const { return trust_; }
  const std::string& place() const { return place_; }
  std::string& error() const { return error_; }
  void Fail(std::string_view key, std::string_view why);
  void Fail(std::string_view why) { Fail("", why); }  // not about one key
  template <class... Args>
  void Expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds && ok()) Fail(fmt::format(format, std::forward<Args>(args)...));
  }

  // ---- values of members, and of entries of lists: errors name `key`
  std::optional<bool> FlagOf(std::string_view key, Value value);
  std::optional<std::int64_t> WholeOf(std::string_view key, Value value, Range range = {});
  std::optional<double> NumberOf(std::string_view key, Value value, Within within = {});
  // Control characters, and more characters than `most`, are refused, unless any length is right.
  std::optional<std::string> TextOf(std::string_view key, Value value,
                                    std::size_t most = kAnyLength);
  // Text, or {"bytes":...}; whatever bytes but a NUL.
  std::optional<std::string> BytesOf(std::string_view key, Value value);

 private:
  std::string place_;
  Trust trust_;
  std::string& error_;
};

class Reader : public Checker {
 public:
  // What `object` is part of must outlive it.
  Reader(Value object, std::string place, Trust trust, std::string& error);

  // ---- members. From now on `key`, which must outlive the reader, is a known one. Once something
  // is wrong there are none.
  Value Member(std::string_view key);      // null where there is none
  Value Need(std::string_view key);        // that is an error
  Value NeedOrNull(std::string_view key);  // it must be there, and may be null
  bool Has(std::string_view key) { return !Member(key).is_null(); }
  // A reader of the object there. It is an error where there is none.
  Reader Part(std::string_view key);

  void Text(std::string_view key, std::string& value, std::size_t most = kAnyLength);
  void Flag(std::string_view key, bool& value);
  // A double, a quantity, or an optional one.
  template <class T>
  void Number(std::string_view key, T& value, Within within = {}) {
    const Value member = Member(key);
    if (member.is_null()) return;
    if (const auto number = NumberOf(key, member, within)) value = T(*number);
  }
  // An integer, or an optional one.
  template <class T>
  void Whole(std::string_view key, T& value, Range range = {}) {
    using Integer = typename internal::WithoutOptional<T>::type;
    const Value member = Member(key);
    if (member.is_null()) return;
    const auto whole = WholeOf(key, member, internal::Narrowed<Integer>(range, trust()));
    if (whole) value = static_cast<Integer>(*whole);
  }
  void Each(std::string_view key, std::size_t most, const std::function<void(Value)>& take);
  void Texts(std::string_view key, std::vector<std::string>& values, std::size_t most_entries,
             std::size_t most = kAnyLength);

  // ---- the same, for who wants it returned: `otherwise` where it is not there, or wrong
  std::string TextOr(std::string_view key, std::string otherwise) {
    Text(key, otherwise);
    return otherwise;
  }
  bool FlagOr(std::string_view key, bool otherwise) {
    Flag(key, otherwise);
    return otherwise;
  }
  double NumberOr(std::string_view key, double otherwise, Within within) {
    Number(key, otherwise, within);
    return otherwise;
  }
  std::int64_t WholeOr(std::string_view key, std::int64_t otherwise, Range range) {
    Whole(key, otherwise, range);
    return otherwise;
  }

  // ---- members that must be there. What is returned in error is safe to compute with: the least
  // that is right, and 1 where that is less.
  std::string NeedText(std::string_view key);
  double NeedNumber(std::string_view key, Within within = {});
  std::int64_t NeedWhole(std::string_view key, Range range = {});
  std::vector<Value> NeedList(std::string_view key, std::size_t most);
  std::vector<double> NeedNumbers(std::string_view key, Within within = {});
  std::vector<double> NeedNumbers(std::string_view key, std::size_t count, Within within = {});

  // Last: where it was sent, a member that nobody asked for is an error that names the nearest
  // known one.
  void RefuseOthers();

 private:
  Value object_;
  // By key, where there are many: looking for each of dozens of keys among dozens of members took
  // longer than parsing.
  std::vector<std::pair<std::string_view, Value>> members_;
  std::vector<std::string_view> known_;  // asked for
};

}  // namespace sharewell::json
