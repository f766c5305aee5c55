#include "collect/gpu/dcgm/dcgm_engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "collect/metrics/gpu_metrics.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::collect {
namespace {

constexpr auto kDcgmTryAgain = std::chrono::seconds(10);
constexpr double kDcgmKeepSeconds = 10;
constexpr std::size_t kMostTextLength = 256;

struct DcgmFigure {
  dcgm::Field field;
  const core::Metric* metric;
};

// Ratios are 0 to 1 and traffic is bytes a second, as ours are. TX leaves the GPU.
constexpr std::array kDcgmFigures{
    DcgmFigure{1001, &kGpuGraphics},    DcgmFigure{1002, &kGpuSm},
    DcgmFigure{1003, &kGpuOccupancy},   DcgmFigure{1004, &kGpuTensor},
    DcgmFigure{1005, &kGpuDram},        DcgmFigure{1006, &kGpuFp64},
    DcgmFigure{1007, &kGpuFp32},        DcgmFigure{1008, &kGpuFp16},
    DcgmFigure{1009, &kGpuGpmPcieSent}, DcgmFigure{1010, &kGpuGpmPcieReceived},
    DcgmFigure{1011, &kGpuNvlinkSent},  DcgmFigure{1012, &kGpuNvlinkReceived},
};

// A GPU without NVLink or with few counters refuses a set as a whole: the first that it takes.
constexpr std::array<dcgm::Field, 12> kAllFields = {1001, 1002, 1003, 1004, 1005, 1006,
                                                    1007, 1008, 1009, 1010, 1011, 1012};
constexpr std::array<dcgm::Field, 7> kMainFields = {1001, 1002, 1003, 1004, 1005, 1009, 1010};
constexpr std::array<dcgm::Field, 4> kCoreFields = {1002, 1003, 1004, 1005};
constexpr std::array<dcgm::Field, 1> kLeastFields = {1002};
constexpr std::array<std::span<const dcgm::Field>, 4> kFieldSets = {kAllFields, kMainFields,
                                                                    kCoreFields, kLeastFields};

bool TooMuchAtOnce(int code) {
  return code == dcgm::kProfilingMultiPass || code == dcgm::kProfilingNotSupported ||
         code == dcgm::kNotSupported || code == dcgm::kUnknownField || code == dcgm::kBadParameter;
}

const core::Metric* MetricOf(dcgm::Field field) {
  const auto found = std::find_if(kDcgmFigures.begin(), kDcgmFigures.end(),
                                  [&](const DcgmFigure& f) { return f.field == field; });
  return found == kDcgmFigures.end() ? nullptr : found->metric;
}

int BlankCode(std::int64_t reason) {
  if (reason == dcgm::kBlankNotSupported) return dcgm::kProfilingNotSupported;
  if (reason == dcgm::kBlankNotPermitted) return dcgm::kNoPermission;
  return dcgm::kPaused;  // it keeps blanks while it is paused
}

// A number, or in `code` why it is none.
std::optional<double> NumberIn(const dcgm::Value& value, int& code) {
  if (value.status != dcgm::kOk) {
    code = value.status;
    return std::nullopt;
  }
  if (value.type == dcgm::kIntegerType) {
    if (value.number.integer >= dcgm::kBlankInteger) {
      code = BlankCode(value.number.integer - dcgm::kBlankInteger);
      return std::nullopt;
    }
    return static_cast<double>(value.number.integer);
  }
  const double real = value.number.real;
  if (value.type != dcgm::kDoubleType || !std::isfinite(real)) {
    code = dcgm::kNoData;
    return std::nullopt;
  }
  if (real >= dcgm::kBlankDouble) {
    code = BlankCode(std::llround(std::min(real - dcgm::kBlankDouble, 16.0)));
    return std::nullopt;
  }
  return real;
}

// What the values of one GPU are taken into.
struct Taken {
  const std::string* instance = nullptr;
  std::vector<core::Reading>* out = nullptr;
  int good = 0;
  int blank = 0;
  int blank_code = dcgm::kOk;
};

int TakeValues(int /*kind*/, unsigned /*entity*/, dcgm::Value* values, int count, void* user) {
  auto& taken = *static_cast<Taken*>(user);
  const auto* at = reinterpret_cast<const std::byte*>(values);
  for (int i = 0; i < count; ++i) {
    dcgm::Value value;
    std::memcpy(&value, at, sizeof(value));
    int code = dcgm::kOk;
    const auto number = NumberIn(value, code);
    const core::Metric* metric = MetricOf(value.field);
    if (number && *number >= 0 && metric != nullptr) {
      taken.out->push_back({metric, *taken.instance, {}, *number});
      ++taken.good;
    } else if (!number && code != dcgm::kNoData) {
      ++taken.blank;
      taken.blank_code = code;
    }
    const std::size_t size = dcgm::SizeIn(value.version);
    if (size < sizeof(value)) break;  // where the next one begins is not known
    at += size;
  }
  return 0;
}

}  // namespace

