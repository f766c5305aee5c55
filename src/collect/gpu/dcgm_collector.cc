#include "collect/gpu/dcgm_collector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <stop_token>
#include <thread>
#include <utility>

#include "collect/gpu/nvml/nvml_session.h"
#include "collect/metrics/gpu_metrics.h"
#include "platform/mutex.h"

namespace sharewell::collect {
namespace {

// Looks at the engine as often as it has something new, and keeps the means until they are taken.
class DcgmPoller {
 public:
  DcgmPoller(DcgmEngine::Options options, std::vector<DcgmEngine::Gpu> gpus)
      : options_(std::move(options)),
        gpus_(std::move(gpus)),
        thread_([this](const std::stop_token& stop) { Run(stop); }) {}

  // The means since the last call, and how the last look went.
  core::Result<void> Take(std::vector<core::Reading>& out) {
    const platform::MutexLock lock(mutex_);
    for (const auto& [series, sum] : std::exchange(sums_, {})) {
      out.push_back({series.second, series.first, {}, sum.total / sum.values});
      if (series.second == &kGpuSm) {
        out.push_back({&kGpuActivitySource, series.first, {}, kActivityByDcgm});
      }
    }
    return last_;
  }

  const std::vector<DcgmEngine::Gpu>& gpus() const { return gpus_; }

 private:
  struct Sum {
    double total = 0;
    int values = 0;
  };

  void Run(const std::stop_token& stop) {
    DcgmEngine engine(options_, gpus_);
    platform::MutexLock lock(mutex_);
    while (!stop.stop_requested()) {
      lock.unlock();
      std::vector<core::Reading> values;
      auto looked = engine.Look(DcgmEngine::Clock::now(), values);
      lock.lock();
      last_ = std::move(looked);
      for (const core::Reading& value : values) {
        Sum& sum = sums_[{value.instance, value.metric}];
        sum.total += value.value;
        ++sum.values;
      }
      wake_.wait_for(lock, stop, std::chrono::duration<double>(DcgmEngine::kInterval.value),
                     [] { return false; });
    }
  }

  const DcgmEngine::Options options_;
  const std::vector<DcgmEngine::Gpu> gpus_;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::pair<std::string, const core::Metric*>, Sum> sums_ SHAREWELL_GUARDED_BY(mutex_);
  core::Result<void> last_ SHAREWELL_GUARDED_BY(mutex_);
  std::jthread thread_;  // the last: it uses the others
};

std::string MendDcgm(int code) {
  switch (code) {
    case dcgm::kNoPermission:
    case dcgm::kRequiresRoot:
    case dcgm::kModuleNotLoaded:
      return "sudo systemctl restart nvidia-dcgm";
    case dcgm::kPaused:
      return "dcgmi profile --resume";
    default:
      return "";
  }
}

Health DcgmNotReached(const DcgmEngine::Options& dcgm, const core::Error& error) {
  if (!DcgmLibrary::Open(dcgm.library)) {
    return {Health::State::kAbsent, error.message, "sudo apt-get install datacenter-gpu-manager"};
  }
  const std::string mend = "sudo systemctl start nvidia-dcgm";
  if (dcgm.start == DcgmConnection::Start::kNever) {
    return {Health::State::kAbsent, error.message, mend};
  }
  return {Health::State::kPartly,
          "DCGM's service does not run here; an engine inside the agent counts in its place", mend};
}

class DcgmCollector final : public Collector {
 public:
  DcgmCollector(const std::string& nvml_library, DcgmEngine::Options dcgm)
      : nvml_library_(nvml_library), dcgm_(std::move(dcgm)), session_(nvml_library) {}

  std::string_view Name() const override { return "dcgm"; }
  std::string_view Describe() const override {
    return "SM, occupancy, tensor, DRAM and pipe activity, PCIe and NVLink (before Hopper)";
  }
  Health Probe() override;
  core::Result<void> Collect(std::vector<core::Reading>& out) override;
  core::Seconds Floor() const override { return DcgmEngine::kInterval; }

 private:
  struct PerGpu {
    int found = 0;  // NvmlSeat::found of what follows
    bool gpm = false;
    std::string uuid;
  };

  // Those that have no GPM and answer now.
  std::vector<DcgmEngine::Gpu> Wanted();

