// One object of a JSON file, asked key by key. The first error sticks and names the key; what is
// asked after it gets values that are safe to compute with, so a reader can ask for all it needs
// and look at error() once.
//
// For files that people write: keys have fallbacks and other names. Two more readers keep the first
// error, for what has another contract: predict/learn/json_reading.h for model files of our own, in
// which every key must be there, and store/jobs/object_reader.h for what clients send and what is
// stored. No module that may know a JSON library lies below graph, predict and store.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace sharewell::graph {

// Parsed whole. An error says where in the text it is no JSON.
core::Result<nlohmann::json> ParseJson(std::string_view text, const std::string& name,
                                       std::size_t largest);

class JsonObject {
 public:
  struct Range {
    std::int64_t least = 1, most = kLargestDim;
  };

  // REQUIRES: an object, which outlives this. `where` begins every message.
  JsonObject(const nlohmann::json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  // Null counts as not there: Hugging Face writes it so.
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  const nlohmann::json* Find(std::string_view key) const;

  // Without a fallback the key must be there. Of several names the first that is there counts.
  std::int64_t Whole(std::string_view key, Range range,
                     std::optional<std::int64_t> fallback = std::nullopt) {
    return WholeOf({key}, range, fallback);
  }
  std::int64_t WholeOf(const std::vector<std::string_view>& keys, Range range,
                       std::optional<std::int64_t> fallback = std::nullopt);
  double Number(std::string_view key, double least, double most, double fallback);
  bool Bool(std::string_view key, bool fallback);
  std::string Text(std::string_view key, const std::string& fallback);
  // A list of whole numbers, or one number that stands for `count` equal ones. A list has `count`.
  Dims Wholes(std::string_view key, Range range, std::size_t count,
              std::optional<std::int64_t> fallback = std::nullopt);

  void Fail(std::string_view key, const std::string& problem);
  void FailWith(const std::string& message);  // not about one key
  bool ok() const { return !error_; }
  const std::optional<core::Error>& error() const { return error_; }

 private:
  std::optional<std::int64_t> WholeFrom(const nlohmann::json& value, std::string_view key,
                                        Range range);

  const nlohmann::json& object_;
  std::string where_;
  std::optional<core::Error> error_;
};

}  // namespace sharewell::graph
