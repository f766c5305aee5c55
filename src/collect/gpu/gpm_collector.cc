#include "collect/gpu/gpm_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "collect/gpu/nvml/mig.h"
#include "collect/gpu/nvml/nvml_session.h"
#include "collect/metrics/gpu_metrics.h"

namespace sharewell::collect {
namespace {

constexpr double kGpmPercent = 0.01;
constexpr double kGpmMebibytes = 1024 * 1024;

struct GpmFigure {
  unsigned id;  // NVML's
  const core::Metric* metric;
  double scale;
};

constexpr std::array kGpmFigures{
    GpmFigure{1, &kGpuGraphics, kGpmPercent},
    GpmFigure{2, &kGpuSm, kGpmPercent},
    GpmFigure{3, &kGpuOccupancy, kGpmPercent},
    GpmFigure{4, &kGpuInteger, kGpmPercent},
    GpmFigure{5, &kGpuTensor, kGpmPercent},
    GpmFigure{10, &kGpuDram, kGpmPercent},
    GpmFigure{11, &kGpuFp64, kGpmPercent},
    GpmFigure{12, &kGpuFp32, kGpmPercent},
    GpmFigure{13, &kGpuFp16, kGpmPercent},
    GpmFigure{20, &kGpuGpmPcieSent, kGpmMebibytes},
    GpmFigure{21, &kGpuGpmPcieReceived, kGpmMebibytes},
    GpmFigure{60, &kGpuNvlinkReceived, kGpmMebibytes},
    GpmFigure{61, &kGpuNvlinkSent, kGpmMebibytes},
};

// Two samples of one GPU or MIG instance; the figures are the difference of the two.
class GpmPair {
 public:
  explicit GpmPair(const nvml::Api& api) : api_(&api) {
    for (nvml::GpmSample& sample : samples_) {
      if (api.NewGpmSample(&sample) != nvml::kSuccess) sample = nullptr;
    }
  }
  GpmPair(GpmPair&& other) noexcept
      : api_(other.api_),
        samples_(std::exchange(other.samples_, {})),
        taken_(std::exchange(other.taken_, 0)) {}
  GpmPair& operator=(GpmPair&&) = delete;
  ~GpmPair() {
    for (nvml::GpmSample sample : samples_) {
      if (sample != nullptr) api_->FreeGpmSample(sample);
    }
  }

  // Where the next sample goes; null where the driver gave none.
  nvml::GpmSample Next() const { return samples_[1]; }
  void Taken() {
    std::swap(samples_[0], samples_[1]);
    taken_ = std::min(taken_ + 1, 2);
  }
  bool Ready() const { return taken_ == 2; }
  nvml::GpmSample before() const { return samples_[1]; }
  nvml::GpmSample after() const { return samples_[0]; }

 private:
  const nvml::Api* api_;
  std::array<nvml::GpmSample, 2> samples_{};
  int taken_ = 0;
};

class GpmCollector final : public Collector {
 public:
  explicit GpmCollector(const std::string& library) : session_(library) {}

  std::string_view Name() const override { return "gpm"; }
  std::string_view Describe() const override {
    return "SM, occupancy, tensor, DRAM and pipe activity, PCIe and NVLink (Hopper and later)";
  }
  Health Probe() override;
  core::Result<void> Collect(std::vector<core::Reading>& out) override;
  core::Seconds Floor() const override { return core::Seconds(0.1); }

 private:
  struct PerGpu {
    int found = 0;  // NvmlSeat::found of what follows
    bool supported = false;
    int refused = 0;                       // why the last sample of the whole GPU was not to be had
    std::map<std::string, GpmPair> pairs;  // by instance
  };

  bool Prepare();
  // The code of the GPU's own sample: that of a MIG instance is the instance's matter.
  int ReadGpu(const NvmlSeat& seat, PerGpu& gpu, std::vector<core::Reading>& out);
  int ReadPair(const std::string& instance, GpmPair& pair, std::vector<core::Reading>& out);

