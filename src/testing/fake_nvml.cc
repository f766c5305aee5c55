// libfake_nvml.so: a stand-in for the driver's library that replays a capture of
// tools/capture_nvml.py (tests/fixtures/nvml/README.md).
//
// Tests name the capture and the step through the functions fake_nvml_*; a program under test gets
// it from the environment, SHAREWELL_FAKE_NVML=FILE, and time moves the steps on. What the capture
// does not have is answered "not supported". Nothing here throws into its caller.
//
// One file: most of it is the driver's functions, of a few lines each, over one capture.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "collect/gpu/nvml/nvml_api.h"

namespace {

using nlohmann::json;
namespace nvml = sharewell::collect::nvml;
using nvml::Device;
using nvml::Long;
using nvml::Unsigned;

struct State {
  std::mutex mutex;
  json capture;   // null: none
  int step = -1;  // -1: by the time since `begin`
  std::chrono::steady_clock::time_point begin;
  long calls = 0;
  std::size_t events_told = 0;  // of all up to the step
};

State& Global() {
  static State state;
  return state;
}

struct Sample {  // what an nvmlGpmSample_t of ours points to
  int step = 0;
  int gpu = 0;
  int mig = -1;
};

constexpr std::uintptr_t kMigStride = 1000;  // handles: GPU + 1, and with that, MIG + 1 strides

Device HandleOf(int gpu, int mig = -1) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is whatever the library says.
  return reinterpret_cast<Device>(static_cast<std::uintptr_t>(gpu) + 1 +
                                  static_cast<std::uintptr_t>(mig + 1) * kMigStride);
}
int GpuOf(Device device) {
  return static_cast<int>((reinterpret_cast<std::uintptr_t>(device) - 1) % kMigStride);
}
int MigOf(Device device) {
  return static_cast<int>((reinterpret_cast<std::uintptr_t>(device) - 1) / kMigStride) - 1;
}

int StepNow() {
  State& state = Global();
  const json& steps = state.capture.at("steps");
  const int last = static_cast<int>(steps.size()) - 1;
  if (state.step >= 0) return std::min(state.step, last);
  const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - state.begin;
  int step = 0;
  while (step < last &&
         steps.at(static_cast<std::size_t>(step) + 1).value("t", 0.0) <= gone.count())
    ++step;
  return step;
}

const json& GpuAt(int step, int gpu) {
  return Global()
      .capture.at("steps")
      .at(static_cast<std::size_t>(step))
      .at("gpus")
      .at(static_cast<std::size_t>(gpu));
}

// An error that stands in the place of a value; 0: it is a value.
int ErrorIn(const json& value) {
  if (value.is_object() && value.contains("error")) return value.at("error").get<int>();
  return nvml::kSuccess;
}

// Runs under the lock; whatever goes wrong in it is an answer of the library.
template <class Work>
int Answer(const char* name, Work work) noexcept {
  State& state = Global();
  const std::lock_guard lock(state.mutex);
  ++state.calls;
  try {
    if (state.capture.is_null()) return nvml::kUninitialized;
    const auto missing = state.capture.find("missing");
    if (missing != state.capture.end() &&
        std::find(missing->begin(), missing->end(), name) != missing->end()) {
      return nvml::kFunctionNotFound;
    }
    return work();
  } catch (...) {
    return nvml::kUnknown;
  }
}

// The same for one GPU's value `key` of this step, or of its facts. `use` gets the value.
template <class Use>
int AnswerOf(const char* name, Device device, const char* key, bool facts, Use use) noexcept {
  return Answer(name, [&]() -> int {
    const int gpu = GpuOf(device);
    const json* from = &GpuAt(StepNow(), gpu);
    if (const int code = ErrorIn(*from)) return code;
    if (facts) from = &Global().capture.at("gpus").at(static_cast<std::size_t>(gpu));
    if (MigOf(device) >= 0) from = &from->at("migs").at(static_cast<std::size_t>(MigOf(device)));
    const auto value = from->find(key);
    if (value == from->end() || value->is_null()) return nvml::kNotSupported;
    if (const int code = ErrorIn(*value)) return code;
    use(*value);
    return nvml::kSuccess;
  });
}

