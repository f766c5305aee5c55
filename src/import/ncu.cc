#include "import/ncu.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/text/quoted.h"
#include "import/kernel_table.h"
#include "import/ncu_value.h"
#include "platform/files/csv_record.h"
#include "platform/files/text.h"

namespace sharewell::imports {
namespace {

using core::Quoted;
using core::Result;
using core::UsageError;
using platform::Trimmed;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr double kLargest = 1e18;  // nothing that is measured; sums of it stay finite
constexpr std::string_view kCommand =
    "ncu --csv --page raw --metrics gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_"
    "sustained_elapsed,... COMMAND > FILE.csv";

struct MissingMetric {
  KernelMetric metric;
  std::string_view words, name;
};
constexpr MissingMetric kWanted[] = {
    {KernelMetric::kSm, "SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {KernelMetric::kMemory, "memory",
     "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {KernelMetric::kL2, "L2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {KernelMetric::kDramReadShare, "DRAM read",
     "dram__bytes_read.sum.pct_of_peak_sustained_elapsed"},
    {KernelMetric::kDramWriteShare, "DRAM write",
     "dram__bytes_write.sum.pct_of_peak_sustained_elapsed"},
};

// A column of the wide layout that speaks of a quantity.
struct MetricColumn {
  std::size_t index;
  std::string metric, unit;
};

class NcuReader {
 public:
  NcuReader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
  }

  Result<core::ProfileRecord> Read(const std::set<KernelMetric>& not_asked) {
    // The first time only to see whether the numbers have decimal commas.
    RETURN_IF_ERROR(Walk());
    looking_ = false;
    RETURN_IF_ERROR(Walk());
    return Record(not_asked);
  }

 private:
  Result<void> Walk() {
    header_.clear();
    std::string_view rest = text_;
    for (line_ = 1; !rest.empty(); ++line_) {
      const auto newline = rest.substr(0, kLongestLine + 1).find('\n');
      if (newline == std::string_view::npos && rest.size() > kLongestLine) {
        return Fail("is longer than 1 MiB; is this the CSV of Nsight Compute?");
      }
      std::string_view line = rest.substr(0, newline);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (auto ok = Line(line, rest.empty()); !ok) return ok;
    }
    if (header_.empty()) return NoTable();
    return EndLaunch();
  }

  bool Split(std::string_view line) {
    return record_.Split(line) == platform::CsvRecord::Fault::kNone;
  }

  Result<void> Line(std::string_view line, bool last) {
    if (line.find("Kernel Name") != std::string_view::npos && Split(line) && TakeHeader(line)) {
      return {};
    }
    if (header_.empty() || line.empty() || line.starts_with("==") ||
        (quoted_ && !line.starts_with('"'))) {
      // What ncu and the program say around the table.
      if (said_.empty() && line.starts_with("==ERROR==")) said_ = line.substr(0, 200);
      return {};
    }
    const bool whole = Split(line);
    if (!whole || record_.fields.size() != header_.size()) {
      if (last) {
        cut_ = true;
        return {};
      }
      if (!whole) return Fail("opens a quote (\") that is not closed");
      return Fail(fmt::format("has {} fields where {} are expected", record_.fields.size(),
                              header_.size()));
    }
    return metric_name_ ? LongRow() : WideRow();
  }

  bool TakeHeader(std::string_view line) {
    const auto find = [this](std::string_view column) -> std::optional<std::size_t> {
      const auto it = std::find(record_.fields.begin(), record_.fields.end(), column);
      if (it == record_.fields.end()) return std::nullopt;
      return static_cast<std::size_t>(it - record_.fields.begin());
    };
    const auto kernel = find("Kernel Name");
    const auto metric_name = find("Metric Name"), metric_value = find("Metric Value");
    const bool wide = std::any_of(
        record_.fields.begin(), record_.fields.end(),
        [](std::string_view field) { return field.find("__") != std::string_view::npos; });
    if (!kernel || (!(metric_name && metric_value) && !wide)) return false;
    header_.assign(record_.fields.begin(), record_.fields.end());
    quoted_ = line.starts_with('"');
    kernel_ = *kernel;
    metric_name_ = metric_value ? metric_name : std::nullopt;
    metric_value_ = metric_value.value_or(0);
    metric_unit_ = find("Metric Unit");
    id_ = find("ID");
    process_ = find("Process ID");
    process_name_ = find("Process Name");
    host_ = find("Host Name");
    capability_ = find("CC");
    device_name_ = find("device__attribute_display_name");
    columns_.clear();
    for (std::size_t i = 0; !metric_name_ && i < header_.size(); ++i) {
      // Some exports write the unit behind the name: "gpu__time_duration.sum [us]".
      std::string_view metric = header_[i], unit;
      const auto bracket = metric.find(" [");
      if (bracket != std::string_view::npos && metric.ends_with(']')) {
        unit = metric.substr(bracket + 2, metric.size() - bracket - 3);
        metric = metric.substr(0, bracket);
      }
      if (FindNcuMetric(metric, unit)) {
        columns_.push_back({i, std::string(metric), std::string(unit)});
      }
    }
    return true;
  }

  std::string_view Field(const std::optional<std::size_t>& column) const {
    return column ? Trimmed(record_.fields[*column]) : std::string_view();
  }

  void TakeFacts() {
    if (looking_) return;
    const auto keep = [](std::string& fact, std::string_view found) {
      if (fact.empty() && !NcuUnknown(found)) fact = found.substr(0, 200);
    };
    if (Field(host_) != "127.0.0.1") keep(host_name_, Field(host_));
    keep(program_, Field(process_name_));
    keep(compute_capability_, Field(capability_));
    keep(device_, Field(device_name_));
    if (metric_name_ && Field(metric_name_) == "device__attribute_display_name") {
      keep(device_, Field(metric_value_));
    }
  }

  Result<void> LongRow() {
    const auto metric = Field(metric_name_);
    if (metric.empty()) return {};  // a rule's advice
    std::string key = fmt::format("{}\n{}\n{}", Field(process_), Field(id_), Field(kernel_));
    const auto unit = Field(metric_unit_);
    const auto found = FindNcuMetric(metric, unit);
    // Without ids a metric that comes again begins the next launch.
    const bool again = !id_ && found && ranks_[Index(found->quantity)] == found->rank;
    if (key != key_ || again || !open_) {
      if (auto ok = EndLaunch(); !ok) return ok;
      key_ = std::move(key);
      BeginLaunch();
    }
    TakeFacts();
    return found ? TakeValue(*found, metric, unit, Field(metric_value_)) : Result<void>();
  }

  Result<void> WideRow() {
    if (id_ && Field(id_).empty() && Field(kernel_).empty()) {  // the row of units
      for (MetricColumn& column : columns_) column.unit = Trimmed(record_.fields[column.index]);
      return {};
    }
    BeginLaunch();
    TakeFacts();
    for (const MetricColumn& column : columns_) {
      const auto found = FindNcuMetric(column.metric, column.unit);
      if (!found) continue;
      const auto value = Trimmed(record_.fields[column.index]);
      if (auto ok = TakeValue(*found, column.metric, column.unit, value); !ok) return ok;
    }
    return EndLaunch();
  }

  static std::size_t Index(NcuQuantity quantity) { return static_cast<std::size_t>(quantity); }

  void BeginLaunch() {
    open_ = true;
    kernel_name_ = Field(kernel_);
    values_.fill(std::nullopt);
    ranks_.fill(-1);
  }

  Result<void> TakeValue(const NcuName& found, std::string_view metric, std::string_view unit,
                         std::string_view text) {
    if (NcuUnknown(text)) return {};
    if (looking_) {
      decimal_comma_ = decimal_comma_ || ShowsDecimalComma(text);
      return {};
    }
    const auto number = NcuNumber(text, decimal_comma_);
    if (!number || *number < 0 || *number > kLargest) {
      return Fail(fmt::format("{}: {} is not a number of at least 0", metric, Quoted(text)));
    }
    const auto scale = NcuScale(KindOf(found.quantity), unit);
    if (!scale) return Fail(fmt::format("{}: the unit {} is not known", metric, Quoted(unit)));
    auto& rank = ranks_[Index(found.quantity)];
    if (rank >= 0 && rank <= found.rank) return {};
    rank = found.rank;
    values_[Index(found.quantity)] = *number * *scale;
    return {};
  }

  Result<void> EndLaunch() {
    if (!std::exchange(open_, false) || looking_) return {};
    if (kernel_name_.empty()) return Fail("a kernel without a name");
    Launch launch;
    if (const auto& time = values_[Index(NcuQuantity::kTime)]) launch.time = core::Seconds(*time);
    for (std::size_t m = 0; m < kKernelMetrics; ++m) {
      launch.values[m] = values_[m];
      const bool share = KindOf(static_cast<NcuQuantity>(m)) == NcuKind::kShare;
      // Sampled counters can show a little more than the peak.
      if (share && launch.values[m]) launch.values[m] = std::min(*launch.values[m], 1.0);
      if (launch.values[m]) known_[m] = true;
    }
    BytesOverTime(launch, KernelMetric::kDramRead, NcuQuantity::kDramReadBytes);
    BytesOverTime(launch, KernelMetric::kDramWrite, NcuQuantity::kDramWriteBytes);
    table_.Add(kernel_name_, launch);
    return {};
  }

  void BytesOverTime(Launch& launch, KernelMetric rate, NcuQuantity bytes) {
    const auto& moved = values_[Index(bytes)];
    if (launch[rate] || !moved || !launch.time || launch.time->value <= 0) return;
    launch[rate] = *moved / launch.time->value;
    known_[static_cast<std::size_t>(rate)] = true;
  }

  Result<core::ProfileRecord> Record(const std::set<KernelMetric>& not_asked) {
    const bool any = std::any_of(known_.begin(), known_.end(), [](bool known) { return known; });
    if (table_.launches() == 0) {
      return UsageError("{}: the table has no kernel; did the program launch one while ncu looked?",
                        name_);
    }
    if (!any && !table_.timed()) {
      return UsageError("{}: has none of the metrics that we take; make it with `{}`", name_,
                        kCommand);
    }
    core::ProfileRecord record;
    const auto fact = [&record](std::string_view what, const std::string& value) {
      if (!value.empty()) record.environment.emplace_back(what, value);
    };
    fact("node", host_name_);
    fact("gpu", device_);
    fact("compute capability", compute_capability_);
    fact("program", program_);
    record.profile.gpu = device_;
    for (const MissingMetric& wanted : kWanted) {
      if (known_[static_cast<std::size_t>(wanted.metric)] || not_asked.contains(wanted.metric)) {
        continue;
      }
      record.notes.push_back(
          fmt::format("no {} share: {} is not in the file", wanted.words, wanted.name));
    }
    if (!table_.timed()) {
      record.notes.emplace_back(
          "no times (gpu__time_duration.sum): every launch counts alike in the means");
    } else if (table_.untimed() > 0) {
      record.notes.push_back(fmt::format("{} of {} launches have no time and weigh nothing",
                                         table_.untimed(), table_.launches()));
    }
    if (!said_.empty()) {
      record.notes.push_back(fmt::format("ncu failed on the way, so kernels may be missing: {}",
                                         Quoted(Trimmed(said_.substr(said_.rfind("==") + 2)))));
    }
    if (cut_) record.notes.emplace_back("the file's last line was cut and is left out");
    if (decimal_comma_) record.notes.emplace_back("numbers were read with decimal commas");
    const std::size_t timed_launches = table_.launches() - table_.untimed();
    record.kernels = std::move(table_).Take();
    record.figures = FiguresOf(record.kernels);
    // How many steps were profiled is not known, so kernels a step are not.
    const core::KernelFigure whole = WholeOf(record.kernels);
    const auto timed = static_cast<double>(timed_launches);
    if (timed > 0) record.profile.kernel_time = whole.time / timed;
    return record;
  }

  Result<void> NoTable() const {
    if (text_.starts_with("NVR") || text_.find('\0') != std::string_view::npos) {
      return UsageError("{}: is a report, not its CSV; write it with `ncu -i {} --csv --page raw`",
                        name_, name_);
    }
    if (!said_.empty()) {
      return UsageError("{}: has no table of kernels, for ncu failed: {}", name_, Quoted(said_));
    }
    return UsageError(
        "{}: has no table of kernels (no header line with \"Kernel Name\"); make it "
        "with `{}`",
        name_, kCommand);
  }

  Result<void> Fail(std::string_view problem) const {
    return UsageError("{}: line {}: {}", name_, line_, problem);
  }

  std::string_view text_;
  const std::string& name_;
  bool looking_ = true, decimal_comma_ = false, cut_ = false;
  std::size_t line_ = 0;
  std::string_view said_;

  platform::CsvRecord record_;
  std::vector<std::string> header_;
  bool quoted_ = false;
  std::size_t kernel_ = 0, metric_value_ = 0;
  std::optional<std::size_t> metric_name_, metric_unit_, id_, process_, process_name_, host_,
      capability_, device_name_;
  std::vector<MetricColumn> columns_;
  std::string host_name_, program_, compute_capability_, device_;

  bool open_ = false;
  std::string key_, kernel_name_;
  std::array<std::optional<double>, kNcuQuantities> values_;
  std::array<int, kNcuQuantities> ranks_{};
  std::array<bool, kKernelMetrics> known_{};
  KernelTable table_;
};

}  // namespace

Result<core::ProfileRecord> ReadNcuText(std::string_view text, const std::string& name,
                                        const std::set<KernelMetric>& not_asked) {
  return NcuReader(text, name).Read(not_asked);
}

}  // namespace sharewell::imports
