// Pressure: load of one kind on this machine, at a level that is calibrated and held.
//
// Threads of this process do the work in small pieces, each due at its time on a fixed schedule, so
// that the mean over a second is the target whenever the machine can give it. When it cannot
// (others use it too), the reading says so: achieved < target. Threads run at normal priority and
// take no signals. One thread at a time may call a Pressure; several may exist side by side.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "stress/level.h"

namespace sharewell::stress {

// What the machine gave when asked for all: the level that is 100 %, in the kind's unit.
struct Capacity {
  double value = 0;
  // (largest - smallest) / median of repeated measurements; absent: known, not measured (the number
  // of CPUs, the size of the cache, or given by the caller).
  std::optional<double> spread = std::nullopt;
  // What one thread alone reached; absent: not measured. Start uses as few threads as it can.
  std::optional<double> one_thread = std::nullopt;
};

enum class PcieDirection { kToDevice, kToHost, kBoth };
enum class DiskAccess { kRead, kWrite };

struct PressureSpec {
  PressureKind kind = PressureKind::kMemoryBandwidth;
  Level level = Level::Share(1);
  // Where its threads may run; empty: wherever this process may.
  std::vector<int> cpus = {};
  // Given: nothing is measured at the start (about 1.5 s less). Of an earlier Calibrate, or
  // Capacity{.value = ...} from the user.
  std::optional<Capacity> capacity = std::nullopt;
  // kPcie. The index counts the visible GPUs in PCI bus order, as nvidia-smi does. `kBoth` moves
  // half of the level each way.
  int gpu = 0;
  PcieDirection direction = PcieDirection::kToDevice;
  std::string cuda_library = "libcuda.so.1";
  // kDisk: a nameless file in this folder, gone with the pressure however that ends.
  std::string disk_path = ".";
  DiskAccess disk_access = DiskAccess::kRead;
};

struct PressureReading {
  double target = 0;               // of now, in the kind's unit
  std::optional<double> achieved;  // mean since the reading before; absent: no time has passed
  double seconds = 0;              // that this mean is of
  std::vector<double> per_second;  // means of the whole seconds that ended since the one before
  // CPU time over wall time while threads were at work; well below 1 for cpu, membw and llc means
  // that others kept the CPUs busy. Absent: no work was done.
  std::optional<double> cpu_share;
  std::string trouble;  // why a thread gave up; empty: none did
};

class Pressure {
 public:
  // Prepared and calibrated (buffers, files, GPU context; unless spec.capacity), at rest: Run()
  // puts it to work. Start does both. To combine several, prepare all before the first runs:
  // calibration wants the machine to itself. kUsage: a level that is absurd or beyond capacity (it
  // says what there is), no such CPU or folder; kAbsent: no GPU, no known cache size; kFailed: no
  // memory, no room on the disk.
  static core::Result<std::unique_ptr<Pressure>> Prepare(const PressureSpec& spec);
  static core::Result<std::unique_ptr<Pressure>> Start(const PressureSpec& spec);
  virtual ~Pressure() = default;  // stops at once; joins its threads; leaves nothing behind
  Pressure(const Pressure&) = delete;
  Pressure& operator=(const Pressure&) = delete;

  // Returns when the level is reached or 0.3 s have passed; readings count from then.
  virtual void Run() = 0;
  // Another level, running or not; seconds of readings start afresh, and what was not yet read is
  // dropped. A level that Start would refuse is refused here, and nothing changes.
  virtual core::Result<void> SetLevel(Level level) = 0;
  virtual void Rest() = 0;  // no work until Run; its memory stays
  virtual PressureReading Read() = 0;

  virtual PressureKind kind() const = 0;
  virtual double target() const = 0;  // in the kind's unit
  virtual const Capacity& capacity() const = 0;
  // "copy of 442.0 MB by 2 threads", "GPU 0, NVIDIA H200, to the device": what it is made of.
  virtual std::string Describe() const = 0;

 protected:
  Pressure() = default;
};

// The capacity alone; `spec.level` and `spec.capacity` are not looked at.
core::Result<Capacity> Calibrate(const PressureSpec& spec);

}  // namespace sharewell::stress
