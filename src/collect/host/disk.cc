#include "collect/host/disk.h"

#include <map>
#include <string>

#include "collect/host/files.h"
#include "collect/host/rising.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

constexpr double kSector = 512;  // whatever the device's own is
constexpr std::size_t kMostDisks = 1024;
// The kernel's milliseconds are 32 bits wide: they wrap after 50 days of work.
constexpr std::uint64_t kMillisecondsWrap = std::uint64_t{1} << 32;

class DiskCollector final : public Collector {
 public:
  explicit DiskCollector(const std::string& root) : files_(root) {}

  std::string_view Name() const override { return "disk"; }
  std::string_view Describe() const override {
    return "bytes, operations and busy time of each disk";
  }

  Health Probe() override {
    if (!ReadDisks()) {
      return {Health::State::kAbsent,
              "/proc/diskstats cannot be read: " + ErrorText(files_.error()),
              "mount -t proc proc /proc"};
    }
    std::string names;
    for (const auto& [name, disk] : disks_) {
      if (disk.whole) names += (names.empty() ? "" : ", ") + name;
    }
    if (names.empty()) return {Health::State::kAbsent, "there is no disk", ""};
    if (names.size() > 100) names = names.substr(0, names.rfind(',', 100)) + ", ...";
    return {Health::State::kWorks, names, ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    if (!ReadDisks()) {
      unread.Add("/proc/diskstats", files_.error());
      return unread.Outcome();
    }
    for (const DiskCounts& d : counts_) {
      const auto it = disks_.find(d.name);
      if (it == disks_.end() || !it->second.whole) continue;
      Disk& disk = it->second;
      const auto milliseconds = [](Rising& total, std::uint64_t value) {
        return total.From(value, kMillisecondsWrap) / 1000;
      };
      Put(out, kDiskReadBytes, static_cast<double>(d.read_sectors) * kSector, d.name);
      Put(out, kDiskWrittenBytes, static_cast<double>(d.written_sectors) * kSector, d.name);
      Put(out, kDiskReads, static_cast<double>(d.reads), d.name);
      Put(out, kDiskWrites, static_cast<double>(d.writes), d.name);
      Put(out, kDiskReadSeconds, milliseconds(disk.read, d.read_ms), d.name);
      Put(out, kDiskWriteSeconds, milliseconds(disk.write, d.write_ms), d.name);
      Put(out, kDiskBusySeconds, milliseconds(disk.busy, d.busy_ms), d.name);
      Put(out, kDiskInFlight, static_cast<double>(d.in_flight), d.name);
    }
    return {};
  }

 private:
  struct Disk {
    bool whole = false;
    std::uint64_t round = 0;  // when it was last there
    Rising read, write, busy;
  };

  bool ReadDisks() {
    const auto text = files_.Read(diskstats_);
    if (!text) return false;
    text_.assign(*text);  // the names point into it while /sys/block is looked at
    ParseDiskstats(text_, counts_);
    ++round_;
    for (const DiskCounts& counts : counts_) {
      auto it = disks_.find(counts.name);
      if (it == disks_.end()) {
        if (disks_.size() >= kMostDisks) continue;
        it = disks_.emplace(std::string(counts.name), Disk()).first;
        it->second.whole = IsWhole(counts.name);
      }
      it->second.round = round_;
    }
    std::erase_if(disks_, [this](const auto& disk) { return disk.second.round != round_; });
    return true;
  }

  // Partitions have no folder in /sys/block; ram disks and loops are no disks.
  bool IsWhole(std::string_view name) {
    for (const std::string_view skipped : {"loop", "ram", "zram", "fd"}) {
      if (name.starts_with(skipped)) return false;
    }
    return files_.Exists(fmt::format("/sys/block/{}", name));
  }

  HostFiles files_;
  KeptFile diskstats_{"/proc/diskstats"};
  std::string text_;
  std::vector<DiskCounts> counts_;
  std::map<std::string, Disk, std::less<>> disks_;
  std::uint64_t round_ = 0;
};

}  // namespace

void ParseDiskstats(std::string_view text, std::vector<DiskCounts>& disks) {
  disks.clear();
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    TakeWord(line);
    TakeWord(line);
    DiskCounts d;
    d.name = TakeWord(line);
    std::uint64_t merged = 0;
    bool good = !d.name.empty() && d.name.find('/') == std::string_view::npos && d.name != "..";
    for (std::uint64_t* field : {&d.reads, &merged, &d.read_sectors, &d.read_ms, &d.writes, &merged,
                                 &d.written_sectors, &d.write_ms, &d.in_flight, &d.busy_ms}) {
      const auto value = TakeUnsigned(line);
      if (!value) {
        good = false;
        break;
      }
      *field = *value;
    }
    if (good) disks.push_back(d);
  }
}

std::unique_ptr<Collector> NewDiskCollector(const std::string& root) {
  return std::make_unique<DiskCollector>(root);
}

}  // namespace sharewell::collect