template <class Number>
int NumberOf(const char* name, Device device, const char* key, Number* out,
             bool facts = false) noexcept {
  return AnswerOf(name, device, key, facts, [&](const json& value) { *out = value.get<Number>(); });
}

void Copy(const std::string& text, char* out, Unsigned room) {
  if (room == 0) return;
  out[text.copy(out, room - 1)] = '\0';
}

int Processes(const char* name, Device device, const char* key, Unsigned* count,
              nvml::Process* out) noexcept {
  int code = nvml::kSuccess;
  const int answer = AnswerOf(name, device, key, false, [&](const json& list) {
    const auto room = *count;
    *count = static_cast<Unsigned>(list.size());
    if (room < *count) {
      code = nvml::kInsufficientSize;
      return;
    }
    for (const json& one : list) {
      const json memory = one.value("memory", json());
      const json instance = one.value("gpu_instance", json());
      *out++ = {.pid = one.at("pid").get<Unsigned>(),
                .memory = memory.is_null() ? nvml::kNotAvailable : memory.get<Long>(),
                .gpu_instance = instance.is_null() ? nvml::kNoInstance : instance.get<Unsigned>(),
                .compute_instance = nvml::kNoInstance};
    }
  });
  return answer != nvml::kSuccess ? answer : code;
}

// The mean of one GPM metric over the steps after the first up to the second.
void GpmMean(const Sample& before, const Sample& after, nvml::GpmMetric& metric) {
  double sum = 0;
  int used = 0;
  metric.code = nvml::kNotSupported;
  for (int step = std::min(before.step + 1, after.step); step <= after.step; ++step) {
    const json* from = &GpuAt(step, after.gpu);
    if (after.mig >= 0) from = &from->at("migs").at(static_cast<std::size_t>(after.mig));
    const json figures = from->value("gpm", json::object());
    const auto value = figures.find(std::to_string(metric.id));
    if (value == figures.end()) continue;
    metric.code = ErrorIn(*value);
    if (metric.code != nvml::kSuccess) return;
    sum += value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
    ++used;
  }
  metric.value = used > 0 ? sum / used : std::numeric_limits<double>::quiet_NaN();
}

int TakeSample(const char* name, Device device, int gpu_instance, void* sample) noexcept {
  return Answer(name, [&]() -> int {
    auto* out = static_cast<Sample*>(sample);
    *out = {StepNow(), GpuOf(device), -1};
    const json& gpu = GpuAt(out->step, out->gpu);
    if (const int code = ErrorIn(gpu)) return code;
    if (gpu_instance < 0) {
      const json figures = gpu.value("gpm", json());
      return figures.is_null() ? int{nvml::kNotSupported} : ErrorIn(figures);
    }
    int position = 0;
    for (const json& mig : gpu.value("migs", json::array())) {
      if (mig.at("gpu_instance").get<int>() == gpu_instance) out->mig = position;
      ++position;
    }
    return out->mig >= 0 ? int{nvml::kSuccess} : int{nvml::kNotFound};
  });
}

void Load(json capture) {
  State& state = Global();
  const std::lock_guard lock(state.mutex);
  state.capture = std::move(capture);
  state.step = -1;
  state.calls = 0;
  state.events_told = 0;
  state.begin = std::chrono::steady_clock::now();
}

