// DcgmEngine: what DCGM counts on some GPUs, in one look after another. The engine behind it may
// vanish and come back, and a GPU's counters may be another program's for a while.
//
// One thread uses it. A look may wait for DCGM's service.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "collect/gpu/dcgm/dcgm_library.h"
#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::collect {

class DcgmEngine {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string library;  // as DcgmLibrary::Open takes it
    DcgmConnection::Start start = DcgmConnection::Start::kNever;
  };
  struct Gpu {
    std::string instance;  // Reading::instance
    std::string uuid;      // as NVML and DCGM both give it

    friend bool operator==(const Gpu&, const Gpu&) = default;
  };
  // DCGM keeps a value of each figure so often, a mean over that time.
  static constexpr core::Seconds kInterval{0.25};

  DcgmEngine(Options options, const std::vector<Gpu>& gpus);
  DcgmEngine(const DcgmEngine&) = delete;
  DcgmEngine& operator=(const DcgmEngine&) = delete;
  ~DcgmEngine();

  // Appends every value that DCGM has kept since the look before; what it has from before the first
  // look is not ours. Connects and watches where that is needed, tried every 10 s at most. The
  // error says for which GPUs there is nothing and why, the same text for as long as that lasts;
  // kAbsent: for all of them.
  core::Result<void> Look(Clock::time_point now, std::vector<core::Reading>& out);

  // dcgm::kOk: it is watched. Else why it is not, in the order that the GPUs were given.
  // REQUIRES: connected().
  std::vector<int> Codes() const;
  bool connected() const { return connection_ != nullptr; }
  bool embedded() const { return connection_ != nullptr && connection_->embedded(); }

 private:
  struct Watch {
    Gpu gpu;
    int code = dcgm::kNotWatched;  // why it is not counted; kOk: it is
    bool known = false;            // DCGM has it, and its number there is:
    unsigned id = 0;
    bool watched = false;
    dcgm::Group group = 0;
    dcgm::FieldGroup fields = 0;
    long long since = 0;  // microseconds since 1970
    Clock::time_point next_try{};
  };

  core::Result<void> Connect(Clock::time_point now);
  void FindGpus();
  std::string UuidOf(unsigned id) const;
  void Begin(Watch& watch, Clock::time_point now);
  // The code of the last attempt; the first set of figures that DCGM can count at once is taken.
  int WatchFigures(Watch& watch);
  void End(Watch& watch);
  void Read(Watch& watch, Clock::time_point now, std::vector<core::Reading>& out);
  void Close();
  core::Result<void> Summary() const;

  Options options_;
  std::unique_ptr<DcgmConnection> connection_;
  std::vector<Watch> watches_;
  core::Error failure_;  // of the last attempt to connect
  Clock::time_point next_try_;
};

}  // namespace sharewell::collect
