#include "collect/host/cpu.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>

#include "collect/host/files.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTick = 0.01;  // USER_HZ is 100 wherever Linux runs
constexpr int kMostCpus = 65536;
// The kernel's idle and iowait may run backwards a little (man 5 proc); by more than this the CPU
// was taken out and put in again.
constexpr double kHeldSeconds = 3;
// Some kernels ask each CPU in turn for its clock, which can take long: those not reached in this
// time have their turn in the next round.
constexpr auto kFrequencyBudget = std::chrono::milliseconds(2);
// /proc/cpuinfo is a page of text for each CPU, and mostly of machines whose clock is fixed.
constexpr auto kCpuinfoEvery = std::chrono::seconds(10);

std::optional<CpuTicks> ParseTicks(std::string_view rest) {
  CpuTicks t;
  for (std::uint64_t* field :
       {&t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq, &t.softirq, &t.steal}) {
    const auto value = TakeUnsigned(rest);
    if (!value) return std::nullopt;
    *field = *value;
  }
  return t;
}

double Ticks(std::uint64_t ticks) { return static_cast<double>(ticks) * kTick; }

constexpr std::array<const core::Metric*, 5> kModes = {
    &kCpuUserSeconds, &kCpuSystemSeconds, &kCpuIdleSeconds, &kCpuIowaitSeconds, &kCpuOtherSeconds};

class CpuCollector final : public Collector {
 public:
  explicit CpuCollector(const std::string& root) : files_(root) {}

  std::string_view Name() const override { return "cpu"; }
  std::string_view Describe() const override {
    return "time of each CPU by mode, clock frequency, load";
  }
  Health Probe() override;
  core::Result<void> Collect(std::vector<core::Reading>& out) override;

 private:
  void PutTimes(std::vector<core::Reading>& out);
  void PutFrequencies(std::vector<core::Reading>& out);
  std::optional<std::uint64_t> Kilohertz(int cpu);

  HostFiles files_;
  KeptFile stat_file_{"/proc/stat"}, load_file_{"/proc/loadavg"};
  CpuStat stat_;
  std::map<int, std::array<double, 5>> shown_;  // by CPU: what was given last
  std::optional<CpuTicks> before_;
  std::size_t next_frequency_ = 0;
  bool no_cpufreq_ = false;
  std::optional<Clock::time_point> cpuinfo_read_;
};

double Busy(const CpuTicks& t) {
  return Ticks(t.user) + Ticks(t.nice) + Ticks(t.system) + Ticks(t.irq) + Ticks(t.softirq);
}

Health CpuCollector::Probe() {
  const auto text = files_.Read(stat_file_);
  if (!text) {
    return {Health::State::kAbsent, "/proc/stat cannot be read: " + ErrorText(files_.error()),
            "mount -t proc proc /proc"};
  }
  ParseStat(*text, stat_);
  if (!stat_.all) {
    return {Health::State::kAbsent, "/proc/stat is not as this program knows it", ""};
  }
  const int first = stat_.cpus.empty() ? 0 : stat_.cpus.front().first;
  std::string frequency;
  if (Kilohertz(first)) {
    frequency = "clock frequency by cpufreq";
  } else if (const auto info = files_.Read("/proc/cpuinfo");
             info && !ParseCpuinfoHertz(*info).empty()) {
    frequency = "clock frequency by /proc/cpuinfo, every 10 s";
  }
  if (frequency.empty()) {
    return {Health::State::kPartly,
            fmt::format("{} CPUs; no clock frequency: the kernel has no cpufreq driver, as in most "
                        "virtual machines",
                        stat_.cpus.size()),
            ""};
  }
  return {Health::State::kWorks, fmt::format("{} CPUs; {}", stat_.cpus.size(), frequency), ""};
}

void CpuCollector::PutTimes(std::vector<core::Reading>& out) {
  for (const auto& [cpu, t] : stat_.cpus) {
    const std::array<double, 5> now = {
        Ticks(t.user), Ticks(t.system), Ticks(t.idle), Ticks(t.iowait),
        Ticks(t.nice) + Ticks(t.irq) + Ticks(t.softirq) + Ticks(t.steal)};
    const auto [it, is_new] = shown_.try_emplace(cpu, now);
    const std::string name = std::to_string(cpu);
    for (std::size_t mode = 0; mode < now.size(); ++mode) {
      double& last = it->second[mode];
      if (is_new || now[mode] > last || now[mode] < last - kHeldSeconds) last = now[mode];
      Put(out, *kModes[mode], last, name);
    }
  }
  if (!stat_.all) return;
  const CpuTicks& all = *stat_.all;
  Put(out, kCpuBusySeconds, Busy(all));
  Put(out, kCpuStealSeconds, Ticks(all.steal));
  Put(out, kCpuCount, static_cast<double>(stat_.cpus.size()));
  if (before_) {
    const auto total = [](const CpuTicks& t) {
      return Busy(t) + Ticks(t.idle) + Ticks(t.iowait) + Ticks(t.steal);
    };
    const double busy = Busy(all) - Busy(*before_), time = total(all) - total(*before_);
    if (time > 0 && busy >= 0) Put(out, kCpuBusyRatio, std::min(1.0, busy / time));
  }
  before_ = all;
}

