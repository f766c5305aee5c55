#include "graph/model_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharewell::graph {

core::Result<json::Document> ParseModelJson(std::string_view text, const std::string& name,
                                            std::size_t largest) {
  if (text.size() > largest) {
    return core::UsageError("{}: is {} bytes long; we read up to {} of such a file", name,
                            text.size(), largest);
  }
  auto parsed = json::Document::Parse(text);
  if (parsed) return parsed;
  return core::UsageError("{}: {}; fix it, or write it with a JSON library", name,
                          parsed.error().message);
}

std::int64_t WholeOf(json::Reader& keys, std::initializer_list<std::string_view> names,
                     json::Range range, std::optional<std::int64_t> otherwise) {
  for (const std::string_view name : names) {
    if (keys.Has(name)) return keys.NeedWhole(name, range);
  }
  return otherwise ? *otherwise : keys.NeedWhole(*names.begin(), range);
}

Dims Wholes(json::Reader& keys, std::string_view key, json::Range range, std::size_t count,
            std::optional<std::int64_t> otherwise) {
  const json::Value value = keys.Member(key);
  if (!value.is_list()) return Dims(count, WholeOf(keys, {key}, range, otherwise));
  Dims numbers;
  if (value.size() == count) {
    for (const json::Value item : value.items()) {
      const auto number = keys.WholeOf(key, item, range);
      if (!number) break;
      numbers.push_back(*number);
    }
  } else {
    keys.Fail(key,
              fmt::format("must be one number or a list of {}, not of {}", count, value.size()));
  }
  // Safe to compute with, as what the reader returns in error.
  numbers.resize(count, std::max<std::int64_t>(range.least, 1));
  return numbers;
}

}  // namespace sharewell::graph
