// The memory controllers' counters, by what the kernel lists below
// /sys/bus/event_source/devices.
#include <fmt/format.h>

#include <charconv>

#include "collect/host/scan.h"
#include "collect/host/traffic/traffic.h"
#include "platform/files/text.h"
#include "platform/process/cpu_set.h"

namespace sharewell::collect {
namespace {

constexpr std::string_view kDevices = "/sys/bus/event_source/devices/";
constexpr double kLine = 64;  // bytes
constexpr int kZen1 = 0x17, kZen3 = 0x19;

std::optional<std::uint64_t> AsCode(std::string_view word) {
  const bool hex = word.starts_with("0x");
  if (hex) word.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// The lowest bits of `value` go to the first range, the next to the second, and so on.
std::optional<std::uint64_t> Spread(std::string_view format, std::uint64_t value) {
  constexpr std::string_view kWord = "config:";
  if (!format.starts_with(kWord)) return std::nullopt;
  std::uint64_t out = 0;
  for (const std::string_view range : platform::SplitList(format.substr(kWord.size()), ',')) {
    const auto dash = range.find('-');
    const auto low = AsUnsigned(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : AsUnsigned(range.substr(dash + 1));
    if (!low || !high || *low > *high || *high > 63) return std::nullopt;
    const std::uint64_t width = *high - *low + 1;
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    out |= (value & mask) << *low;
    value = width == 64 ? 0 : value >> width;
  }
  return value == 0 ? std::optional(out) : std::nullopt;
}

// Scale and unit of a named event: bytes of one count.
double BytesOf(HostFiles& files, const std::string& event) {
  const auto scale = files.Line(event + ".scale");
  const auto unit = files.Line(event + ".unit");
  const auto number = scale ? AsNumber(*scale) : std::nullopt;
  return number && unit == "MiB" ? *number * 1024 * 1024 : kLine;
}

class Finder {
 public:
  explicit Finder(HostFiles& files) : files_(files) {}

  void Add(const std::string& device, std::string_view terms, double bytes) {
    const std::string folder = std::string(kDevices) + device;
    const auto type = files_.Number(folder + "/type");
    const auto config = EncodeEvent(files_, device, terms);
    const auto mask = files_.Line(folder + "/cpumask");
    const auto cpus = platform::ParseCpus(mask.value_or("0"));
    if (!type || !config || !cpus || cpus->empty()) return;
    found_.push_back({{static_cast<std::uint32_t>(*type), *config}, *cpus, bytes});
  }
  // As the kernel names it; its terms stand in the file.
  void AddNamed(const std::string& device, const std::string& event) {
    const std::string file = fmt::format("{}{}/events/{}", kDevices, device, event);
    const auto terms = files_.Line(file);
    if (terms) Add(device, *terms, BytesOf(files_, file));
  }
  std::vector<ControllerEvent> Take() { return std::move(found_); }

 private:
  HostFiles& files_;
  std::vector<ControllerEvent> found_;
};

}  // namespace

std::optional<std::uint64_t> EncodeEvent(HostFiles& files, const std::string& device,
                                         std::string_view terms) {
  std::uint64_t config = 0;
  for (const std::string_view term : platform::SplitList(terms, ',')) {
    const auto equals = term.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto format =
        files.Line(fmt::format("{}{}/format/{}", kDevices, device, term.substr(0, equals)));
    const auto value = AsCode(term.substr(equals + 1));
    if (!format || !value) return std::nullopt;
    const auto part = Spread(*format, *value);
    if (!part) return std::nullopt;
    config |= *part;
  }
  return config;
}

std::vector<ControllerEvent> FindControllerEvents(HostFiles& files) {
  const auto devices = files.Names("/sys/bus/event_source/devices");
  Finder intel(files), umc(files), fabric(files);
  Processor processor;
  if (const auto text = files.Read("/proc/cpuinfo")) processor = ParseProcessor(*text);
  for (const std::string& device : devices) {
    if (device.starts_with("uncore_imc") && device.find("free_running") == std::string::npos) {
      for (const char* event : {"cas_count_read", "cas_count_write"}) intel.AddNamed(device, event);
      for (const char* event : {"data_reads", "data_writes"}) intel.AddNamed(device, event);
    }
    // CAS commands for reads and writes: a line each.
    if (device.starts_with("amd_umc")) umc.Add(device, "event=0x0a", kLine);
    // Before Zen 4: requests with data of each of eight channels.
    const bool before_zen4 =
        processor.family == kZen1 ||
        (processor.family == kZen3 &&
         (processor.model < 0x10 || (processor.model >= 0x20 && processor.model < 0x60)));
    if (device == "amd_df" && before_zen4) {
      for (unsigned channel = 0; channel < 8; ++channel) {
        fabric.Add(device, fmt::format("event={:#x},umask=0x38", 0x07 + 0x40 * channel), kLine);
      }
    }
  }
  auto found = intel.Take();
  if (found.empty()) found = umc.Take();
  if (found.empty()) found = fabric.Take();
  return found;
}

}  // namespace sharewell::collect
