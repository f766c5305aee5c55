// NvmlGpu: the figures of one whole GPU, in one round after another.
#pragma once

#include <array>
#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "collect/gpu/energy_counter.h"
#include "collect/gpu/nvml/nvml_session.h"
#include "collect/gpu/pace.h"
#include "collect/gpu/rates_poller.h"
#include "core/metric.h"

namespace sharewell::collect {

class NvmlGpu {
 public:
  // What a round found that others build on.
  struct Round {
    Pace::Clock::time_point time;
    int code = 0;                  // why the GPU no longer answers; 0: it does
    std::optional<double> busy;    // 0..1
    std::optional<double> joules;  // since the driver was loaded
  };

  // Appends what the GPU says. A figure that it does not have is not asked for again; one that is
  // costly is asked for less often and repeated in between. When the GPU stops answering on the
  // way, nothing of it is appended.
  Round Read(const nvml::Api& api, const NvmlSeat& seat, RatesPoller& poller,
             Pace::Clock::time_point now, std::vector<core::Reading>& out);

 private:
  enum Figure {
    kMemoryNew,
    kMemoryOld,
    kPower,
    kEnergy,
    kSmClock,
    kMemoryClock,
    kTemperature,
    kFields,
    kReplays,
    kReasons,
    kEccCorrected,
    kEccUncorrected,
    kRows,
    kEncoder,
    kDecoder,
    kMig,
    kViolations,  // five of them, the last
    kFigures = kViolations + 5,
  };
  // Figures that are asked for together and kept until they are asked for again.
  struct Group {
    Pace pace;
    std::vector<core::Reading> kept;
  };
  enum { kHeat, kThrottle, kErrors, kMigs, kGroups };

  // One call; whether it answered.
  template <class Function, class... Arguments>
  bool Ask(int figure, Function* function, Arguments... arguments);
  void Put(const core::Metric& metric, double value);
  void Paced(Group& group, void (NvmlGpu::*read)());

  void ReadMemory();
  void ReadPower();
  void ReadClocks();
  void ReadVideo();
  void ReadMemoryHeat();
  void ReadThrottle();
  void ReadErrors();
  void ReadMigs();

  // Of this round alone.
  const nvml::Api* api_ = nullptr;
  const NvmlSeat* seat_ = nullptr;
  std::vector<core::Reading>* out_ = nullptr;
  Round round_;

  int found_ = 0;  // NvmlSeat::found of what follows
  std::bitset<kFigures> missing_;
  std::array<Group, kGroups> groups_;
  Pace energy_pace_;
  EnergyCounter energy_;
  std::optional<Pace::Clock::time_point> energy_at_;
};

}  // namespace sharewell::collect
