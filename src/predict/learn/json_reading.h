// Reads parts of a JSON value that nobody vouches for. The first thing that is wrong is kept, and
// everything asked for after that comes back empty; so a reader asks, and looks at the end.
// graph/json_object.h says why it is not the only such reader.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "predict/learn/json_value.h"

namespace sharewell::predict::learn {

// Numbers a model multiplies and adds stay below this, so that its answers stay finite.
constexpr double kLargest = 1e100;

class Reader {
 public:
  // `what` is read, for messages: "learned model".
  explicit Reader(std::string what) : what_(std::move(what)) {}

  bool failed() const { return !wrong_.empty(); }
  // REQUIRES failed().
  tl::unexpected<core::Error> Error() const {
    return core::UsageError("the {} is damaged: {}: `sharewell train` makes a new one", what_,
                            wrong_);
  }

  template <class... Args>
  void Expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds && wrong_.empty()) wrong_ = fmt::format(format, std::forward<Args>(args)...);
  }

  // An object with these keys and no others.
  void Only(const JsonValue& value, std::initializer_list<std::string_view> keys) {
    Expect(value.is_object(), "a part of it is {} where an object was expected", value.type_name());
    for (const auto& [key, field] : value.Fields()) {
      Expect(std::find(keys.begin(), keys.end(), key) != keys.end(),
             "it has a key \"{}\" that means nothing", key);
    }
  }

  // Null where it is not there.
  JsonValue At(const JsonValue& value, std::string_view key) {
    const auto found = value.Find(key);
    Expect(found.has_value(), "it has no \"{}\"", key);
    return found.value_or(JsonValue());
  }

  // Valid as long as `value` is.
  std::string_view Text(const JsonValue& value, std::string_view key) {
    const auto text = At(value, key).Text();
    Expect(text.has_value(), "its \"{}\" is no text", key);
    return text.value_or("");
  }

  std::vector<JsonValue> List(const JsonValue& value, std::string_view key, std::size_t most) {
    const JsonValue list = At(value, key);
    Expect(list.is_array(), "its \"{}\" is no list", key);
    auto items = list.Items();
    Expect(items.size() <= most, "its \"{}\" has {} entries; there may be {}", key, items.size(),
           most);
    if (failed()) items.clear();
    return items;
  }

  double Bounded(const JsonValue& value, std::string_view key, double low, double high) {
    const auto number = At(value, key).Number();
    Expect(number.has_value(), "its \"{}\" is no number", key);
    if (failed()) return 0;
    Expect(*number >= low && *number <= high, "its \"{}\" is {}; it must be from {} to {}", key,
           *number, low, high);
    return failed() ? 0 : *number;
  }

  std::size_t Count(const JsonValue& value, std::string_view key, std::size_t most) {
    const double count = Bounded(value, key, 0, static_cast<double>(most));
    Expect(std::floor(count) == count, "its \"{}\" is {}, which is no count", key, count);
    return static_cast<std::size_t>(count);
  }

  // Numbers from `low` to `high`, as many as there are.
  std::vector<double> Numbers(const JsonValue& value, std::string_view key, double low,
                              double high) {
    const JsonValue list = At(value, key);
    auto numbers = list.Numbers();
    Expect(numbers.has_value(), "its \"{}\" is no list", key);
    if (failed()) return {};
    const auto wrong = std::find_if_not(numbers->begin(), numbers->end(),
                                        [&](double x) { return x >= low && x <= high; });
    if (wrong == numbers->end()) return *std::move(numbers);
    const JsonValue entry = list.Items()[static_cast<std::size_t>(wrong - numbers->begin())];
    Expect(false, "an entry of its \"{}\" is {}; it must be from {} to {}", key,
           entry.is_number() ? fmt::format("{}", *wrong) : std::string(entry.type_name()), low,
           high);
    return {};
  }

  // Any finite ones.
  std::vector<double> Numbers(const JsonValue& value, std::string_view key) {
    const double any = std::numeric_limits<double>::max();
    return Numbers(value, key, -any, any);
  }

  // As many as there may be.
  std::vector<double> NumbersUpTo(std::size_t most, const JsonValue& value, std::string_view key,
                                  double low, double high) {
    auto numbers = Numbers(value, key, low, high);
    Expect(numbers.size() <= most, "its \"{}\" has {} entries; there may be {}", key,
           numbers.size(), most);
    if (failed()) numbers.clear();
    return numbers;
  }

  // Exactly `count`.
  std::vector<double> Numbers(const JsonValue& value, std::string_view key, std::size_t count,
                              double low, double high) {
    auto numbers = Numbers(value, key, low, high);
    Expect(numbers.size() == count, "its \"{}\" has {} entries; there must be {}", key,
           numbers.size(), count);
    if (failed()) numbers.clear();
    return numbers;
  }

 private:
  std::string what_;
  std::string wrong_;
};

}  // namespace sharewell::predict::learn
