#include "collect/host/memory.h"

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collect/host/files.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"
#include "platform/machine/cpu_topology.h"

namespace sharewell::collect {
namespace {

using KeyedMetric = std::pair<std::string_view, const core::Metric*>;

constexpr std::array kMeminfoKeys = {KeyedMetric{"MemTotal", &kMemoryTotalBytes},
                                     KeyedMetric{"MemFree", &kMemoryFreeBytes},
                                     KeyedMetric{"MemAvailable", &kMemoryAvailableBytes},
                                     KeyedMetric{"Buffers", &kMemoryBuffersBytes},
                                     KeyedMetric{"Cached", &kMemoryCachedBytes},
                                     KeyedMetric{"Dirty", &kMemoryDirtyBytes},
                                     KeyedMetric{"Writeback", &kMemoryWritebackBytes},
                                     KeyedMetric{"Shmem", &kMemorySharedBytes},
                                     KeyedMetric{"SwapTotal", &kSwapTotalBytes},
                                     KeyedMetric{"SwapFree", &kSwapFreeBytes}};

constexpr std::array kVmstatKeys = {KeyedMetric{"pgfault", &kPageFaults},
                                    KeyedMetric{"pgmajfault", &kMajorPageFaults},
                                    KeyedMetric{"oom_kill", &kOomKills}};

constexpr std::array kNumaMeminfoKeys = {KeyedMetric{"MemTotal", &kNumaMemoryTotalBytes},
                                         KeyedMetric{"MemFree", &kNumaMemoryFreeBytes},
                                         KeyedMetric{"FilePages", &kNumaFilePagesBytes}};

constexpr std::array kNumastatKeys = {
    KeyedMetric{"numa_hit", &kNumaHits}, KeyedMetric{"numa_miss", &kNumaMisses},
    KeyedMetric{"local_node", &kNumaLocalPages}, KeyedMetric{"other_node", &kNumaRemotePages}};

// Gives the metrics of a table by their keys, each once: a key that comes twice is passed over.
template <std::size_t kCount>
class KeyedPut {
 public:
  KeyedPut(const std::array<KeyedMetric, kCount>& keys, std::vector<core::Reading>& out,
           std::string_view instance = {})
      : keys_(keys), out_(out), instance_(instance) {}

  void operator()(std::string_view key, double value) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (keys_[i].first != key || given_[i]) continue;
      given_[i] = true;
      Put(out_, *keys_[i].second, value, instance_);
    }
  }

 private:
  const std::array<KeyedMetric, kCount>& keys_;
  std::vector<core::Reading>& out_;
  std::string_view instance_;
  std::array<bool, kCount> given_{};
};

class MemoryCollector final : public Collector {
 public:
  explicit MemoryCollector(const std::string& root) : files_(root) {}

  std::string_view Name() const override { return "memory"; }
  std::string_view Describe() const override {
    return "memory, page cache, dirty pages, swap, page faults";
  }

  Health Probe() override {
    std::optional<double> total;
    const auto text = files_.Read(meminfo_);
    if (!text) {
      return {Health::State::kAbsent, "/proc/meminfo cannot be read: " + ErrorText(files_.error()),
              "mount -t proc proc /proc"};
    }
    ParseMeminfo(*text, [&](std::string_view key, double bytes) {
      if (key == "MemTotal") total = bytes;
    });
    if (!total) return {Health::State::kAbsent, "/proc/meminfo does not say MemTotal", ""};
    return {Health::State::kWorks, fmt::format("{:.1f} GiB", *total / (1024.0 * 1024 * 1024)), ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    if (const auto text = files_.Read(meminfo_)) {
      std::optional<double> total, available;
      KeyedPut put(kMeminfoKeys, out);
      ParseMeminfo(*text, [&](std::string_view key, double bytes) {
        put(key, bytes);
        if (key == "MemTotal") total = bytes;
        if (key == "MemAvailable") available = bytes;
      });
      if (!total) unread.Add("/proc/meminfo", "it does not say MemTotal");
      if (total && available && *available <= *total) {
        Put(out, kMemoryUsedBytes, *total - *available);
      }
    } else {
      unread.Add("/proc/meminfo", files_.error());
    }
    if (const auto text = files_.Read(vmstat_)) {
      KeyedPut put(kVmstatKeys, out);
      ParseKeyedCounts(*text, [&](std::string_view key, std::uint64_t count) {
        put(key, static_cast<double>(count));
      });
    } else {
      unread.Add("/proc/vmstat", files_.error());
    }
    return unread.Outcome();
  }

 private:
  HostFiles files_;
  KeptFile meminfo_{"/proc/meminfo"}, vmstat_{"/proc/vmstat"};
};

class NumaCollector final : public Collector {
 public:
  explicit NumaCollector(const std::string& root) : files_(root) {}

