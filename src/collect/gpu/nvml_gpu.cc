#include "collect/gpu/nvml_gpu.h"

#include <array>
#include <chrono>
#include <utility>

#include "collect/gpu/nvml/mig.h"
#include "collect/metrics/gpu_metrics.h"

namespace sharewell::collect {
namespace {

constexpr double kNvmlPercent = 100;

double FieldAsDouble(const nvml::Value& value, int type) {
  switch (type) {
    case nvml::kDouble:
      return value.of_double;
    case nvml::kUnsigned:
      return value.of_unsigned;
    case nvml::kUnsignedLong:
      return static_cast<double>(value.of_long);
    case nvml::kUnsignedLongLong:
      return static_cast<double>(value.of_long_long);
    case nvml::kSignedLongLong:
      return static_cast<double>(value.of_signed_long_long);
    case nvml::kSigned:
      return value.of_int;
    default:
      return -1;
  }
}

// Without what the driver reserves, where it tells that apart (driver 510 and later).
std::optional<nvml::MemoryV2> MigMemory(const nvml::Api& api, nvml::Device device) {
  nvml::MemoryV2 memory{
      .version = nvml::kMemoryV2, .total = 0, .reserved = 0, .free = 0, .used = 0};
  if (api.MemoryInfoV2 != nullptr && api.MemoryInfoV2(device, &memory) == nvml::kSuccess) {
    return memory;
  }
  nvml::Memory old{};
  if (api.MemoryInfo == nullptr || api.MemoryInfo(device, &old) != nvml::kSuccess) return {};
  memory = {.version = 0, .total = old.total, .reserved = 0, .free = old.free, .used = old.used};
  return memory;
}

}  // namespace

template <class Function, class... Arguments>
bool NvmlGpu::Ask(int figure, Function* function, Arguments... arguments) {
  const auto slot = static_cast<std::size_t>(figure);
  if (round_.code != nvml::kSuccess || function == nullptr || missing_[slot]) return false;
  const int code = function(seat_->handle, arguments...);
  if (code == nvml::kSuccess) return true;
  if (NeverThere(code)) missing_.set(slot);
  if (GpuGone(code) || NvmlStopped(code)) round_.code = code;
  return false;
}

void NvmlGpu::Put(const core::Metric& metric, double value) {
  out_->push_back({&metric, seat_->instance, {}, value});
}

void NvmlGpu::Paced(Group& group, void (NvmlGpu::*read)()) {
  if (group.pace.Due(round_.time)) {
    group.kept.clear();
    std::vector<core::Reading>* const out = std::exchange(out_, &group.kept);
    const auto begin = Pace::Clock::now();
    (this->*read)();
    group.pace.Took(round_.time, Pace::Clock::now() - begin);
    out_ = out;
  }
  out_->insert(out_->end(), group.kept.begin(), group.kept.end());
}

NvmlGpu::Round NvmlGpu::Read(const nvml::Api& api, const NvmlSeat& seat, RatesPoller& poller,
                             Pace::Clock::time_point now, std::vector<core::Reading>& out) {
  if (found_ != seat.found) *this = NvmlGpu();
  found_ = seat.found;
  api_ = &api;
  seat_ = &seat;
  out_ = &out;
  round_ = {};
  round_.time = now;
  const std::size_t before = out.size();
  ReadMemory();
  if (const auto rates = poller.Take(seat)) {
    Put(kGpuBusy, rates->gpu);
    Put(kGpuMemoryBusy, rates->memory);
    round_.busy = rates->gpu;
  }
  ReadPower();
  ReadClocks();
  ReadVideo();
  Paced(groups_[kHeat], &NvmlGpu::ReadMemoryHeat);
  Paced(groups_[kThrottle], &NvmlGpu::ReadThrottle);
  Paced(groups_[kErrors], &NvmlGpu::ReadErrors);
  Paced(groups_[kMigs], &NvmlGpu::ReadMigs);
  if (round_.code != nvml::kSuccess) out.resize(before);
  return round_;
}

void NvmlGpu::ReadMemory() {
  nvml::MemoryV2 memory{
      .version = nvml::kMemoryV2, .total = 0, .reserved = 0, .free = 0, .used = 0};
  nvml::Memory old{};
  if (Ask(kMemoryNew, api_->MemoryInfoV2, &memory)) {
    Put(kGpuMemoryUsed, static_cast<double>(memory.used));
    Put(kGpuMemoryTotal, static_cast<double>(memory.total));
    Put(kGpuMemoryReserved, static_cast<double>(memory.reserved));
  } else if (Ask(kMemoryOld, api_->MemoryInfo, &old)) {
    Put(kGpuMemoryUsed, static_cast<double>(old.used));
    Put(kGpuMemoryTotal, static_cast<double>(old.total));
  }
}

void NvmlGpu::ReadPower() {
  unsigned milliwatts = 0;
  const bool power = Ask(kPower, api_->Power, &milliwatts);
  if (power) Put(kGpuPower, milliwatts / 1000.0);
  // Without power nothing carries the counter on, so that it is read every time.
  if (!power || !energy_at_ || energy_pace_.Due(round_.time)) {
    nvml::Long millijoules = 0;
    const auto begin = Pace::Clock::now();
    if (Ask(kEnergy, api_->Energy, &millijoules)) {
      energy_.Read(static_cast<double>(millijoules) / 1000);
      energy_at_ = round_.time;
    }
    energy_pace_.Took(round_.time, Pace::Clock::now() - begin);
  } else {
    const std::chrono::duration<double> since = round_.time - *energy_at_;
    energy_.Carry(milliwatts / 1000.0, since.count());
    energy_at_ = round_.time;
  }
  round_.joules = energy_.value();
  if (round_.joules) Put(kGpuEnergy, *round_.joules);
  unsigned celsius = 0;
  if (Ask(kTemperature, api_->Temperature, 0, &celsius)) Put(kGpuTemperature, celsius);
}

void NvmlGpu::ReadMemoryHeat() {
  nvml::FieldValue field{};
  field.field = nvml::kMemoryTemperatureField;
  if (!Ask(kFields, api_->Fields, 1, &field)) return;
  if (NeverThere(field.code)) missing_.set(kFields);
  const double value = FieldAsDouble(field.value, field.type);
  // 0 is what cards without such a sensor answer.
  if (field.code == nvml::kSuccess && value > 0) Put(kGpuMemoryTemperature, value);
}

void NvmlGpu::ReadClocks() {
  unsigned megahertz = 0;
  if (Ask(kSmClock, api_->ClockMhz, int{nvml::kSmClock}, &megahertz)) {
    Put(kGpuSmClock, megahertz * 1e6);
  }
  if (Ask(kMemoryClock, api_->ClockMhz, int{nvml::kMemoryClock}, &megahertz)) {
    Put(kGpuMemoryClock, megahertz * 1e6);
  }
  nvml::Long reasons = 0;
  if (Ask(kReasons, api_->ThrottleReasons, &reasons)) {
    Put(kGpuThrottleReasons, static_cast<double>(reasons));
  }
}

void NvmlGpu::ReadThrottle() {
  struct Throttle {
    nvml::Policy policy;
    const core::Metric* metric;
  };
  static constexpr std::array<Throttle, 5> kThrottles{
      {{nvml::kPower, &kGpuThrottledPower},
       {nvml::kThermal, &kGpuThrottledThermal},
       {nvml::kSyncBoost, &kGpuThrottledSync},
       {nvml::kBoard, &kGpuThrottledBoard},
       {nvml::kReliability, &kGpuThrottledReliability}}};
  int figure = kViolations;
  for (const Throttle& throttle : kThrottles) {
    nvml::Violation violation{};
    if (Ask(figure++, api_->Violations, int{throttle.policy}, &violation)) {
      Put(*throttle.metric, static_cast<double>(violation.nanoseconds) / 1e9);
    }
  }
}

void NvmlGpu::ReadErrors() {
  unsigned replays = 0;
  if (Ask(kReplays, api_->PcieReplays, &replays)) Put(kGpuPcieReplays, replays);
  nvml::Long errors = 0;
  constexpr int kSinceLoaded = 0;
  if (Ask(kEccCorrected, api_->EccErrors, int{nvml::kCorrected}, kSinceLoaded, &errors)) {
    Put(kGpuEccCorrected, static_cast<double>(errors));
  }
  if (Ask(kEccUncorrected, api_->EccErrors, int{nvml::kUncorrected}, kSinceLoaded, &errors)) {
    Put(kGpuEccUncorrected, static_cast<double>(errors));
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (Ask(kRows, api_->RemappedRows, &corrected, &uncorrected, &pending, &failed)) {
    Put(kGpuRemappedRowsCorrected, corrected);
    Put(kGpuRemappedRows, uncorrected);
    Put(kGpuRowRemapFailed, failed != 0 ? 1 : 0);
  }
}

void NvmlGpu::ReadVideo() {
  unsigned percent = 0, period = 0;
  if (Ask(kEncoder, api_->Encoder, &percent, &period)) Put(kGpuEncoder, percent / kNvmlPercent);
  if (Ask(kDecoder, api_->Decoder, &percent, &period)) Put(kGpuDecoder, percent / kNvmlPercent);
}

void NvmlGpu::ReadMigs() {
  unsigned now = 0, pending = 0;
  if (!Ask(kMig, api_->MigMode, &now, &pending) || now != 1) return;
  for (const MigInstance& mig : MigInstances(*api_, seat_->handle)) {
    const auto memory = MigMemory(*api_, mig.handle);
    if (!memory) continue;
    const std::string name = MigName(seat_->instance, mig.id);
    out_->push_back({&kGpuMemoryUsed, name, {}, static_cast<double>(memory->used)});
    out_->push_back({&kGpuMemoryTotal, name, {}, static_cast<double>(memory->total)});
  }
}

}  // namespace sharewell::collect
