#include "collect/host/network.h"

#include <string>

#include "collect/host/files.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

constexpr std::size_t kMostDevices = 256;

// A container's end of a wire to the host: there are as many as containers, and what goes through
// them goes through the real device too. A device that never carried a packet says nothing.
bool IsLeftOut(const NetworkCounts& device) {
  return device.name.starts_with("veth") ||
         (device.receive_packets == 0 && device.transmit_packets == 0);
}

class NetworkCollector final : public Collector {
 public:
  explicit NetworkCollector(const std::string& root) : files_(root) {}

  std::string_view Name() const override { return "network"; }
  std::string_view Describe() const override {
    return "bytes, packets, errors and drops of each network device";
  }

  Health Probe() override {
    const auto text = files_.Read(dev_);
    if (!text) {
      return {Health::State::kAbsent, "/proc/net/dev cannot be read: " + ErrorText(files_.error()),
              "mount -t proc proc /proc"};
    }
    ParseNetDev(*text, devices_);
    std::string names;
    for (const NetworkCounts& device : devices_) {
      if (!IsLeftOut(device) && names.size() < 100) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", device.name);
      }
    }
    return {Health::State::kWorks, names.empty() ? "no device has carried a packet yet" : names,
            ""};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    const auto text = files_.Read(dev_);
    if (!text) {
      unread.Add("/proc/net/dev", files_.error());
      return unread.Outcome();
    }
    ParseNetDev(*text, devices_);
    std::size_t given = 0;
    for (const NetworkCounts& d : devices_) {
      if (IsLeftOut(d)) continue;
      if (++given > kMostDevices) {
        unread.Add("/proc/net/dev",
                   fmt::format("only its first {} devices are read", kMostDevices));
        break;
      }
      const auto put = [&](const core::Metric& metric, std::uint64_t value) {
        Put(out, metric, static_cast<double>(value), d.name);
      };
      put(kNetworkReceiveBytes, d.receive_bytes);
      put(kNetworkTransmitBytes, d.transmit_bytes);
      put(kNetworkReceivePackets, d.receive_packets);
      put(kNetworkTransmitPackets, d.transmit_packets);
      put(kNetworkReceiveErrors, d.receive_errors);
      put(kNetworkTransmitErrors, d.transmit_errors);
      put(kNetworkReceiveDrops, d.receive_drops);
      put(kNetworkTransmitDrops, d.transmit_drops);
    }
    return unread.Outcome();
  }

 private:
  HostFiles files_;
  KeptFile dev_{"/proc/net/dev"};
  std::vector<NetworkCounts> devices_;
};

}  // namespace

void ParseNetDev(std::string_view text, std::vector<NetworkCounts>& devices) {
  devices.clear();
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    // A number may stand right behind the colon; an alias has a colon of its own ("eth0:1").
    const auto colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;  // the two lines of headings
    std::string_view before = line.substr(0, colon), rest = line.substr(colon + 1);
    NetworkCounts d;
    d.name = TakeWord(before);
    std::uint64_t other = 0;
    bool good = !d.name.empty();
    for (std::uint64_t* field :
         {&d.receive_bytes, &d.receive_packets, &d.receive_errors, &d.receive_drops, &other, &other,
          &other, &other, &d.transmit_bytes, &d.transmit_packets, &d.transmit_errors,
          &d.transmit_drops}) {
      const auto value = TakeUnsigned(rest);
      if (!value) {
        good = false;
        break;
      }
      *field = *value;
    }
    if (good) devices.push_back(d);
  }
}

std::unique_ptr<Collector> NewNetworkCollector(const std::string& root) {
  return std::make_unique<NetworkCollector>(root);
}

}  // namespace sharewell::collect