json Parsed(const char* path) {
  std::ifstream file(path);
  json capture = json::parse(file, nullptr, /*allow_exceptions=*/false);
  return capture.is_discarded() ? json() : capture;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

// For tests: what to replay, where in it (until told otherwise by time), and how often it was
// asked.
FAKE void fake_nvml_load(const char* path) { Load(Parsed(path)); }
FAKE void fake_nvml_load_text(const char* text) {
  json capture = json::parse(text, nullptr, /*allow_exceptions=*/false);
  Load(capture.is_discarded() ? json() : std::move(capture));
}
FAKE void fake_nvml_step(int step) {
  const std::lock_guard lock(Global().mutex);
  Global().step = step;
}
FAKE long fake_nvml_calls() {
  const std::lock_guard lock(Global().mutex);
  return Global().calls;
}

FAKE int nvmlInit_v2() {
  const char* path = std::getenv("SHAREWELL_FAKE_NVML");
  bool empty = false;
  {
    const std::lock_guard lock(Global().mutex);
    empty = Global().capture.is_null();
  }
  if (empty && path != nullptr) Load(Parsed(path));
  return Answer("nvmlInit_v2", [&]() -> int {
    return Global().capture.at("steps").at(static_cast<std::size_t>(StepNow())).value("init", 0);
  });
}
FAKE int nvmlShutdown() { return nvml::kSuccess; }

FAKE int nvmlSystemGetDriverVersion(char* out, Unsigned room) {
  return Answer("nvmlSystemGetDriverVersion", [&]() -> int {
    Copy(Global().capture.at("system").at("driver").get<std::string>(), out, room);
    return nvml::kSuccess;
  });
}
FAKE int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  return Answer("nvmlSystemGetCudaDriverVersion_v2", [&]() -> int {
    *out = Global().capture.at("system").at("cuda").get<int>();
    return nvml::kSuccess;
  });
}
FAKE int nvmlSystemGetProcessName(Unsigned pid, char* out, Unsigned room) {
  return Answer("nvmlSystemGetProcessName", [&]() -> int {
    const json names = Global().capture.value("process_names", json::object());
    const auto name = names.find(std::to_string(pid));
    if (name == names.end()) return nvml::kNotFound;
    Copy(name->get<std::string>(), out, room);
    return nvml::kSuccess;
  });
}

FAKE int nvmlDeviceGetCount_v2(Unsigned* out) {
  return Answer("nvmlDeviceGetCount_v2", [&]() -> int {
    *out = static_cast<Unsigned>(Global().capture.at("gpus").size());
    return nvml::kSuccess;
  });
}
FAKE int nvmlDeviceGetHandleByIndex_v2(Unsigned index, Device* out) {
  return Answer("nvmlDeviceGetHandleByIndex_v2", [&]() -> int {
    const int gpu = static_cast<int>(index);
    if (const int code = ErrorIn(GpuAt(StepNow(), gpu))) return code;
    *out = HandleOf(gpu);
    return nvml::kSuccess;
  });
}