  NvmlSession session_;
  int prepared_ = 0;
  std::vector<PerGpu> gpus_;
  nvml::GpmRequest request_{};
};

// False: the driver has no GPM at all.
bool GpmCollector::Prepare() {
  const nvml::Api& api = session_.api();
  if (api.NewGpmSample == nullptr || api.FreeGpmSample == nullptr || api.TakeGpm == nullptr ||
      api.GpmMetrics == nullptr || api.GpmSupported == nullptr) {
    return false;
  }
  if (prepared_ != session_.opened()) {
    prepared_ = session_.opened();
    gpus_.clear();
    gpus_.resize(session_.gpus().size());
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const NvmlSeat& seat = session_.gpus()[i];
    if (seat.code != nvml::kSuccess || gpus_[i].found == seat.found) continue;
    gpus_[i].found = seat.found;
    gpus_[i].pairs.clear();
    gpus_[i].supported = HasGpm(api, seat.handle);
  }
  return true;
}

int GpmCollector::ReadPair(const std::string& instance, GpmPair& pair,
                           std::vector<core::Reading>& out) {
  pair.Taken();
  if (!pair.Ready()) return nvml::kSuccess;
  request_.version = 1;
  request_.count = kGpmFigures.size();
  request_.before = pair.before();
  request_.after = pair.after();
  for (std::size_t i = 0; i < kGpmFigures.size(); ++i) {
    request_.metrics[i] = {};
    request_.metrics[i].id = kGpmFigures[i].id;
    request_.metrics[i].code = nvml::kNotSupported;
  }
  const int code = session_.api().GpmMetrics(&request_);
  if (code != nvml::kSuccess) return code;
  const std::size_t before = out.size();
  for (std::size_t i = 0; i < kGpmFigures.size(); ++i) {
    const nvml::GpmMetric& metric = request_.metrics[i];
    if (metric.code != nvml::kSuccess || !std::isfinite(metric.value) || metric.value < 0) continue;
    out.push_back({kGpmFigures[i].metric, instance, {}, metric.value * kGpmFigures[i].scale});
  }
  if (out.size() > before) out.push_back({&kGpuActivitySource, instance, {}, kActivityByGpm});
  return nvml::kSuccess;
}

int GpmCollector::ReadGpu(const NvmlSeat& seat, PerGpu& gpu, std::vector<core::Reading>& out) {
  const nvml::Api& api = session_.api();
  const auto pair_of = [&](const std::string& instance) -> GpmPair& {
    return gpu.pairs.try_emplace(instance, api).first->second;
  };
  GpmPair& whole = pair_of(seat.instance);
  int code = whole.Next() == nullptr ? int{nvml::kUnknown} : api.TakeGpm(seat.handle, whole.Next());
  if (code == nvml::kSuccess) code = ReadPair(seat.instance, whole, out);
  if (GpuGone(code) || NvmlStopped(code)) return code;

  const std::vector<MigInstance> migs =
      api.TakeMigGpm == nullptr ? std::vector<MigInstance>() : MigInstances(api, seat.handle);
  std::map<std::string, unsigned> names;
  for (const MigInstance& mig : migs) names.emplace(MigName(seat.instance, mig.id), mig.id);
  std::erase_if(gpu.pairs, [&](const auto& entry) {
    return entry.first != seat.instance && !names.contains(entry.first);
  });
  bool any = false;
  for (const auto& [name, id] : names) {
    GpmPair& pair = pair_of(name);
    any =
        (pair.Next() != nullptr && api.TakeMigGpm(seat.handle, id, pair.Next()) == nvml::kSuccess &&
         ReadPair(name, pair, out) == nvml::kSuccess) ||
        any;
  }
  // A GPU that is cut into instances may speak through them alone.
  return any ? int{nvml::kSuccess} : code;
}

core::Result<void> GpmCollector::Collect(std::vector<core::Reading>& out) {
  if (auto begun = session_.Begin(); !begun) return begun;
  if (!Prepare()) {
    return tl::unexpected(core::Error{core::ErrorKind::kAbsent,
                                      "the driver has no GPM; it came with driver 520: update it"});
  }
  std::string refused;
  bool supported = false;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    NvmlSeat& seat = session_.gpus()[i];
    if (seat.code != nvml::kSuccess || !gpus_[i].supported) continue;
    supported = true;
    const std::size_t before = out.size();
    const int code = gpus_[i].refused = ReadGpu(seat, gpus_[i], out);
    if (code == nvml::kSuccess) continue;
    out.resize(before);
    if (GpuGone(code) || NvmlStopped(code)) {
      gpus_[i].pairs.clear();
      NvmlSession::Lose(seat, code);
    } else {
      refused += fmt::format("{}GPU {}: its performance monitor does not answer: {}",
                             refused.empty() ? "" : "; ", seat.index, NvmlMeaning(code));
    }
  }
  if (session_.Stopped()) gpus_.clear();  // their samples are the library's
  auto ended = session_.End();
  if (!ended) return ended;
  if (!supported) {
    return tl::unexpected(core::Error{
        core::ErrorKind::kAbsent,
        "no GPU here has a performance monitor that NVML can read: it takes Hopper or later"});
  }
  if (!refused.empty()) return core::FailedError("{}", refused);
  return {};
}

Health GpmCollector::Probe() {
  Health health = session_.Describe();
  if (health.state == Health::State::kAbsent) return health;
  if (!Prepare()) {
    return {Health::State::kAbsent, "the driver has no GPM; it came with driver 520", ""};
  }
  std::size_t with = 0;
  int refused = 0;
  for (const PerGpu& gpu : gpus_) {
    with += gpu.supported ? 1 : 0;
    if (gpu.refused != nvml::kSuccess) refused = gpu.refused;
  }
  if (with == 0) {
    return {Health::State::kAbsent,
            fmt::format("no GPM: it takes a Hopper GPU or later ({})", health.what), ""};
  }
  if (refused == nvml::kNoPermission) {
    return {Health::State::kAbsent, "the driver lets only administrators read performance counters",
            "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee "
            "/etc/modprobe.d/nvidia-profiling.conf, then reboot; or run as root"};
  }
  if (with < gpus_.size()) {
    health.state = Health::State::kPartly;
    health.what = fmt::format("{} of {} GPUs have GPM ({})", with, gpus_.size(), health.what);
  }
  return health;
}

}  // namespace

std::unique_ptr<Collector> NewGpmCollector(const std::string& library) {
  return std::make_unique<GpmCollector>(library);
}

}  // namespace sharewell::collect