  std::string_view Name() const override { return "numa"; }
  std::string_view Describe() const override {
    return "memory of each NUMA node, pages taken locally and remotely";
  }

  Health Probe() override {
    FindNodes();
    if (nodes_.empty()) {
      return {Health::State::kAbsent,
              "/sys/devices/system/node has no nodes: the kernel was built without NUMA", ""};
    }
    if (nodes_.size() == 1) {
      return {Health::State::kWorks, "1 node: all memory is local here", ""};
    }
    return {Health::State::kWorks, fmt::format("{} nodes", nodes_.size()), ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    // Nodes come and go with memory hotplug (and CXL): looked for again now and then.
    if (rounds_++ % 60 == 0) FindNodes();
    Unread unread;
    if (nodes_.empty()) unread.Add("/sys/devices/system/node", ENOENT);
    for (Node& node : nodes_) {
      if (const auto text = files_.Read(node.meminfo)) {
        KeyedPut put(kNumaMeminfoKeys, out, node.number);
        ParseMeminfo(*text, [&](std::string_view key, double bytes) { put(key, bytes); });
      } else {
        unread.Add(node.meminfo.path(), files_.error());
      }
      if (const auto text = files_.Read(node.numastat)) {
        KeyedPut put(kNumastatKeys, out, node.number);
        ParseKeyedCounts(*text, [&](std::string_view key, std::uint64_t count) {
          put(key, static_cast<double>(count));
        });
      } else {
        unread.Add(node.numastat.path(), files_.error());
      }
    }
    return unread.Outcome();
  }

 private:
  struct Node {
    std::string number;
    KeptFile meminfo, numastat;
  };

  void FindNodes() {
    constexpr std::string_view kFolder = "/sys/devices/system/node";
    nodes_.clear();
    for (const int node : platform::NumaNodes(files_.root())) {
      const std::string folder = fmt::format("{}/node{}", kFolder, node);
      nodes_.push_back(
          {std::to_string(node), KeptFile(folder + "/meminfo"), KeptFile(folder + "/numastat")});
    }
  }

  HostFiles files_;
  std::vector<Node> nodes_;
  int rounds_ = 0;
};

}  // namespace

void ParseMeminfo(std::string_view text,
                  const std::function<void(std::string_view key, double bytes)>& use) {
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    std::string_view rest = line;
    std::string_view key = TakeWord(rest);
    if (key == "Node") {
      TakeWord(rest);
      key = TakeWord(rest);
    }
    if (!key.ends_with(':')) continue;
    key.remove_suffix(1);
    const auto value = TakeUnsigned(rest);
    if (value && TakeWord(rest) == "kB") use(key, static_cast<double>(*value) * 1024);
  }
}

void ParseKeyedCounts(std::string_view text,
                      const std::function<void(std::string_view key, std::uint64_t value)>& use) {
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    const std::string_view key = TakeWord(line);
    const auto value = TakeUnsigned(line);
    if (value) use(key, *value);
  }
}

std::unique_ptr<Collector> NewMemoryCollector(const std::string& root) {
  return std::make_unique<MemoryCollector>(root);
}

std::unique_ptr<Collector> NewNumaCollector(const std::string& root) {
  return std::make_unique<NumaCollector>(root);
}

}  // namespace sharewell::collect