FAKE int nvmlDeviceGetName(Device device, char* out, Unsigned room) {
  return AnswerOf("nvmlDeviceGetName", device, "name", true,
                  [&](const json& value) { Copy(value.get<std::string>(), out, room); });
}
FAKE int nvmlDeviceGetUUID(Device device, char* out, Unsigned room) {
  return AnswerOf("nvmlDeviceGetUUID", device, "uuid", true,
                  [&](const json& value) { Copy(value.get<std::string>(), out, room); });
}
FAKE int nvmlDeviceGetPciInfo_v3(Device device, nvml::PciInfo* out) {
  return AnswerOf("nvmlDeviceGetPciInfo_v3", device, "pci_bus", true, [&](const json& value) {
    Copy(value.get<std::string>(), out->bus_id, sizeof(out->bus_id));
  });
}
FAKE int nvmlDeviceGetMinorNumber(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetMinorNumber", device, "minor", out, true);
}
FAKE int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  return AnswerOf("nvmlDeviceGetCudaComputeCapability", device, "compute", true,
                  [&](const json& value) {
                    *major = value.at(0).get<int>();
                    *minor = value.at(1).get<int>();
                  });
}
FAKE int nvmlDeviceGetComputeMode(Device device, int* out) {
  return NumberOf("nvmlDeviceGetComputeMode", device, "compute_mode", out, true);
}
FAKE int nvmlDeviceGetEnforcedPowerLimit(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetEnforcedPowerLimit", device, "power_limit", out, true);
}
FAKE int nvmlDeviceGetMaxPcieLinkGeneration(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetMaxPcieLinkGeneration", device, "pcie_generation", out, true);
}
FAKE int nvmlDeviceGetMaxPcieLinkWidth(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetMaxPcieLinkWidth", device, "pcie_width", out, true);
}
FAKE int nvmlDeviceGetTopologyCommonAncestor(Device device, Device other, int* out) {
  return AnswerOf("nvmlDeviceGetTopologyCommonAncestor", device, "ancestors", true,
                  [&](const json& value) {
                    *out = value.at(static_cast<std::size_t>(GpuOf(other))).get<int>();
                  });
}
FAKE int nvmlDeviceGetP2PStatus(Device device, Device other, int way, int* out) {
  return AnswerOf("nvmlDeviceGetP2PStatus", device, "nvlink_to", true, [&](const json& value) {
    const bool joined = std::find(value.begin(), value.end(), GpuOf(other)) != value.end();
    *out = way == nvml::kOverNvLink && joined ? nvml::kWayIsOpen : 5;  // 5: not supported
  });
}
FAKE int nvmlDeviceGetMigMode(Device device, Unsigned* now, Unsigned* pending) {
  return AnswerOf("nvmlDeviceGetMigMode", device, "mig_mode", true, [&](const json& value) {
    *now = value.at(0).get<Unsigned>();
    *pending = value.at(1).get<Unsigned>();
  });
}
FAKE int nvmlDeviceGetMaxMigDeviceCount(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetMaxMigDeviceCount", device, "max_migs", out, true);
}
FAKE int nvmlDeviceGetMigDeviceHandleByIndex(Device device, Unsigned index, Device* out) {
  int code = nvml::kSuccess;
  const int answer =
      AnswerOf("nvmlDeviceGetMigDeviceHandleByIndex", device, "migs", false, [&](const json& migs) {
        if (index >= migs.size()) code = nvml::kNotFound;
        *out = HandleOf(GpuOf(device), static_cast<int>(index));
      });
  return answer != nvml::kSuccess ? answer : code;
}
FAKE int nvmlDeviceGetGpuInstanceId(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetGpuInstanceId", device, "gpu_instance", out);
}

