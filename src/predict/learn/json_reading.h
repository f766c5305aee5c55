// Reads parts of a JSON value that nobody vouches for. The first thing that is wrong is kept, and
// everything asked for after that comes back empty; so a reader asks, and looks at the end.
// graph/json_object.h says why it is not the only such reader.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

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
  void Only(const nlohmann::json& value, std::initializer_list<std::string_view> keys) {
    Expect(value.is_object(), "a part of it is {} where an object was expected",
           std::string(value.type_name()));
    if (failed()) return;
    for (const auto& item : value.items()) {
      Expect(std::find(keys.begin(), keys.end(), item.key()) != keys.end(),
             "it has a key \"{}\" that means nothing", item.key());
    }
  }

  const nlohmann::json& At(const nlohmann::json& value, const std::string& key) {
    const auto found = value.is_object() ? value.find(key) : value.end();
    const bool there = value.is_object() && found != value.end();
    Expect(there, "it has no \"{}\"", key);
    return there ? *found : null_;
  }

  std::string Text(const nlohmann::json& value, const std::string& key) {
    const nlohmann::json& text = At(value, key);
    Expect(text.is_string(), "its \"{}\" is no text", key);
    return text.is_string() ? text.get<std::string>() : std::string();
  }

  const nlohmann::json& List(const nlohmann::json& value, const std::string& key,
                             std::size_t most) {
    const nlohmann::json& list = At(value, key);
    Expect(list.is_array(), "its \"{}\" is no list", key);
    Expect(list.size() <= most, "its \"{}\" has {} entries; there may be {}", key, list.size(),
           most);
    return failed() ? none_ : list;
  }

  double Bounded(const nlohmann::json& value, const std::string& key, double low, double high) {
    const nlohmann::json& number = At(value, key);
    Expect(number.is_number(), "its \"{}\" is no number", key);
    if (failed()) return 0;
    const double out = number.get<double>();
    Expect(out >= low && out <= high, "its \"{}\" is {}; it must be from {} to {}", key, out, low,
           high);
    return failed() ? 0 : out;
  }

  std::size_t Count(const nlohmann::json& value, const std::string& key, std::size_t most) {
    const double count = Bounded(value, key, 0, static_cast<double>(most));
    Expect(std::floor(count) == count, "its \"{}\" is {}, which is no count", key, count);
    return static_cast<std::size_t>(count);
  }

  // How many there are of a list that may be packed (json_parse.h).
  std::size_t Length(const nlohmann::json& value, const std::string& key, std::size_t most) {
    const nlohmann::json& list = At(value, key);
    if (!list.is_binary()) return List(value, key, most).size();
    const std::size_t count = list.get_binary().size() / sizeof(double);
    Expect(count <= most, "its \"{}\" has {} entries; there may be {}", key, count, most);
    return failed() ? 0 : count;
  }

  // Any finite numbers, as many as there are.
  std::vector<double> Numbers(const nlohmann::json& value, const std::string& key) {
    const double any = std::numeric_limits<double>::max();
    const std::size_t count = Length(value, key, std::numeric_limits<std::size_t>::max());
    return Numbers(value, key, count, -any, any);
  }

  // Exactly `count` numbers from `low` to `high`.
  std::vector<double> Numbers(const nlohmann::json& value, const std::string& key,
                              std::size_t count, double low, double high) {
    const std::size_t length = Length(value, key, std::numeric_limits<std::size_t>::max());
    Expect(length == count, "its \"{}\" has {} entries; there must be {}", key, length, count);
    std::vector<double> out;
    if (failed()) return out;
    const nlohmann::json& list = At(value, key);
    if (list.is_binary()) {
      out.resize(count);
      std::memcpy(out.data(), list.get_binary().data(), count * sizeof(double));
      const auto wrong =
          std::find_if_not(out.begin(), out.end(), [&](double x) { return x >= low && x <= high; });
      if (wrong == out.end()) return out;
      Expect(false, "an entry of its \"{}\" is {}; it must be from {} to {}", key, *wrong, low,
             high);
      return {};
    }
    out.reserve(count);
    for (const nlohmann::json& number : list) {
      const double x =
          number.is_number() ? number.get<double>() : std::numeric_limits<double>::quiet_NaN();
      if (!(x >= low && x <= high)) {  // its text is made here alone: there are 100,000 numbers
        Expect(false, "an entry of its \"{}\" is {}; it must be from {} to {}", key,
               number.is_number() ? fmt::format("{}", x) : std::string(number.type_name()), low,
               high);
        return {};
      }
      out.push_back(x);
    }
    return out;
  }

 private:
  std::string what_;
  std::string wrong_;
  const nlohmann::json null_;
  const nlohmann::json none_ = nlohmann::json::array();
};

}  // namespace sharewell::predict::learn
