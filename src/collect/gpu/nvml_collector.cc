#include "collect/gpu/nvml_collector.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "collect/gpu/gpu_jobs.h"
#include "collect/gpu/nvml/nvml_session.h"
#include "collect/gpu/nvml_gpu.h"
#include "collect/gpu/pcie_sampler.h"
#include "collect/gpu/rates_poller.h"
#include "collect/gpu/xid_watch.h"

namespace sharewell::collect {
namespace {

class NvmlCollector final : public Collector {
 public:
  NvmlCollector(const std::string& library, JobSource* jobs) : session_(library), jobs_(jobs) {}

  std::string_view Name() const override { return "nvml"; }
  std::string_view Describe() const override {
    return "GPU utilisation, memory, power, energy, clocks, heat, errors, and who uses the GPU";
  }
  Health Probe() override { return session_.Describe(); }
  core::Result<void> Collect(std::vector<core::Reading>& out) override;

 private:
  struct PerGpu {
    NvmlGpu gpu;
    GpuJobs jobs;
    int found = 0;  // NvmlSeat::found of what follows
    bool gpm = false;
  };

  void Prepare();
  void ReadPcie(std::vector<core::Reading>& out);

  // The order matters: what holds on to the library goes first.
  NvmlSession session_;
  JobSource* jobs_;
  int prepared_ = 0;  // NvmlSession::opened of what follows
  std::vector<PerGpu> gpus_;
  std::unique_ptr<XidWatch> xids_;
  std::unique_ptr<RatesPoller> rates_;
  std::unique_ptr<PcieSampler> pcie_;
};

void NvmlCollector::Prepare() {
  if (prepared_ == session_.opened()) return;
  prepared_ = session_.opened();
  gpus_ = std::vector<PerGpu>(session_.gpus().size());
  xids_ = std::make_unique<XidWatch>(session_.api());
  rates_ = std::make_unique<RatesPoller>(session_.api());
  pcie_.reset();
}

// Where the GPU has GPM that says more for less.
void NvmlCollector::ReadPcie(std::vector<core::Reading>& out) {
  const nvml::Api& api = session_.api();
  if (api.PcieKilobytes == nullptr) return;
  std::vector<NvmlSeat> without;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const NvmlSeat& seat = session_.gpus()[i];
    if (seat.code != nvml::kSuccess) continue;
    if (std::exchange(gpus_[i].found, seat.found) != seat.found) {
      gpus_[i].gpm = HasGpm(api, seat.handle);
    }
    if (!gpus_[i].gpm) without.push_back(seat);
  }
  if (pcie_ == nullptr && without.empty()) return;
  if (pcie_ == nullptr) pcie_ = std::make_unique<PcieSampler>(api);
  pcie_->Read(without, out);
}

core::Result<void> NvmlCollector::Collect(std::vector<core::Reading>& out) {
  if (auto begun = session_.Begin(); !begun) return begun;
  Prepare();
  const auto now = Pace::Clock::now();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    NvmlSeat& seat = session_.gpus()[i];
    if (seat.code != nvml::kSuccess) continue;
    const NvmlGpu::Round round = gpus_[i].gpu.Read(session_.api(), seat, *rates_, now, out);
    if (round.code != nvml::kSuccess) {
      NvmlSession::Lose(seat, round.code);
    } else {
      gpus_[i].jobs.Read(session_.api(), seat, round, jobs_, out);
    }
  }
  std::string news = xids_->Read(session_.gpus(), out);
  ReadPcie(out);
  rates_->Watch(session_.gpus());
  if (session_.Stopped()) {
    pcie_.reset();
    rates_.reset();
    xids_.reset();
  }
  auto ended = session_.End();
  if (news.empty()) return ended;
  if (!ended) news += "; " + ended.error().message;
  return core::FailedError("{}", news);
}

}  // namespace

std::unique_ptr<Collector> NewNvmlCollector(const std::string& library, JobSource* jobs) {
  return std::make_unique<NvmlCollector>(library, jobs);
}

}  // namespace sharewell::collect
