// ObjectReader: takes the members of one JSON object one by one, and keeps the first thing that is
// wrong, with the key it is wrong at: "gpus: -1 is not from 0 to 64". A member that is not there or
// null leaves its target as it was. graph/json_object.h says why it is not the only such reader.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "json/submission_fields.h"

namespace sharewell::store {

// What a client sent is held to bounds; what we stored ourselves is only held to its types, and may
// have members that a newer program wrote.
enum class Trust : std::uint8_t { kSent, kStored };

using json::Within;

class ObjectReader {
 public:
  using Json = nlohmann::ordered_json;

  // `object` and `error` must outlive it. `place` stands before each key: "needs.".
  ObjectReader(const Json& object, std::string place, Trust trust, std::string& error);

  bool ok() const { return error_.empty(); }
  Trust trust() const { return trust_; }
  void Fail(std::string_view key, const std::string& why);

  // The member, or null where there is none; from now on it is a known one. `key` must outlive it.
  const Json* Member(const char* key);

  // Characters at most; control characters are refused.
  void Text(const char* key, std::string& value, std::size_t most);
  void Flag(const char* key, bool& value);
  void Number(const char* key, double& value, Within within);
  void Number(const char* key, std::optional<double>& value, Within within);
  template <class Tag>
  void Number(const char* key, core::Quantity<Tag>& value, Within within) {
    Number(key, value.value, within);
  }
  template <class Tag>
  void Number(const char* key, std::optional<core::Quantity<Tag>>& value, Within within) {
    std::optional<double> number;
    Number(key, number, within);
    if (number) value = core::Quantity<Tag>(*number);
  }
  template <class Integer>
  void Whole(const char* key, Integer& value, std::int64_t least = kLeast<Integer>,
             std::int64_t most = kMost<Integer>) {
    if (const Json* json = Member(key)) {
      const bool sent = trust_ == Trust::kSent;
      if (const auto whole =
              WholeOf(key, *json, sent ? least : kLeast<Integer>, sent ? most : kMost<Integer>)) {
        value = static_cast<Integer>(*whole);
      }
    }
  }
  template <class Integer>
  void Whole(const char* key, std::optional<Integer>& value, std::int64_t least = kLeast<Integer>,
             std::int64_t most = kMost<Integer>) {
    Integer whole = 0;
    const Json* json = Member(key);
    Whole(key, whole, least, most);
    if (json != nullptr) value = whole;
  }
  void Each(const char* key, std::size_t most, const std::function<void(const Json&)>& take);

  // The values of members, and of entries of lists: errors name `key`.
  std::optional<std::int64_t> WholeOf(std::string_view key, const Json& json, std::int64_t least,
                                      std::int64_t most);
  std::optional<std::int64_t> JobNumberOf(std::string_view key, const Json& json) {
    return WholeOf(key, json, trust_ == Trust::kSent ? 1 : kLeast<std::int64_t>,
                   kMost<std::int64_t>);
  }
  std::optional<std::string> TextOf(std::string_view key, const Json& json, std::size_t most);
  // Text, or {"bytes":...}; whatever bytes but a NUL.
  std::optional<std::string> BytesOf(std::string_view key, const Json& json);

  // Last: with Trust::kSent a member that nobody asked for is an error that names the nearest known
  // one.
  void RefuseOthers();

 private:
  template <class Integer>
  static constexpr std::int64_t kLeast = std::numeric_limits<Integer>::min();
  template <class Integer>
  static constexpr std::int64_t kMost = std::numeric_limits<Integer>::max();

  const Json& object_;
  std::string place_;
  Trust trust_;
  std::string& error_;
  // By key: looking for each of dozens of keys among dozens of members took longer than parsing.
  std::vector<std::pair<std::string_view, const Json*>> members_;
  std::vector<const char*> known_;  // asked for; kSent alone
};

// Absent, with `error` filled, where it is no JSON or nested deeper than anything of ours.
std::optional<nlohmann::ordered_json> ParseObject(std::string_view text, std::string& error);

}  // namespace sharewell::store