DcgmEngine::DcgmEngine(Options options, const std::vector<Gpu>& gpus)
    : options_(std::move(options)) {
  for (const Gpu& gpu : gpus) watches_.push_back({.gpu = gpu});
}

DcgmEngine::~DcgmEngine() { Close(); }

void DcgmEngine::Close() {
  if (connection_ == nullptr) return;
  for (Watch& watch : watches_) {
    End(watch);
    watch.known = false;
    watch.next_try = {};
  }
  connection_.reset();
}

std::string DcgmEngine::UuidOf(unsigned id) const {
  // A value is as long as the library's version has it: room for the longest there was, and more.
  std::vector<std::int64_t> room(8192, 0);
  auto* value = reinterpret_cast<dcgm::EntityValue*>(room.data());
  value->status = dcgm::kNoData;
  dcgm::Entity entity{dcgm::kGpuEntity, id};
  dcgm::Field field = dcgm::kUuidField;
  const int code =
      connection_->api().LatestOf(connection_->handle(), &entity, 1, &field, 1, dcgm::kLive, value);
  if (code != dcgm::kOk || value->status != dcgm::kOk || value->type != dcgm::kTextType) return {};
  const auto* text =
      reinterpret_cast<const char*>(room.data()) + offsetof(dcgm::EntityValue, number);
  return {text, ::strnlen(text, kMostTextLength)};
}

// DCGM numbers GPUs by itself; the UUID is the same everywhere.
void DcgmEngine::FindGpus() {
  std::array<unsigned, 8 * dcgm::kMostGpus> ids{};
  int count = 0;
  const int code = connection_->api().Devices(connection_->handle(), ids.data(), &count);
  for (Watch& watch : watches_) watch.code = code == dcgm::kOk ? int{dcgm::kGpuNotSupported} : code;
  if (code != dcgm::kOk) return;
  for (int i = 0; i < std::min<int>(count, ids.size()); ++i) {
    const std::string uuid = UuidOf(ids[static_cast<std::size_t>(i)]);
    for (Watch& watch : watches_) {
      if (uuid.empty() || watch.gpu.uuid != uuid) continue;
      watch.known = true;
      watch.id = ids[static_cast<std::size_t>(i)];
      watch.code = dcgm::kNotWatched;
    }
  }
}

core::Result<void> DcgmEngine::Connect(Clock::time_point now) {
  if (!failure_.message.empty() && now < next_try_) return tl::unexpected(failure_);
  next_try_ = now + kDcgmTryAgain;
  auto connection = DcgmConnection::Open(options_.library, options_.start);
  if (!connection) {
    failure_ = std::move(connection).error();
    return tl::unexpected(failure_);
  }
  failure_ = {};
  connection_ = std::move(*connection);
  FindGpus();
  return {};
}

