// One table of a TOML file, read strictly: the first error sticks, with file, line and key. For the
// specs of sweep and colocate.
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
#include "study/measure/grid/grid_spec.h"

namespace sharewell::study {

inline constexpr std::size_t kLargestSpec = std::size_t{1} << 20;

// Parses and hands the root table on; what TOML itself refuses is a usage error.
core::Result<toml::table> ParseSpec(std::string_view text, const std::string& name);

class SpecTable {
 public:
  // `where` stands in messages: "[[runs]]". All must outlive it.
  SpecTable(const toml::table& table, const std::string& file, std::string where,
            std::optional<core::Error>& error)
      : table_(table), file_(file), where_(std::move(where)), error_(error) {}

  bool Has(const char* key) const { return table_.get(key) != nullptr; }
  void AllowOnly(const std::vector<std::string>& keys);
  std::optional<std::int64_t> Integer(const char* key, std::int64_t least, std::int64_t most);
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

// seconds, warmup, interval, at_most, repeat, throughput, progress_regex, rate_regex: what of them
// is given replaces that of `measuring`.
void ReadMeasuring(SpecTable& table, Measuring& measuring);
const std::vector<std::string>& MeasuringKeys();

// environment = { NAME = "text" }: appended, a name that is there already replaced.
void ReadEnvironment(SpecTable& table,
                     std::vector<std::pair<std::string, std::string>>& environment);

// workload = "name", or a table of name, batch, precision, workers.
void ReadWorkload(SpecTable& table, WorkloadTemplate& workload);

// A name that may become that of a file or folder.
bool IsPlainName(std::string_view name);

// A text, number or flag of TOML as an axis value; absent: something else, or longer than a command
// could hold.
std::optional<AxisValue> ToAxisValue(const toml::node& node);

}  // namespace sharewell::study