FAKE int nvmlDeviceGetUtilizationRates(Device device, nvml::Utilization* out) {
  return AnswerOf("nvmlDeviceGetUtilizationRates", device, "utilization", false,
                  [&](const json& value) {
                    *out = {value.at("gpu").get<Unsigned>(), value.at("memory").get<Unsigned>()};
                  });
}
FAKE int nvmlDeviceGetMemoryInfo(Device device, nvml::Memory* out) {
  return AnswerOf("nvmlDeviceGetMemoryInfo", device, "memory", false, [&](const json& value) {
    out->total = value.at("total").get<Long>();
    out->free = value.at("free").get<Long>();
    out->used = value.at("used").get<Long>() + value.value("reserved", Long{0});
  });
}
FAKE int nvmlDeviceGetMemoryInfo_v2(Device device, nvml::MemoryV2* out) {
  if (out->version != nvml::kMemoryV2) return nvml::kInvalidArgument;
  return AnswerOf("nvmlDeviceGetMemoryInfo_v2", device, "memory", false, [&](const json& value) {
    out->total = value.at("total").get<Long>();
    out->reserved = value.at("reserved").get<Long>();
    out->free = value.at("free").get<Long>();
    out->used = value.at("used").get<Long>();
  });
}
FAKE int nvmlDeviceGetPowerUsage(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetPowerUsage", device, "power", out);
}
FAKE int nvmlDeviceGetTotalEnergyConsumption(Device device, Long* out) {
  return NumberOf("nvmlDeviceGetTotalEnergyConsumption", device, "energy", out);
}
FAKE int nvmlDeviceGetClockInfo(Device device, int clock, Unsigned* out) {
  return NumberOf("nvmlDeviceGetClockInfo", device,
                  clock == nvml::kSmClock ? "clock_sm" : "clock_memory", out);
}
FAKE int nvmlDeviceGetTemperature(Device device, int /*sensor*/, Unsigned* out) {
  return NumberOf("nvmlDeviceGetTemperature", device, "temperature", out);
}
FAKE int nvmlDeviceGetFieldValues(Device device, int count, nvml::FieldValue* out) {
  return AnswerOf("nvmlDeviceGetFieldValues", device, "fields", false, [&](const json& fields) {
    for (int i = 0; i < count; ++i) {
      nvml::FieldValue& field = out[i];
      const auto value = fields.find(std::to_string(field.field));
      field.code = value == fields.end() ? int{nvml::kNotSupported} : ErrorIn(*value);
      if (field.code != nvml::kSuccess) continue;
      field.type = value->at("type").get<int>();
      if (field.type == nvml::kDouble) {
        field.value.of_double = value->at("value").get<double>();
      } else {
        field.value.of_long_long = value->at("value").get<Long>();
      }
    }
  });
}
FAKE int nvmlDeviceGetPcieThroughput(Device device, int way, Unsigned* out) {
  return NumberOf("nvmlDeviceGetPcieThroughput", device,
                  way == nvml::kReceived ? "pcie_received" : "pcie_sent", out);
}
FAKE int nvmlDeviceGetPcieReplayCounter(Device device, Unsigned* out) {
  return NumberOf("nvmlDeviceGetPcieReplayCounter", device, "pcie_replays", out);
}
FAKE int nvmlDeviceGetCurrentClocksEventReasons(Device device, Long* out) {
  return NumberOf("nvmlDeviceGetCurrentClocksEventReasons", device, "throttle_reasons", out);
}
FAKE int nvmlDeviceGetViolationStatus(Device device, int policy, nvml::Violation* out) {
  constexpr const char* kNames[] = {"power", "thermal",     "sync",
                                    "board", "utilization", "reliability"};
  int code = nvml::kSuccess;
  const int answer =
      AnswerOf("nvmlDeviceGetViolationStatus", device, "violations", false, [&](const json& all) {
        const auto value = all.find(kNames[policy]);
        code = value == all.end() ? int{nvml::kNotSupported} : ErrorIn(*value);
        if (code == nvml::kSuccess) *out = {0, value->get<Long>()};
      });
  return answer != nvml::kSuccess ? answer : code;
}
FAKE int nvmlDeviceGetTotalEccErrors(Device device, int error, int /*counter*/, Long* out) {
  return NumberOf("nvmlDeviceGetTotalEccErrors", device,
                  error == nvml::kCorrected ? "ecc_corrected" : "ecc_uncorrected", out);
}
FAKE int nvmlDeviceGetRemappedRows(Device device, Unsigned* corrected, Unsigned* uncorrected,
                                   Unsigned* pending, Unsigned* failed) {
  return AnswerOf("nvmlDeviceGetRemappedRows", device, "remapped_rows", false,
                  [&](const json& rows) {
                    *corrected = rows.at(0).get<Unsigned>();
                    *uncorrected = rows.at(1).get<Unsigned>();
                    *pending = rows.at(2).get<Unsigned>();
                    *failed = rows.at(3).get<Unsigned>();
                  });
}
FAKE int nvmlDeviceGetEncoderUtilization(Device device, Unsigned* out, Unsigned* /*period*/) {
  return NumberOf("nvmlDeviceGetEncoderUtilization", device, "encoder", out);
}
FAKE int nvmlDeviceGetDecoderUtilization(Device device, Unsigned* out, Unsigned* /*period*/) {
  return NumberOf("nvmlDeviceGetDecoderUtilization", device, "decoder", out);
}

