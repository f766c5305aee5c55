#include "import/kineto.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/text/quoted.h"
#include "import/kineto_trace.h"
#include "json/text_scan.h"
#include "json/value.h"
#include "json/walk.h"

namespace sharewell::imports {
namespace {

using core::Result;
using core::UsageError;

constexpr std::size_t kWindow = std::size_t{2} << 20;
constexpr std::size_t kLargestEvent = std::size_t{256} << 20;
// As nanoseconds an int64, and so is the difference of two; now is 1.8e15 since 1970.
constexpr double kMostMicroseconds = 4e15;

enum class Category { kOther, kKernel, kCopy, kFill, kCall, kCpuOp, kAnnotation };

// With the names of before 2022.
Category CategoryOf(std::string_view name) {
  if (name == "kernel" || name == "Kernel") return Category::kKernel;
  if (name == "cpu_op" || name == "Operator") return Category::kCpuOp;
  if (name == "cuda_runtime" || name == "cuda_driver" || name == "Runtime") return Category::kCall;
  if (name == "gpu_memcpy" || name == "Memcpy") return Category::kCopy;
  if (name == "gpu_memset" || name == "Memset") return Category::kFill;
  if (name == "user_annotation") return Category::kAnnotation;
  return Category::kOther;
}

struct Event {
  Category category = Category::kOther;
  std::string_view name;
  std::optional<double> begin, duration;  // microseconds
  std::optional<double> device, correlation, bytes, occupancy, blocks;
};

// A figure of the wrong kind ("N/A", null) is not known.
bool ReadArgument(json::Field& field, Event& event) {
  const std::string_view key = field.key();
  if (key == "device") {
    event.device = field.Number();
  } else if (key == "correlation") {
    event.correlation = field.Number();
  } else if (key == "bytes") {
    event.bytes = field.Number();
  } else if (key == "est. achieved occupancy %") {
    event.occupancy = field.Number();
  } else if (key == "blocks per SM") {
    event.blocks = field.Number();
  }
  return true;
}

// Stops early at a category that nothing is taken from: the rest is skipped.
bool ReadMember(json::Field& field, Event& event) {
  const std::string_view key = field.key();
  if (key == "cat") {
    event.category = CategoryOf(field.Text().value_or(""));
    return event.category != Category::kOther && event.category != Category::kCpuOp;
  }
  if (key == "name") {
    event.name = field.Text().value_or("");
  } else if (key == "ts") {
    event.begin = field.Number();
  } else if (key == "dur") {
    event.duration = field.Number();
  } else if (key == "args") {
    field.Members([&](json::Field& argument) { return ReadArgument(argument, event); });
  }
  return true;
}

// Where the last "}, {" of the text stands between the two, as far as its characters tell: it may
// lie in a string or in an event, which parsing finds out. 0: there is none.
std::size_t LikelyBoundary(std::string_view text) {
  const auto before = [&](std::size_t at) {
    return at == 0 ? at : text.find_last_not_of(" \n\r\t", at - 1);
  };
  for (std::size_t open = text.rfind('{'); open != std::string_view::npos && open > 0;
       open = text.rfind('{', open - 1)) {
    const std::size_t comma = before(open);
    if (comma == std::string_view::npos || text[comma] != ',') continue;
    const std::size_t close = before(comma);
    if (close != std::string_view::npos && text[close] == '}') return close + 1;
  }
  return 0;
}

class KinetoReader {
 public:
  KinetoReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<core::ProfileRecord> Read() {
    if (text_.starts_with("\x1f\x8b")) {
      return UsageError("{}: is compressed; unpack it first: gunzip -k {}", name_, name_);
    }
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    json::TextScan scan(text_);
    if (scan.Peek() != '{' && scan.Peek() != '[') {
      return UsageError(
          "{}: is no trace: JSON with \"traceEvents\" is expected, as "
          "prof.export_chrome_trace(\"{}\") writes it",
          name_, name_);
    }
    bool found = true;
    if (scan.Take('[')) {
      Events(scan.at());
    } else if (auto has = Document(scan); has) {
      found = *has;
    } else {
      return tl::unexpected(has.error());
    }
    return found ? Record() : NoTrace();
  }

