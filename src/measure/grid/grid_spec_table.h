// What the TOML specs of sweep and colocate have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalogue/toml_table.h"
#include "measure/grid/grid_spec.h"

namespace sharewell::measure {

// seconds, warmup, interval, at_most, repeat, throughput, progress_regex, rate_regex: what of them
// is given replaces that of `measuring`.
void ReadMeasuring(catalogue::TomlTable& table, Measuring& measuring);
const std::vector<std::string>& MeasuringKeys();

// environment = { NAME = "text" }: appended, a name that is there already replaced.
void ReadEnvironment(catalogue::TomlTable& table,
                     std::vector<std::pair<std::string, std::string>>& environment);

// workload = "name", or a table of name, batch, precision, workers.
void ReadWorkload(catalogue::TomlTable& table, WorkloadTemplate& workload);

// A name that may become that of a file or folder.
bool IsPlainName(std::string_view name);

// A text, number or flag of TOML as an axis value; absent: something else, or longer than a command
// could hold.
std::optional<AxisValue> ToAxisValue(const toml::node& node);

}  // namespace sharewell::measure
