// libfake_dcgm.so: a stand-in for NVIDIA's data center GPU manager that replays a recording
// (tests/fixtures/dcgm/README.md).
//
// Tests name the recording and the step through the functions fake_dcgm_*; a program under test
// gets it from the environment, SHAREWELL_FAKE_DCGM=FILE, and time moves the steps on. With
// SHAREWELL_FAKE_DCGM_LOG=FILE it writes down who connects, pauses and resumes. Nothing here throws
// into its caller.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collect/gpu/dcgm/dcgm_api.h"

namespace {

using nlohmann::json;
namespace dcgm = sharewell::collect::dcgm;

constexpr std::size_t kUsualSize = 24 + 4096;  // of a value with its blob, in DCGM 3
constexpr dcgm::Handle kEmbedded = 0x7fffffff;
constexpr double kSampleSeconds = 0.25;

struct Watched {
  dcgm::Group group;
  dcgm::FieldGroup fields;
};

struct State {
  std::mutex mutex;
  json recording;  // null: none
  int step = -1;   // -1: by the time since `begin`
  std::chrono::steady_clock::time_point begin;
  long long begin_time = 0;  // the same by the wall clock, in microseconds
  bool paused = false;
  int next_id = 1;
  std::map<dcgm::Handle, int> connections;  // and the life of the engine that they were made to
  std::map<dcgm::Group, std::vector<unsigned>> groups;
  std::map<dcgm::FieldGroup, std::vector<dcgm::Field>> fields;
  std::map<dcgm::FieldGroup, std::string> names;
  std::vector<Watched> watches;
};

State& Global() {
  static State state;
  return state;
}

long long Micros(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

const json& Steps() { return Global().recording.at("steps"); }

double TimeOf(int step) { return Steps().at(static_cast<std::size_t>(step)).value("t", 0.0); }

int StepAt(double seconds) {
  const int last = static_cast<int>(Steps().size()) - 1;
  int step = 0;
  while (step < last && TimeOf(step + 1) <= seconds) ++step;
  return step;
}

double Gone() {
  const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - Global().begin;
  return gone.count();
}

int StepNow() {
  const int last = static_cast<int>(Steps().size()) - 1;
  return Global().step >= 0 ? std::min(Global().step, last) : StepAt(Gone());
}

const json& Now() { return Steps().at(static_cast<std::size_t>(StepNow())); }

// 0: no service runs. A number that rises is a service that was started anew.
int ServiceLife() { return Now().value("service", 1); }

void Log(const char* what) {
  const char* path = std::getenv("SHAREWELL_FAKE_DCGM_LOG");
  if (path != nullptr) std::ofstream(path, std::ios::app) << what << "\n";
}

template <class Work>
int Answer(Work work) noexcept {
  const std::lock_guard lock(Global().mutex);
  try {
    if (Global().recording.is_null()) return dcgm::kUninitialized;
    return work();
  } catch (...) {
    return dcgm::kError;
  }
}

// The same over a connection that is still good.
template <class Work>
int AnswerOn(dcgm::Handle handle, Work work) noexcept {
  return Answer([&]() -> int {
    const auto found = Global().connections.find(handle);
    if (found == Global().connections.end()) return dcgm::kConnectionNotValid;
    if (handle != kEmbedded && found->second != ServiceLife()) return dcgm::kConnectionNotValid;
    return work();
  });
}

void Load(json recording) {
  State& state = Global();
  const std::lock_guard lock(state.mutex);
  state.recording = std::move(recording);
  state.step = -1;
  state.begin = std::chrono::steady_clock::now();
  state.begin_time = Micros(std::chrono::system_clock::now().time_since_epoch());
  state.paused = false;
  state.connections.clear();
  state.groups.clear();
  state.fields.clear();
  state.names.clear();
  state.watches.clear();
}

// {"blank": 2} in the place of a number is a blank one, {"error": -6} a status.
void Put(const json& from, dcgm::Field field, dcgm::Value& out) {
  const bool integer = field >= 1009 && field <= 1012;
  out.field = field;
  out.type = integer ? dcgm::kIntegerType : dcgm::kDoubleType;
  out.status = dcgm::kOk;
  int blank = -1;
  if (Global().paused || from.is_null()) blank = 0;
  if (from.is_object()) {
    out.status = from.value("error", int{dcgm::kOk});
    blank = from.value("blank", 0);
  }
  if (integer) {
    out.number.integer = blank >= 0 ? dcgm::kBlankInteger + blank : from.get<std::int64_t>();
  } else {
    out.number.real = blank >= 0 ? dcgm::kBlankDouble + blank : from.get<double>();
  }
}

struct SampleTime {
  int step;
  long long time;
};

// When values were kept after `since`: at each step where a test moves them on, else four times a
// second.
std::vector<SampleTime> SamplesAfter(long long since) {
  std::vector<SampleTime> samples;
  const auto at = [&](double seconds) {
    return Global().begin_time + static_cast<long long>(seconds * 1e6);
  };
  if (Global().step >= 0) {
    for (int step = 0; step <= StepNow(); ++step) samples.push_back({step, at(TimeOf(step))});
  } else {
    const double gone = Gone();
    for (double t = 0; t <= gone; t += kSampleSeconds) samples.push_back({StepAt(t), at(t)});
  }
  std::erase_if(samples, [&](const SampleTime& sample) { return sample.time <= since; });
  return samples;
}

int Emit(unsigned gpu, const std::vector<dcgm::Field>& fields, SampleTime sample,
         dcgm::OnValues* on_values, void* user) {
  const json& values =
      Steps().at(static_cast<std::size_t>(sample.step)).at("gpus").at(gpu).at("fields");
  const auto size = Global().recording.value("value_bytes", kUsualSize);
  std::vector<std::int64_t> room(size / sizeof(std::int64_t) * fields.size(), -1);
  auto* at = reinterpret_cast<std::byte*>(room.data());
  int count = 0;
  for (const dcgm::Field field : fields) {
    const auto found = values.find(std::to_string(field));
    if (found == values.end()) continue;
    dcgm::Value value{};
    value.version = dcgm::VersionOf(size, 1);
    value.time = sample.time;
    Put(*found, field, value);
    std::memcpy(at, &value, sizeof(value));
    at += size;
    ++count;
  }
  return count == 0 ? 0
                    : on_values(dcgm::kGpuEntity, gpu, reinterpret_cast<dcgm::Value*>(room.data()),
                                count, user);
}

json Parsed(const char* path) {
  std::ifstream file(path);
  json recording = json::parse(file, nullptr, /*allow_exceptions=*/false);
  return recording.is_discarded() ? json() : recording;
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE void fake_dcgm_load_text(const char* text) {
  json recording = json::parse(text, nullptr, /*allow_exceptions=*/false);
  Load(recording.is_discarded() ? json() : std::move(recording));
}
FAKE void fake_dcgm_step(int step) {
  const std::lock_guard lock(Global().mutex);
  Global().step = step;
}
FAKE int fake_dcgm_watches() {
  const std::lock_guard lock(Global().mutex);
  return static_cast<int>(Global().watches.size());
}
FAKE int fake_dcgm_connections() {
  const std::lock_guard lock(Global().mutex);
  return static_cast<int>(Global().connections.size());
}
FAKE int fake_dcgm_paused() {
  const std::lock_guard lock(Global().mutex);
  return Global().paused ? 1 : 0;
}

FAKE int dcgmInit() {
  const char* path = std::getenv("SHAREWELL_FAKE_DCGM");
  bool empty = false;
  {
    const std::lock_guard lock(Global().mutex);
    empty = Global().recording.is_null();
  }
  if (empty && path != nullptr) Load(Parsed(path));
  return Answer([&]() -> int { return Global().recording.value("init", 0); });
}

FAKE int dcgmConnect_v2(const char* address, dcgm::ConnectOptions* options, dcgm::Handle* out) {
  return Answer([&]() -> int {
    if (options->version != dcgm::kConnectVersion) return dcgm::kVersionMismatch;
    if (std::string(address) != "127.0.0.1" || ServiceLife() == 0) return dcgm::kConnectionNotValid;
    *out = static_cast<dcgm::Handle>(Global().next_id++);
    Global().connections[*out] = ServiceLife();
    Log("connected");
    return dcgm::kOk;
  });
}
FAKE int dcgmDisconnect(dcgm::Handle handle) {
  return Answer([&]() -> int {
    Global().watches.clear();  // the fake has one client at a time that watches
    return Global().connections.erase(handle) > 0 ? dcgm::kOk : dcgm::kBadParameter;
  });
}
FAKE int dcgmStartEmbedded(int mode, dcgm::Handle* out) {
  return Answer([&]() -> int {
    if (mode != dcgm::kAutomatic) return dcgm::kBadParameter;
    if (const int code = Global().recording.value("embedded", int{dcgm::kOk})) return code;
    *out = kEmbedded;
    Global().connections[kEmbedded] = 0;
    Log("started");
    return dcgm::kOk;
  });
}
FAKE int dcgmStopEmbedded(dcgm::Handle handle) { return dcgmDisconnect(handle); }

FAKE int dcgmGetAllSupportedDevices(dcgm::Handle handle, unsigned* ids, int* count) {
  return AnswerOn(handle, [&]() -> int {
    *count = static_cast<int>(Global().recording.at("gpus").size());
    for (int i = 0; i < *count; ++i) ids[i] = static_cast<unsigned>(i);
    return dcgm::kOk;
  });
}
FAKE int dcgmEntitiesGetLatestValues(dcgm::Handle handle, dcgm::Entity* entities,
                                     unsigned entity_count, dcgm::Field* fields,
                                     unsigned field_count, unsigned flags, dcgm::EntityValue* out) {
  return AnswerOn(handle, [&]() -> int {
    if (entity_count != 1 || field_count != 1 || *fields != dcgm::kUuidField ||
        flags != dcgm::kLive || entities->kind != dcgm::kGpuEntity) {
      return dcgm::kBadParameter;
    }
    *out = {};
    out->field = *fields;
    const auto uuid = Global().recording.at("gpus").at(entities->id).at("uuid").get<std::string>();
    out->type = dcgm::kTextType;
    std::memcpy(reinterpret_cast<char*>(out) + offsetof(dcgm::EntityValue, number), uuid.c_str(),
                uuid.size() + 1);
    return dcgm::kOk;
  });
}

FAKE int dcgmGroupCreate(dcgm::Handle handle, int kind, const char* /*name*/, dcgm::Group* out) {
  return AnswerOn(handle, [&]() -> int {
    if (kind != dcgm::kEmptyGroup) return dcgm::kBadParameter;
    *out = static_cast<dcgm::Group>(Global().next_id++);
    Global().groups[*out] = {};
    return dcgm::kOk;
  });
}
FAKE int dcgmGroupAddEntity(dcgm::Handle handle, dcgm::Group group, int kind, unsigned entity) {
  return AnswerOn(handle, [&]() -> int {
    if (kind != dcgm::kGpuEntity) return dcgm::kBadParameter;
    Global().groups.at(group).push_back(entity);
    return dcgm::kOk;
  });
}
FAKE int dcgmGroupDestroy(dcgm::Handle handle, dcgm::Group group) {
  return AnswerOn(handle, [&]() -> int {
    return Global().groups.erase(group) > 0 ? dcgm::kOk : dcgm::kBadParameter;
  });
}
FAKE int dcgmFieldGroupCreate(dcgm::Handle handle, int count, dcgm::Field* fields, const char* name,
                              dcgm::FieldGroup* out) {
  return AnswerOn(handle, [&]() -> int {
    for (const auto& [id, taken] : Global().names) {
      if (taken == name) return dcgm::kBadParameter;
    }
    *out = static_cast<dcgm::FieldGroup>(Global().next_id++);
    Global().fields[*out] = {fields, fields + count};
    Global().names[*out] = name;
    return dcgm::kOk;
  });
}
FAKE int dcgmFieldGroupDestroy(dcgm::Handle handle, dcgm::FieldGroup group) {
  return AnswerOn(handle, [&]() -> int {
    Global().names.erase(group);
    return Global().fields.erase(group) > 0 ? dcgm::kOk : dcgm::kBadParameter;
  });
}

// A GPU's "watch": what watching it is answered with; "counts": the fields that it has;
// "at_once": as many of them as one pass takes.
FAKE int dcgmWatchFields(dcgm::Handle handle, dcgm::Group group, dcgm::FieldGroup fields,
                         long long microseconds, double /*keep*/, int /*samples*/) {
  return AnswerOn(handle, [&]() -> int {
    if (microseconds < 100'000) return dcgm::kBadParameter;
    const std::vector<dcgm::Field>& wanted = Global().fields.at(fields);
    for (const unsigned gpu : Global().groups.at(group)) {
      const json& now = Now().at("gpus").at(gpu);
      if (const int code = now.value("watch", int{dcgm::kOk})) return code;
      if (wanted.size() > now.value("at_once", std::size_t{100})) return dcgm::kProfilingMultiPass;
      if (!now.contains("counts")) continue;
      const auto has = now.at("counts").get<std::set<dcgm::Field>>();
      for (const dcgm::Field field : wanted) {
        if (!has.contains(field)) return dcgm::kProfilingNotSupported;
      }
    }
    Global().watches.push_back({group, fields});
    return dcgm::kOk;
  });
}
FAKE int dcgmUnwatchFields(dcgm::Handle handle, dcgm::Group group, dcgm::FieldGroup fields) {
  return AnswerOn(handle, [&]() -> int {
    std::erase_if(Global().watches,
                  [&](const Watched& one) { return one.group == group && one.fields == fields; });
    return dcgm::kOk;
  });
}
FAKE int dcgmGetValuesSince_v2(dcgm::Handle handle, dcgm::Group group, dcgm::FieldGroup fields,
                               long long since, long long* next, dcgm::OnValues* on_values,
                               void* user) {
  return AnswerOn(handle, [&]() -> int {
    const bool watched =
        std::any_of(Global().watches.begin(), Global().watches.end(),
                    [&](const Watched& one) { return one.group == group && one.fields == fields; });
    if (!watched) return dcgm::kNotWatched;
    *next = since;
    for (const unsigned gpu : Global().groups.at(group)) {
      if (const int code = Now().at("gpus").at(gpu).value("values", int{dcgm::kOk})) return code;
      for (const SampleTime& sample : SamplesAfter(since)) {
        if (Emit(gpu, Global().fields.at(fields), sample, on_values, user) < 0) break;
        *next = sample.time;
      }
    }
    return dcgm::kOk;
  });
}

FAKE int dcgmProfPause(dcgm::Handle handle) {
  return AnswerOn(handle, [&]() -> int {
    Global().paused = true;
    Log("paused");
    return dcgm::kOk;
  });
}
FAKE int dcgmProfResume(dcgm::Handle handle) {
  return AnswerOn(handle, [&]() -> int {
    Global().paused = false;
    Log("resumed");
    return dcgm::kOk;
  });
}