int DcgmEngine::WatchFigures(Watch& watch) {
  static std::atomic<int> made{0};  // names of field groups must differ within an engine
  const dcgm::Api& api = connection_->api();
  const dcgm::Handle handle = connection_->handle();
  int code = dcgm::kNotSupported;
  for (const std::span<const dcgm::Field> set : kFieldSets) {
    std::vector<dcgm::Field> fields(set.begin(), set.end());
    const std::string name = fmt::format("sharewell-{}-{}", ::getpid(), made++);
    code = api.NewFieldGroup(handle, static_cast<int>(fields.size()), fields.data(), name.c_str(),
                             &watch.fields);
    if (code != dcgm::kOk) return code;
    constexpr auto kMicroseconds = static_cast<long long>(kInterval.value * 1e6);
    code = api.Watch(handle, watch.group, watch.fields, kMicroseconds, kDcgmKeepSeconds, 0);
    if (code == dcgm::kOk) return code;
    api.FreeFieldGroup(handle, watch.fields);
    if (!TooMuchAtOnce(code)) return code;
  }
  return code;
}

void DcgmEngine::Begin(Watch& watch, Clock::time_point now) {
  watch.next_try = now + kDcgmTryAgain;
  const dcgm::Api& api = connection_->api();
  const dcgm::Handle handle = connection_->handle();
  const std::string name = fmt::format("sharewell-{}-gpu-{}", ::getpid(), watch.gpu.instance);
  watch.code = api.NewGroup(handle, dcgm::kEmptyGroup, name.c_str(), &watch.group);
  if (watch.code != dcgm::kOk) return;
  watch.code = api.AddToGroup(handle, watch.group, dcgm::kGpuEntity, watch.id);
  if (watch.code == dcgm::kOk) watch.code = WatchFigures(watch);
  watch.watched = watch.code == dcgm::kOk;
  if (!watch.watched) api.FreeGroup(handle, watch.group);
  watch.since = platform::UnixMicrosNow();
}

void DcgmEngine::End(Watch& watch) {
  if (!std::exchange(watch.watched, false)) return;
  const dcgm::Api& api = connection_->api();
  api.Unwatch(connection_->handle(), watch.group, watch.fields);
  api.FreeFieldGroup(connection_->handle(), watch.fields);
  api.FreeGroup(connection_->handle(), watch.group);
}

void DcgmEngine::Read(Watch& watch, Clock::time_point now, std::vector<core::Reading>& out) {
  Taken taken{.instance = &watch.gpu.instance, .out = &out};
  long long next = watch.since;
  const int code = connection_->api().ValuesSince(connection_->handle(), watch.group, watch.fields,
                                                  watch.since, &next, &TakeValues, &taken);
  if (code != dcgm::kOk && code != dcgm::kNoData) {
    watch.code = code;
    if (!DcgmGone(code)) End(watch);
    watch.next_try = now + kDcgmTryAgain;
    return;
  }
  watch.since = std::max(watch.since, next);
  if (taken.good > 0) {
    watch.code = dcgm::kOk;
  } else if (taken.blank > 0) {
    watch.code = taken.blank_code;  // it stays watched: this may pass
  }
}

core::Result<void> DcgmEngine::Look(Clock::time_point now, std::vector<core::Reading>& out) {
  if (connection_ == nullptr) RETURN_IF_ERROR(Connect(now));
  for (Watch& watch : watches_) {
    if (watch.known && !watch.watched && now >= watch.next_try) Begin(watch, now);
    if (watch.watched) Read(watch, now, out);
    if (!DcgmGone(watch.code)) continue;
    failure_ = {core::ErrorKind::kAbsent, DcgmMeaning(watch.code)};
    next_try_ = now + kDcgmTryAgain;
    Close();
    return tl::unexpected(failure_);
  }
  return Summary();
}

core::Result<void> DcgmEngine::Summary() const {
  std::string text;
  bool any = false;
  for (const Watch& watch : watches_) {
    any = any || watch.code == dcgm::kOk;
    if (watch.code == dcgm::kOk) continue;
    text += fmt::format("{}GPU {}: {}", text.empty() ? "" : "; ", watch.gpu.instance,
                        DcgmMeaning(watch.code));
  }
  if (text.empty()) return {};
  return tl::unexpected(
      core::Error{any ? core::ErrorKind::kFailed : core::ErrorKind::kAbsent, text});
}

std::vector<int> DcgmEngine::Codes() const {
  std::vector<int> codes;
  for (const Watch& watch : watches_) codes.push_back(watch.code);
  return codes;
}

}  // namespace sharewell::collect
