#include "collect/gpu/nvml/nvml_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "collect/gpu/nvml/nvidia_cards.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::collect {
namespace {

// A driver that is not there is not looked for at every reading: starting the library may load
// kernel modules.
constexpr auto kNvmlTryAgain = std::chrono::seconds(10);

std::string MendDriver(const core::Error& failure) {
  if (failure.message.find("different versions") != std::string::npos) return "reboot";
  return NvidiaCards("/") > 0 ? "apt-get install nvidia-driver && modprobe nvidia" : "";
}

}  // namespace

bool HasGpm(const nvml::Api& api, nvml::Device gpu) {
  nvml::GpmSupport support{.version = 1, .supported = 0};
  return api.GpmSupported != nullptr && api.GpmSupported(gpu, &support) == nvml::kSuccess &&
         support.supported != 0;
}

nvml::Long NvmlNow() { return static_cast<nvml::Long>(platform::UnixMicrosNow()); }

core::Result<void> NvmlSession::Open() {
  const auto now = std::chrono::steady_clock::now();
  if (!failure_.message.empty() && now < next_try_) {
    return tl::unexpected(failure_);
  }
  next_try_ = now + kNvmlTryAgain;
  auto library = NvmlLibrary::Open(path_);
  unsigned count = 0;
  if (library) {
    const int code = (*library)->api().DeviceCount(&count);
    if (code != nvml::kSuccess) {
      library = tl::unexpected(
          core::Error{core::ErrorKind::kAbsent,
                      fmt::format("NVIDIA's driver does not say how many GPUs there are: {}",
                                  NvmlMeaning(code))});
    } else if (count == 0) {
      library = tl::unexpected(
          core::Error{core::ErrorKind::kAbsent,
                      "NVIDIA's driver is there, but no GPU; look at lspci and the kernel's log"});
    }
  }
  if (!library) {
    failure_ = std::move(library).error();
    return tl::unexpected(failure_);
  }
  library_ = std::move(*library);
  failure_ = {};
  ++opened_;
  gpus_.clear();
  for (unsigned i = 0; i < count; ++i) {
    // Lost until it is found: Begin looks for it.
    gpus_.push_back({.index = static_cast<int>(i),
                     .instance = fmt::format("{}", i),
                     .code = nvml::kGpuNotFound});
  }
  return {};
}

core::Result<void> NvmlSession::Begin() {
  if (library_ == nullptr) {
    if (auto opened = Open(); !opened) return opened;
  }
  for (NvmlSeat& seat : gpus_) {
    if (seat.code == nvml::kSuccess) continue;
    seat.code = api().DeviceByIndex(static_cast<unsigned>(seat.index), &seat.handle);
    if (seat.code == nvml::kSuccess) ++seat.found;
  }
  return {};
}

bool NvmlSession::Stopped() const {
  return !gpus_.empty() && std::all_of(gpus_.begin(), gpus_.end(),
                                       [](const NvmlSeat& seat) { return NvmlStopped(seat.code); });
}

core::Result<void> NvmlSession::End() {
  std::string text;
  bool any = false;
  for (const NvmlSeat& seat : gpus_) {
    if (seat.code == nvml::kSuccess) {
      any = true;
      continue;
    }
    text +=
        fmt::format("{}GPU {}: {}", text.empty() ? "" : "; ", seat.index, NvmlMeaning(seat.code));
  }
  if (Stopped()) {
    gpus_.clear();
    library_.reset();
    failure_ = {core::ErrorKind::kAbsent, text};
    next_try_ = std::chrono::steady_clock::now() + kNvmlTryAgain;
  }
  if (text.empty()) return {};
  return tl::unexpected(
      core::Error{any ? core::ErrorKind::kFailed : core::ErrorKind::kAbsent, text});
}

Health NvmlSession::Describe() {
  if (auto begun = Begin(); !begun) {
    return {Health::State::kAbsent, begun.error().message, MendDriver(begun.error())};
  }
  std::vector<std::string> names;
  std::string lost;
  for (const NvmlSeat& seat : gpus_) {
    if (seat.code != nvml::kSuccess) {
      lost += fmt::format("; GPU {} does not answer: {}", seat.index, NvmlMeaning(seat.code));
      continue;
    }
    std::string name = NvmlText(api().Name, seat.handle);
    if (name.empty()) name = "of unknown name";
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const std::string driver = NvmlText(api().DriverVersion);
  Health health;
  health.what =
      fmt::format("{} GPU{}: {}{}{}{}", gpus_.size(), gpus_.size() == 1 ? "" : "s",
                  fmt::join(names, ", "), driver.empty() ? "" : ", driver ", driver, lost);
  health.state = names.empty()  ? Health::State::kAbsent
                 : lost.empty() ? Health::State::kWorks
                                : Health::State::kPartly;
  if (!lost.empty()) health.mend = "dmesg | grep -i xid; nvidia-smi --gpu-reset";
  return health;
}

}  // namespace sharewell::collect
