// One table of a TOML file, read strictly: the first error sticks, with file, line and key.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::catalogue {

inline constexpr std::size_t kLargestToml = std::size_t{1} << 20;

// Parses and hands the root table on; what TOML itself refuses is a usage error. An empty file is
// one too, and one of more than `most` bytes.
core::Result<toml::table> ParseToml(std::string_view text, const std::string& name,
                                    std::size_t most = kLargestToml);

class TomlTable {
 public:
  // `where` stands in messages: "[[runs]]". All must outlive it.
  TomlTable(const toml::table& table, const std::string& file, std::string where,
            std::optional<core::Error>& error)
      : table_(table), file_(file), where_(std::move(where)), error_(error) {}

  bool Has(const char* key) const { return table_.get(key) != nullptr; }
  void AllowOnly(const std::vector<std::string>& keys);
  std::optional<std::int64_t> Integer(const char* key, std::int64_t least, std::int64_t most);
  std::optional<double> Positive(const char* key, double most);
  // Seconds above 0, or the word: absent value inside.
  std::optional<std::optional<core::Seconds>> SecondsOr(const char* key, const char* word,
                                                        double most);
  std::optional<core::Seconds> Time(const char* key, double least, double most);
  std::optional<std::string> Text(const char* key);  // not empty
  std::optional<bool> Flag(const char* key);
  std::optional<std::vector<std::string>> Texts(const char* key, std::size_t most);
  // A text or whole number as text.
  std::optional<std::string> TextOrNumber(const char* key);
  const toml::table* Table(const char* key);
  const toml::array* Array(const char* key);

  void Fail(const char* key, const std::string& problem);
  void FailAt(const toml::node& node, const std::string& problem);
  void FailLine(toml::source_index line, const std::string& problem);
  const std::string& file() const { return file_; }
  std::optional<core::Error>& error() { return error_; }
  const toml::table& table() const { return table_; }
  // Keys in the order of the file, which toml++ does not keep.
  std::vector<std::pair<std::string, const toml::node*>> InOrder() const;

 private:
  const toml::table& table_;
  const std::string& file_;
  std::string where_;
  std::optional<core::Error>& error_;
};

}  // namespace sharewell::catalogue