 private:
  // Whether it has "traceEvents".
  Result<bool> Document(json::TextScan scan) {
    scan.Take('{');
    bool found = false;
    while (!scan.Take('}')) {
      std::string_view key, value;
      if (!scan.SkipString(key)) return Ended(scan, found, scan.Peek() == '"');
      if (!scan.Take(':')) return Ended(scan, found);
      if (key == "traceEvents" && scan.Peek() == '[') {
        found = true;
        scan.Take('[');
        scan = json::TextScan(text_, Events(scan.at()));
        if (trace_.cut) break;
      } else if (!scan.SkipValue(value)) {
        return Ended(scan, found, true);
      } else if (value.empty()) {
        return Ended(scan, found);
      } else {
        TakeFact(key, value);
      }
      if (!scan.Take(',') && scan.Peek() != '}') return Ended(scan, found);
    }
    return found;
  }

  // The text ends here, or is no JSON from here on.
  Result<bool> Ended(json::TextScan& scan, bool found, bool cut = false) {
    cut = cut || scan.Peek() == '\0';
    if (!cut && !found) {
      return UsageError("{}: line {}: is no JSON: {}", name_, LineOf(scan.at()),
                        core::Quoted(text_.substr(scan.at(), 20)));
    }
    trace_.cut = true;
    return found;
  }

  void TakeFact(std::string_view key, std::string_view value) {
    if (key == "deviceProperties") {
      json::TextScan list(value);
      std::string_view device;
      if (!list.Take('[') || !list.SkipValue(device)) return;
      const auto parsed = json::Document::Parse(device);
      if (const auto gpu = json::RootOf(parsed)["name"].Text()) trace_.gpu = gpu->substr(0, 200);
    } else if ((key == "cuda_runtime_version" || key == "cuda_driver_version") &&
               value.size() < 32) {
      trace_.facts.emplace_back(key == "cuda_runtime_version" ? "cuda runtime" : "cuda driver",
                                value);
    }
  }

  // Reads the array whose first event is at or behind `at`; where it goes on behind the array.
  std::size_t Events(std::size_t at) {
    while (true) {
      json::TextScan scan(text_, at);
      scan.Take(',');
      if (scan.Take(']')) return scan.at();
      if (scan.Peek() == '\0') break;
      at = scan.at();
      const std::string_view rest = text_.substr(at, kWindow);
      const std::size_t size = LikelyBoundary(rest);
      std::size_t handled = 0;
      if (size > 0 && Window(rest.substr(0, size), handled)) {
        at += size;
        continue;
      }
      // The last event, a huge one, a boundary that was none, or no JSON: one by one.
      if (!OneByOne(at, size > 0 ? size : rest.size(), handled)) break;
    }
    trace_.cut = true;
    return text_.size();
  }

  // Events separated by commas; false when one of them could not be read, `handled` were before it.
  bool Window(std::string_view events, std::size_t& handled) {
    Event event;
    return walker_.Objects(
        events, [&](json::Field& field) { return ReadMember(field, event); },
        [&] {
          Take(event);
          event = {};
          ++handled;
        });
  }

  // Takes events from `at` on, without the first `handled`, until at least `size` bytes are behind;
  // moves `at`. False when the text ends inside one.
  bool OneByOne(std::size_t& at, std::size_t size, std::size_t handled) {
    const std::size_t until = at + size;
    while (at < until) {
      json::TextScan scan(text_, at);
      scan.Take(',');
      if (scan.Peek() == ']') return true;
      std::string_view value;
      if (!scan.SkipValue(value)) return false;
      if (handled > 0) {
        --handled;
      } else {
        TakeOne(value, scan.at());
      }
      // A stray bracket, or a number: no event ends in nothing.
      at = value.empty() ? scan.at() + 1 : scan.at();
    }
    return true;
  }

  void TakeOne(std::string_view value, std::size_t end) {
    Event event;
    if (value.starts_with('{') && value.size() < kLargestEvent &&
        walker_.Object(value, [&](json::Field& field) { return ReadMember(field, event); })) {
      Take(event);
      return;
    }
    if (trace_.broken++ == 0) trace_.broken_line = LineOf(end - value.size());
  }

