// The part of NVIDIA's management library that we call: its structures and functions as its public
// documentation gives them, and a table of pointers to those that the driver at hand has.
#pragma once

namespace sharewell::collect::nvml {

// What every function answers.
enum Code : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kLibraryMismatch = 18,  // the library is of another version than the loaded driver
  kGpuNotFound = 28,
  kUnknown = 999,
};

using Device = void*;
using EventSet = void*;
using GpmSample = void*;
using Unsigned = unsigned int;
using Long = unsigned long long;

inline constexpr Long kNotAvailable = ~0ULL;  // a process's memory that the driver may not tell
inline constexpr Unsigned kNoInstance = ~0U;  // of a process that is in no MIG instance
inline constexpr Long kXidEvent = 8;

enum Clock : int { kSmClock = 1, kMemoryClock = 2 };
enum Policy : int { kPower = 0, kThermal = 1, kSyncBoost = 2, kBoard = 3, kReliability = 5 };
enum Ecc : int { kCorrected = 0, kUncorrected = 1 };
enum PcieWay : int { kSent = 0, kReceived = 1 };
enum ComputeMode : int { kProhibited = 2 };
// What two GPUs have in common: up to 20 PCIe switches, up to 40 one processor.
enum Ancestor : int { kPcieSwitches = 20, kProcessor = 40 };
inline constexpr int kOverNvLink = 2;  // a way from GPU to GPU
inline constexpr int kWayIsOpen = 0;
inline constexpr Unsigned kMemoryTemperatureField = 82;

struct Utilization {
  Unsigned gpu, memory;
};
struct Memory {
  Long total, free, used;  // what the driver reserves counts as used
};
struct MemoryV2 {
  Unsigned version;
  Long total, reserved, free, used;
};
inline constexpr Unsigned kMemoryV2 = sizeof(MemoryV2) | (2U << 24);

union Value {
  double of_double;
  int of_int;
  Unsigned of_unsigned;
  unsigned long of_long;
  Long of_long_long;
  long long of_signed_long_long;
};
enum ValueType : int {
  kDouble = 0,
  kUnsigned = 1,
  kUnsignedLong = 2,
  kUnsignedLongLong = 3,
  kSignedLongLong = 4,
  kSigned = 5,
};
struct FieldValue {
  Unsigned field, scope;
  long long time, latency;
  int type;
  int code;
  Value value;
};
struct Violation {
  Long reference, nanoseconds;
};
struct Process {  // of the functions _v2 and _v3
  Unsigned pid;
  Long memory;
  Unsigned gpu_instance, compute_instance;
};
struct ProcessSample {
  Unsigned pid;
  Long time;  // microseconds since 1970
  Unsigned sm, memory, encoder, decoder;
};
struct PciInfo {  // of the function _v3
  char legacy_bus[16];
  Unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Event {  // of the function _v2
  Device device;
  Long type, data;
  Unsigned gpu_instance, compute_instance;
};
struct GpmSupport {
  Unsigned version, supported;
};
struct GpmMetric {
  Unsigned id;
  int code;
  double value;
  char *short_name, *long_name, *unit;
};
// Headers of different years have room for 98 to 333 metrics under the same version number, and the
// driver may look at all it knows: there is room for more.
struct GpmRequest {
  Unsigned version, count;
  GpmSample before, after;
  GpmMetric metrics[400];
};

// A pointer is null where the driver has no such function. Where there are several versions of one,
// it is the newest whose structures are those above.
struct Api {
  int (*Init)() = nullptr;
  int (*Shutdown)() = nullptr;
  int (*DriverVersion)(char*, Unsigned) = nullptr;
  int (*CudaVersion)(int*) = nullptr;
  int (*ProcessName)(Unsigned pid, char*, Unsigned) = nullptr;
  int (*DeviceCount)(Unsigned*) = nullptr;
  int (*DeviceByIndex)(Unsigned, Device*) = nullptr;
  int (*Name)(Device, char*, Unsigned) = nullptr;
  int (*Uuid)(Device, char*, Unsigned) = nullptr;
  int (*Pci)(Device, PciInfo*) = nullptr;
  int (*Minor)(Device, Unsigned*) = nullptr;
  int (*ComputeCapability)(Device, int*, int*) = nullptr;
  int (*ComputeModeOf)(Device, int*) = nullptr;
  int (*PowerLimit)(Device, Unsigned*) = nullptr;
  int (*MigMode)(Device, Unsigned* now, Unsigned* pending) = nullptr;
  int (*MaxMigDevices)(Device, Unsigned*) = nullptr;
  int (*MigDevice)(Device, Unsigned, Device*) = nullptr;
  int (*GpuInstanceId)(Device, Unsigned*) = nullptr;
  int (*Rates)(Device, Utilization*) = nullptr;
  int (*MemoryInfo)(Device, Memory*) = nullptr;
  int (*MemoryInfoV2)(Device, MemoryV2*) = nullptr;
  int (*Power)(Device, Unsigned* milliwatts) = nullptr;
  int (*Energy)(Device, Long* millijoules) = nullptr;
  int (*ClockMhz)(Device, int, Unsigned*) = nullptr;
  int (*Temperature)(Device, int sensor, Unsigned*) = nullptr;
  int (*Fields)(Device, int count, FieldValue*) = nullptr;
  int (*PcieKilobytes)(Device, int, Unsigned*) = nullptr;
  int (*PcieGeneration)(Device, Unsigned*) = nullptr;  // the most that it can have here
  int (*PcieLanes)(Device, Unsigned*) = nullptr;       // likewise
  int (*PcieReplays)(Device, Unsigned*) = nullptr;
  int (*CommonAncestor)(Device, Device, int*) = nullptr;
  int (*WayBetween)(Device, Device, int way, int* status) = nullptr;
  int (*ThrottleReasons)(Device, Long*) = nullptr;
  int (*Violations)(Device, int, Violation*) = nullptr;
  int (*EccErrors)(Device, int error, int counter, Long*) = nullptr;
  int (*RemappedRows)(Device, Unsigned*, Unsigned*, Unsigned* pending, Unsigned* failed) = nullptr;
  int (*Encoder)(Device, Unsigned*, Unsigned* period) = nullptr;
  int (*Decoder)(Device, Unsigned*, Unsigned* period) = nullptr;
  int (*Processes)(Device, Unsigned*, Process*) = nullptr;
  int (*MpsProcesses)(Device, Unsigned*, Process*) = nullptr;
  int (*ProcessSamples)(Device, ProcessSample*, Unsigned*, Long since) = nullptr;
  int (*NewEventSet)(EventSet*) = nullptr;
  int (*FreeEventSet)(EventSet) = nullptr;
  int (*RegisterEvents)(Device, Long, EventSet) = nullptr;
  int (*WaitEvent)(EventSet, Event*, Unsigned milliseconds) = nullptr;
  int (*GpmSupported)(Device, GpmSupport*) = nullptr;
  int (*NewGpmSample)(GpmSample*) = nullptr;
  int (*FreeGpmSample)(GpmSample) = nullptr;
  int (*TakeGpm)(Device, GpmSample) = nullptr;
  int (*TakeMigGpm)(Device, Unsigned gpu_instance, GpmSample) = nullptr;
  int (*GpmMetrics)(GpmRequest*) = nullptr;
};

}  // namespace sharewell::collect::nvml
