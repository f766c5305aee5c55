#include "store/jobs/object_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "core/text/utf8.h"
#include "store/jobs/json_text.h"

namespace sharewell::store {
namespace {

using ReaderJson = ObjectReader::Json;

constexpr int kDeepestJob = 16;
constexpr int kMostKeys = 10'100;  // of one object: an environment's

std::string QuotedJson(const ReaderJson& json) {
  if (json.is_string()) return core::Quoted(json.get_ref<const std::string&>());
  if (json.is_array()) return "a list";
  if (json.is_object()) return "an object";
  return json.dump();
}

// Why it is none of ours before it is parsed; empty: it may be. Finding a key among very many takes
// as long as there are many.
std::string TooMuch(std::string_view text) {
  int depth = 0;
  std::array<int, kDeepestJob + 1> keys{};
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepestJob) return "it is nested too deeply to be one of ours";
    if (depth < 0) return {};  // no JSON: the parser says so
    if (c == '{') keys[static_cast<std::size_t>(depth)] = 0;
    if (c == ':' && ++keys[static_cast<std::size_t>(depth)] > kMostKeys) {
      return fmt::format("one of its objects has more than {} keys, and none of ours has",
                         kMostKeys);
    }
  }
  return {};
}

}  // namespace

ObjectReader::ObjectReader(const Json& object, std::string place, Trust trust, std::string& error)
    : object_(object), place_(std::move(place)), trust_(trust), error_(error) {
  if (!object.is_object()) {
    std::string name = place_.empty() ? "" : place_.substr(0, place_.size() - 1);
    place_.clear();
    Fail(name, fmt::format("{} is no object", QuotedJson(object)));
    return;
  }
  members_.reserve(object.size());
  for (auto member = object.begin(); member != object.end(); ++member) {
    members_.emplace_back(member.key(), &*member);
  }
  std::sort(members_.begin(), members_.end());
}

void ObjectReader::Fail(std::string_view key, const std::string& why) {
  if (!error_.empty()) return;
  error_ = key.empty() ? why : fmt::format("{}{}: {}", place_, key, why);
}

const ReaderJson* ObjectReader::Member(const char* key) {
  if (trust_ == Trust::kSent) known_.push_back(key);
  if (!ok()) return nullptr;
  const std::string_view name = key;
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), name,
                       [](const auto& member, std::string_view k) { return member.first < k; });
  if (found == members_.end() || found->first != name || found->second->is_null()) return nullptr;
  return found->second;
}

std::optional<std::int64_t> ObjectReader::WholeOf(std::string_view key, const Json& json,
                                                  std::int64_t least, std::int64_t most) {
  const bool too_large =
      json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (!json.is_number_integer() && !too_large) {
    Fail(key, fmt::format("{} is no whole number", QuotedJson(json)));
    return std::nullopt;
  }
  if (too_large || json.get<std::int64_t>() < least || json.get<std::int64_t>() > most) {
    Fail(key, fmt::format("{} is not from {} to {}", QuotedJson(json), least, most));
    return std::nullopt;
  }
  return json.get<std::int64_t>();
}

void ObjectReader::Number(const char* key, std::optional<double>& value, Within within) {
  const Json* json = Member(key);
  if (json == nullptr) return;
  const double number = json->is_number() ? json->get<double>() : 0;
  if (!json->is_number() || !std::isfinite(number)) {
    Fail(key, fmt::format("{} is no number", QuotedJson(*json)));
  } else if (trust_ == Trust::kSent && !(number >= within.least && number <= within.most)) {
    Fail(key, fmt::format("{} is not from {} to {}", QuotedJson(*json), within.least, within.most));
  } else {
    value = number;
  }
}

void ObjectReader::Number(const char* key, double& value, Within within) {
  std::optional<double> number;
  Number(key, number, within);
  if (number) value = *number;
}

void ObjectReader::Flag(const char* key, bool& value) {
  const Json* json = Member(key);
  if (json == nullptr) return;
  if (!json->is_boolean()) {
    return Fail(key, fmt::format("{} is neither true nor false", QuotedJson(*json)));
  }
  value = json->get<bool>();
}

std::optional<std::string> ObjectReader::TextOf(std::string_view key, const Json& json,
                                                std::size_t most) {
  if (!json.is_string()) {
    Fail(key, fmt::format("{} is no text", QuotedJson(json)));
    return std::nullopt;
  }
  const auto& text = json.get_ref<const std::string&>();
  if (trust_ == Trust::kStored) return text;
  if (std::any_of(text.begin(), text.end(), core::IsControl)) {
    Fail(key, fmt::format("{} has a control character in it", core::Quoted(text)));
    return std::nullopt;
  }
  const auto characters = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  if (characters > most) {
    Fail(key, fmt::format("{} has {} characters, and {} is the most", core::Quoted(text),
                          characters, most));
    return std::nullopt;
  }
  return text;
}

void ObjectReader::Text(const char* key, std::string& value, std::size_t most) {
  const Json* json = Member(key);
  if (json == nullptr) return;
  if (auto text = TextOf(key, *json, most)) value = std::move(*text);
}

std::optional<std::string> ObjectReader::BytesOf(std::string_view key, const Json& json) {
  std::optional<std::string> bytes;
  if (json.is_string()) {
    bytes = json.get<std::string>();
  } else if (json.is_object() && json.size() == 1 && json.contains("bytes") &&
             json["bytes"].is_string()) {
    bytes = FromBase64(json["bytes"].get_ref<const std::string&>());
  }
  if (!bytes) {
    Fail(key, fmt::format(R"({} is neither text nor {{"bytes":"BASE64"}})", QuotedJson(json)));
  } else if (bytes->find('\0') != std::string::npos) {
    Fail(key, fmt::format("{} has a NUL character in it", core::Quoted(*bytes)));
    bytes.reset();
  }
  return bytes;
}

void ObjectReader::Each(const char* key, std::size_t most,
                        const std::function<void(const Json&)>& take) {
  const Json* json = Member(key);
  if (json == nullptr) return;
  if (!json->is_array()) return Fail(key, fmt::format("{} is no list", QuotedJson(*json)));
  if (trust_ == Trust::kSent && json->size() > most) {
    return Fail(key, fmt::format("has {} entries, and {} is the most", json->size(), most));
  }
  for (const Json& entry : *json) {
    if (!ok()) return;
    take(entry);
  }
}

void ObjectReader::RefuseOthers() {
  if (!ok() || trust_ == Trust::kStored) return;
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      Fail("", fmt::format("{}{} is no key that is known here{}", place_, core::Quoted(key),
                           core::DidYouMean(key, known)));
      return;
    }
  }
}

std::optional<nlohmann::ordered_json> ParseObject(std::string_view text, std::string& error) {
  error = TooMuch(text);
  if (!error.empty()) return std::nullopt;
  auto json = ReaderJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    error = fmt::format("this is no JSON (in UTF-8): {}", core::Quoted(text));
    return std::nullopt;
  }
  return json;
}

}  // namespace sharewell::store
