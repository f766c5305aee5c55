#include "catalogue/toml_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/files/text.h"

namespace sharewell::catalogue {
namespace {

using core::Quoted;

std::string NotThis(const std::optional<std::int64_t>& value) {
  return value ? fmt::format(", not {}", *value) : std::string();
}

}  // namespace

core::Result<toml::table> ParseToml(std::string_view text, const std::string& name,
                                    std::size_t most) {
  if (text.size() > most) {
    return core::UsageError("{}: is larger than {} MiB, which no such file is", name, most >> 20);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return core::UsageError("{}: is empty", name);
  }
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return core::UsageError("{}: line {}: not TOML: {}", name, error.source().begin.line,
                            error.description());
  } catch (const std::exception& error) {
    return core::FailedError("{}: cannot be read: {}", name, error.what());
  }
}

void TomlTable::AllowOnly(const std::vector<std::string>& keys) {
  for (const auto& [key, node] : InOrder()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    FailAt(*node, fmt::format("unknown key {} in {}; the keys are {}{}", Quoted(key), where_,
                              fmt::join(keys, ", "), core::DidYouMean(key, keys)));
  }
}

std::optional<std::int64_t> TomlTable::Integer(const char* key, std::int64_t least,
                                               std::int64_t most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= least && *value <= most) return value;
  FailAt(*node, fmt::format("{} must be a whole number from {} to {}{}", key, least, most,
                            NotThis(value)));
  return std::nullopt;
}

std::optional<double> TomlTable::Positive(const char* key, double most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (value && std::isfinite(*value) && *value > 0 && *value <= most) return value;
  FailAt(*node, fmt::format("{} must be a number above 0 and at most {}{}", key, most,
                            value ? fmt::format(", not {}", *value) : std::string()));
  return std::nullopt;
}

std::optional<core::Seconds> TomlTable::Time(const char* key, double least, double most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (value && *value >= least && *value <= most) return core::Seconds(*value);
  FailAt(*node, fmt::format("{} must be a number of seconds from {} to {}", key, least, most));
  return std::nullopt;
}

std::optional<std::optional<core::Seconds>> TomlTable::SecondsOr(const char* key, const char* word,
                                                                 double most) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto text = node->value_exact<std::string>(); text && *text == word) {
    return std::optional<core::Seconds>();
  }
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (value && *value >= 0.1 && *value <= most) return std::optional(core::Seconds(*value));
  FailAt(*node,
         fmt::format("{} must be \"{}\" or a number of seconds from 0.1 to {}", key, word, most));
  return std::nullopt;
}

std::optional<std::string> TomlTable::Text(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  auto value = node->value_exact<std::string>();
  if (value && !platform::Trimmed(*value).empty()) return value;
  FailAt(*node, fmt::format("{} must be a text in quotes, not empty", key));
  return std::nullopt;
}

std::optional<bool> TomlTable::Flag(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  auto value = node->value_exact<bool>();
  if (!value) FailAt(*node, fmt::format("{} must be true or false", key));
  return value;
}

std::optional<std::string> TomlTable::TextOrNumber(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto number = node->value_exact<std::int64_t>()) return fmt::format("{}", *number);
  return Text(key);
}

std::optional<std::vector<std::string>> TomlTable::Texts(const char* key, std::size_t most) {
  const toml::array* list = Array(key);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> out;
  for (const toml::node& entry : *list) {
    auto text = entry.value_exact<std::string>();
    if (!text || out.size() == most || text->find('\0') != std::string::npos) {
      FailAt(entry,
             fmt::format("{} must be a list of at most {} texts: [\"python3\", \"train.py\"]", key,
                         most));
      return std::nullopt;
    }
    out.push_back(*std::move(text));
  }
  return out;
}

const toml::table* TomlTable::Table(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) FailAt(*node, fmt::format("{} must be a table: write [{}]", key, key));
  return node->as_table();
}

const toml::array* TomlTable::Array(const char* key) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_array()) FailAt(*node, fmt::format("{} must be a list: [ ... ]", key));
  return node->as_array();
}

void TomlTable::Fail(const char* key, const std::string& problem) {
  const toml::node* node = table_.get(key);
  FailLine(node != nullptr ? node->source().begin.line : table_.source().begin.line, problem);
}

void TomlTable::FailAt(const toml::node& node, const std::string& problem) {
  FailLine(node.source().begin.line, problem);
}

void TomlTable::FailLine(toml::source_index line, const std::string& problem) {
  if (error_) return;
  error_ = core::Error{core::ErrorKind::kUsage,
                       fmt::format("{}: line {}: {}", file_, std::max<unsigned>(1, line), problem)};
}

std::vector<std::pair<std::string, const toml::node*>> TomlTable::InOrder() const {
  struct Entry {
    toml::source_position at;
    std::string key;
    const toml::node* node;
  };
  std::vector<Entry> entries;
  for (const auto& [key, node] : table_) {
    entries.push_back({key.source().begin, std::string(key.str()), &node});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  std::vector<std::pair<std::string, const toml::node*>> out;
  out.reserve(entries.size());
  for (Entry& entry : entries) out.emplace_back(std::move(entry.key), entry.node);
  return out;
}

}  // namespace sharewell::catalogue