FAKE int nvmlDeviceGetComputeRunningProcesses_v3(Device device, Unsigned* count,
                                                 nvml::Process* out) {
  return Processes("nvmlDeviceGetComputeRunningProcesses_v3", device, "processes", count, out);
}
FAKE int nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, Unsigned* count,
                                                    nvml::Process* out) {
  return Processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, "mps_processes", count,
                   out);
}
FAKE int nvmlDeviceGetProcessUtilization(Device device, nvml::ProcessSample* out, Unsigned* count,
                                         Long since) {
  return Answer("nvmlDeviceGetProcessUtilization", [&]() -> int {
    const int last = StepNow();
    if (const int code = ErrorIn(GpuAt(last, GpuOf(device)))) return code;
    const Unsigned room = *count;
    *count = 0;
    bool fits = true;
    for (int step = 0; step <= last; ++step) {
      const json rows = GpuAt(step, GpuOf(device)).value("process_samples", json());
      if (rows.is_null()) return nvml::kNotSupported;
      if (const int code = ErrorIn(rows)) return code;
      for (const json& row : rows) {
        if (row.at(1).get<Long>() <= since) continue;
        fits = fits && *count < room;
        if (fits) {
          out[*count] = {.pid = row.at(0).get<Unsigned>(),
                         .time = row.at(1).get<Long>(),
                         .sm = row.at(2).get<Unsigned>(),
                         .memory = row.at(3).get<Unsigned>(),
                         .encoder = 0,
                         .decoder = 0};
        }
        ++*count;
      }
    }
    if (!fits) return nvml::kInsufficientSize;
    return *count == 0 ? int{nvml::kNotFound} : int{nvml::kSuccess};
  });
}

FAKE int nvmlEventSetCreate(nvml::EventSet* out) {
  *out = HandleOf(0);
  return nvml::kSuccess;
}
FAKE int nvmlEventSetFree(nvml::EventSet /*set*/) { return nvml::kSuccess; }
FAKE int nvmlDeviceRegisterEvents(Device /*device*/, Long /*types*/, nvml::EventSet /*set*/) {
  return nvml::kSuccess;
}
// A step's "xids" of a GPU: [79, ...]. Each is told once.
FAKE int nvmlEventSetWait_v2(nvml::EventSet /*set*/, nvml::Event* out, Unsigned /*milliseconds*/) {
  return Answer("nvmlEventSetWait_v2", [&]() -> int {
    std::size_t position = 0;
    const auto gpus = static_cast<int>(Global().capture.at("gpus").size());
    for (int step = 0; step <= StepNow(); ++step) {
      for (int gpu = 0; gpu < gpus; ++gpu) {
        for (const json& xid : GpuAt(step, gpu).value("xids", json::array())) {
          if (position++ < Global().events_told) continue;
          Global().events_told = position;
          *out = {HandleOf(gpu), nvml::kXidEvent, xid.get<Long>(), nvml::kNoInstance,
                  nvml::kNoInstance};
          return nvml::kSuccess;
        }
      }
    }
    return nvml::kTimeout;
  });
}

FAKE int nvmlGpmQueryDeviceSupport(Device device, nvml::GpmSupport* out) {
  return NumberOf("nvmlGpmQueryDeviceSupport", device, "gpm", &out->supported, true);
}
FAKE int nvmlGpmSampleAlloc(nvml::GpmSample* out) {
  *out = std::malloc(sizeof(Sample));
  return *out != nullptr ? nvml::kSuccess : nvml::kUnknown;
}
FAKE int nvmlGpmSampleFree(nvml::GpmSample sample) {
  std::free(sample);
  return nvml::kSuccess;
}
FAKE int nvmlGpmSampleGet(Device device, nvml::GpmSample sample) {
  return TakeSample("nvmlGpmSampleGet", device, -1, sample);
}
FAKE int nvmlGpmMigSampleGet(Device device, Unsigned gpu_instance, nvml::GpmSample sample) {
  return TakeSample("nvmlGpmMigSampleGet", device, static_cast<int>(gpu_instance), sample);
}
FAKE int nvmlGpmMetricsGet(nvml::GpmRequest* request) {
  return Answer("nvmlGpmMetricsGet", [&]() -> int {
    const auto& before = *static_cast<const Sample*>(request->before);
    const auto& after = *static_cast<const Sample*>(request->after);
    for (Unsigned i = 0; i < request->count; ++i) GpmMean(before, after, request->metrics[i]);
    return nvml::kSuccess;
  });
}