std::optional<std::uint64_t> CpuCollector::Kilohertz(int cpu) {
  return files_.Number(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu));
}

void CpuCollector::PutFrequencies(std::vector<core::Reading>& out) {
  const auto begin = Clock::now();
  const std::size_t count = stat_.cpus.size();
  if (!no_cpufreq_) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int cpu = stat_.cpus[next_frequency_ % count].first;
      next_frequency_ = (next_frequency_ + 1) % count;
      if (const auto kilohertz = Kilohertz(cpu); kilohertz && *kilohertz > 0) {
        Put(out, kCpuFrequencyHertz, static_cast<double>(*kilohertz) * 1e3, std::to_string(cpu));
        ++found;
      }
      if (Clock::now() - begin > kFrequencyBudget) return;
    }
    no_cpufreq_ = found == 0;
  }
  if (!no_cpufreq_ || (cpuinfo_read_ && begin - *cpuinfo_read_ < kCpuinfoEvery)) return;
  cpuinfo_read_ = begin;
  if (const auto text = files_.Read("/proc/cpuinfo")) {
    for (const auto& [cpu, hertz] : ParseCpuinfoHertz(*text)) {
      Put(out, kCpuFrequencyHertz, hertz, std::to_string(cpu));
    }
  }
}

core::Result<void> CpuCollector::Collect(std::vector<core::Reading>& out) {
  Unread unread;
  if (const auto text = files_.Read(stat_file_)) {
    ParseStat(*text, stat_);
    PutTimes(out);
    if (stat_.context_switches) {
      Put(out, kContextSwitches, static_cast<double>(*stat_.context_switches));
    }
    if (stat_.running) Put(out, kTasksRunning, static_cast<double>(*stat_.running));
    if (stat_.blocked) Put(out, kTasksBlocked, static_cast<double>(*stat_.blocked));
    if (!stat_.all) unread.Add("/proc/stat", "it is not as this program knows it");
    PutFrequencies(out);
  } else {
    unread.Add("/proc/stat", files_.error());
  }
  if (const auto text = files_.Read(load_file_)) {
    if (const auto load = ParseLoadAverage(*text)) {
      Put(out, kLoad1, load->one);
      Put(out, kLoad5, load->five);
      Put(out, kLoad15, load->fifteen);
    } else {
      unread.Add("/proc/loadavg", "it is not as this program knows it");
    }
  } else {
    unread.Add("/proc/loadavg", files_.error());
  }
  return unread.Outcome();
}

}  // namespace

void ParseStat(std::string_view text, CpuStat& stat) {
  stat.all.reset();
  stat.cpus.clear();
  stat.context_switches.reset();
  stat.running.reset();
  stat.blocked.reset();
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (line.starts_with("cpu")) {
      std::string_view rest = line.substr(3);
      const bool all = rest.starts_with(' ');
      const auto number = all ? std::optional<std::uint64_t>(0) : TakeUnsigned(rest);
      const auto ticks = ParseTicks(rest);
      if (!number || *number >= kMostCpus || !ticks) continue;
      if (all) {
        stat.all = ticks;
      } else if (stat.cpus.empty() || stat.cpus.back().first < static_cast<int>(*number)) {
        stat.cpus.emplace_back(static_cast<int>(*number), *ticks);
      }
    } else if (auto switches = AfterKey(line, "ctxt")) {
      stat.context_switches = TakeUnsigned(*switches);
    } else if (auto running = AfterKey(line, "procs_running")) {
      stat.running = TakeUnsigned(*running);
    } else if (auto blocked = AfterKey(line, "procs_blocked")) {
      stat.blocked = TakeUnsigned(*blocked);
    }
  }
}

std::optional<LoadAverage> ParseLoadAverage(std::string_view text) {
  const auto one = AsNumber(TakeWord(text)), five = AsNumber(TakeWord(text)),
             fifteen = AsNumber(TakeWord(text));
  if (!one || !five || !fifteen || *one < 0 || *five < 0 || *fifteen < 0) return std::nullopt;
  return LoadAverage{*one, *five, *fifteen};
}

std::vector<std::pair<int, double>> ParseCpuinfoHertz(std::string_view text) {
  std::vector<std::pair<int, double>> found;
  std::uint64_t cpu = kMostCpus;  // of the lines that follow
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (auto number = AfterKey(line, "processor")) {
      cpu = TakeUnsigned(*number).value_or(kMostCpus);
    } else if (auto megahertz = AfterKey(line, "cpu MHz"); megahertz && cpu < kMostCpus) {
      const auto value = AsNumber(TakeWord(*megahertz));
      if (value && *value > 0 && *value < 1e6) {
        found.emplace_back(static_cast<int>(cpu), *value * 1e6);
      }
      cpu = kMostCpus;
    }
  }
  return found;
}

std::unique_ptr<Collector> NewCpuCollector(const std::string& root) {
  return std::make_unique<CpuCollector>(root);
}

}  // namespace sharewell::collect