  void Take(const Event& event) {
    ++trace_.events;
    if (event.category == Category::kCpuOp) ++trace_.cpu_ops;
    if (event.category == Category::kOther || event.category == Category::kCpuOp) return;
    if (!event.begin || std::abs(*event.begin) > kMostMicroseconds || !event.duration ||
        *event.duration < 0 || *event.duration > kMostMicroseconds / 10) {
      return;
    }
    TraceSpan span;
    span.begin = std::llround(*event.begin * 1000);
    span.end = span.begin + std::llround(*event.duration * 1000);
    if (event.category == Category::kAnnotation) {
      if (!event.name.starts_with("ProfilerStep#")) return;
      trace_.steps.push_back(span);
    } else if (event.category == Category::kCall) {
      TakeCall(event, span);
    } else {
      TakeGpu(event, span);
    }
    trace_.Extend(span);
  }

  static std::int64_t CorrelationOf(const Event& event) {
    const double id = event.correlation.value_or(-1);
    return id >= 0 && id < kMostMicroseconds ? static_cast<std::int64_t>(id) : -1;
  }

  void TakeCall(const Event& event, TraceSpan span) {
    const bool launches = event.name.find("Launch") != std::string_view::npos ||
                          event.name.find("Mem") != std::string_view::npos;
    const std::int64_t correlation = CorrelationOf(event);
    if (launches && correlation >= 0) trace_.launches.emplace_back(correlation, span.begin);
  }

  void TakeGpu(const Event& event, TraceSpan span) {
    const double device = event.device.value_or(0);
    TraceActivity& activity = trace_.activities.emplace_back();
    activity.span = span;
    activity.correlation = CorrelationOf(event);
    activity.device = device >= 0 && device < 4096 ? static_cast<int>(device) : 0;
    activity.kernel = event.category == Category::kKernel;
    const double seconds = static_cast<double>(span.end - span.begin) * 1e-9;
    if (event.category == Category::kCopy) TakeCopy(event, seconds);
    if (!activity.kernel) return;
    Launch launch;
    launch.time = core::Seconds(seconds);
    if (event.occupancy && *event.occupancy >= 0) {
      launch[KernelMetric::kOccupancy] = std::min(*event.occupancy / 100, 1.0);
    }
    trace_.kernels.Add(event.name, launch);
    if (event.blocks && *event.blocks >= 0) {
      trace_.blocks_weighted += std::min(*event.blocks, 1e9) * seconds;
      trace_.covered_weighted += std::min(*event.blocks, 1.0) * seconds;
      trace_.blocks_seconds += seconds;
    }
  }

  void TakeCopy(const Event& event, double seconds) {
    std::size_t direction = 0;
    while (direction + 1 < kCopyDirections.size() &&
           event.name.find(kCopyDirections[direction]) == std::string_view::npos) {
      ++direction;
    }
    TraceCopies& copies = trace_.copies[direction];
    ++copies.copies;
    if (!event.bytes || *event.bytes < 0 || *event.bytes > 1e18) return;
    copies.bytes += *event.bytes;
    copies.seconds += seconds;
    if (seconds > 0) copies.rates.push_back(*event.bytes / seconds);
  }

  Result<core::ProfileRecord> NoTrace() const {
    return UsageError(
        "{}: has no \"traceEvents\"{}; prof.export_chrome_trace(\"{}\") writes a "
        "trace with them",
        name_, trace_.cut ? " before it ends" : "", name_);
  }

  Result<core::ProfileRecord> Record() {
    if (trace_.events == 0) {
      if (trace_.broken > 0) {
        return UsageError(
            "{}: line {}: is no JSON, and nor is any other event; was the file "
            "damaged?",
            name_, trace_.broken_line);
      }
      return UsageError("{}: \"traceEvents\" is empty{}; did the profiler run while the loop did?",
                        name_, trace_.cut ? " where the file ends" : "");
    }
    if (!trace_.any) {
      return UsageError(
          "{}: has {} events, but none of a GPU, of CUDA calls or of the profiler's "
          "steps; profile with activities=[ProfilerActivity.CPU, "
          "ProfilerActivity.CUDA]",
          name_, trace_.events);
    }
    core::ProfileRecord record = RecordOf(std::move(trace_));
    if (record.kernels.empty()) record.notes.emplace_back("the trace has no kernels of a GPU");
    return record;
  }

  std::size_t LineOf(std::size_t at) const {
    return static_cast<std::size_t>(
               std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
  }

  std::string_view text_;
  const std::string& name_;
  json::Walker walker_;
  KinetoTrace trace_;
};

}  // namespace

Result<core::ProfileRecord> ReadKinetoText(std::string_view text, const std::string& name) {
  return KinetoReader(text, name).Read();
}

}  // namespace sharewell::imports