  std::string nvml_library_;
  DcgmEngine::Options dcgm_;
  NvmlSession session_;
  int prepared_ = 0;  // NvmlSession::opened of what follows
  std::vector<PerGpu> gpus_;
  std::unique_ptr<DcgmPoller> poller_;
};

std::vector<DcgmEngine::Gpu> DcgmCollector::Wanted() {
  if (std::exchange(prepared_, session_.opened()) != session_.opened()) gpus_.clear();
  gpus_.resize(session_.gpus().size());
  std::vector<DcgmEngine::Gpu> wanted;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const NvmlSeat& seat = session_.gpus()[i];
    PerGpu& gpu = gpus_[i];
    if (seat.code != nvml::kSuccess) continue;
    if (std::exchange(gpu.found, seat.found) != seat.found) {
      gpu.gpm = HasGpm(session_.api(), seat.handle);
      gpu.uuid = NvmlText(session_.api().Uuid, seat.handle);
    }
    if (!gpu.gpm && !gpu.uuid.empty()) wanted.push_back({seat.instance, gpu.uuid});
  }
  return wanted;
}

core::Result<void> DcgmCollector::Collect(std::vector<core::Reading>& out) {
  if (auto begun = session_.Begin(); !begun) return begun;
  auto wanted = Wanted();
  auto ended = session_.End();
  if (wanted.empty()) {
    poller_.reset();
    return ended;
  }
  if (poller_ == nullptr || poller_->gpus() != wanted) {
    poller_.reset();  // before the next: the counters are one program's
    // A library that is not there is said at once, not after the thread has looked.
    RETURN_IF_ERROR(DcgmLibrary::Open(dcgm_.library));
    poller_ = std::make_unique<DcgmPoller>(dcgm_, std::move(wanted));
  }
  auto taken = poller_->Take(out);
  return taken ? std::move(ended) : std::move(taken);
}

Health DcgmCollector::Probe() {
  const auto gpus = FindGpus(nvml_library_);
  if (!gpus) return session_.Describe();
  const auto standing = ProbeDcgm(dcgm_, *gpus);
  if (standing.empty()) {
    return {Health::State::kWorks, "not needed: GPM says the same of every GPU here", ""};
  }
  std::size_t works = 0;
  const Health* worst = nullptr;
  for (const auto& [index, health] : standing) {
    works += health.state == Health::State::kWorks ? 1 : 0;
    if (health.state != Health::State::kWorks && worst == nullptr) worst = &health;
  }
  if (worst == nullptr) {
    return {Health::State::kWorks,
            fmt::format("counts on {} without GPM", works == 1 ? "the GPU" : "the GPUs"), ""};
  }
  if (works == 0) return *worst;
  return {
      Health::State::kPartly,
      fmt::format("counts on {} of {} GPUs without GPM: {}", works, standing.size(), worst->what),
      worst->mend};
}

}  // namespace

DcgmEngine::Options DcgmHere(const std::string& library) {
  return {library,
          ::geteuid() == 0 ? DcgmConnection::Start::kWhereNeeded : DcgmConnection::Start::kNever};
}

std::unique_ptr<Collector> NewDcgmCollector(const std::string& nvml_library,
                                            DcgmEngine::Options dcgm) {
  return std::make_unique<DcgmCollector>(nvml_library, std::move(dcgm));
}

std::map<int, Health> ProbeDcgm(const DcgmEngine::Options& dcgm,
                                const std::vector<GpuFacts>& gpus) {
  std::map<int, Health> standing;
  std::vector<DcgmEngine::Gpu> without;
  std::vector<int> indices;
  for (const GpuFacts& gpu : gpus) {
    if (gpu.gpm || gpu.uuid.empty()) continue;
    without.push_back({fmt::format("{}", gpu.index), gpu.uuid});
    indices.push_back(gpu.index);
  }
  if (without.empty()) return standing;
  DcgmEngine engine({dcgm.library, DcgmConnection::Start::kNever}, without);
  std::vector<core::Reading> readings;
  const auto looked = engine.Look(DcgmEngine::Clock::now(), readings);
  if (!engine.connected()) {
    const Health health = DcgmNotReached(dcgm, looked.error());
    for (const int index : indices) standing.emplace(index, health);
    return standing;
  }
  const std::vector<int> codes = engine.Codes();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool works = codes[i] == dcgm::kOk;
    standing.emplace(indices[i], Health{works ? Health::State::kWorks : Health::State::kAbsent,
                                        works ? "counted by DCGM" : DcgmMeaning(codes[i]),
                                        works ? "" : MendDcgm(codes[i])});
  }
  return standing;
}

}  // namespace sharewell::collect
