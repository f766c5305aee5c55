#include "collect/gpu/dcgm/dcgm_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>
#include <utility>
#include <vector>

namespace sharewell::collect {
namespace {

constexpr const char* kDcgmService = "127.0.0.1";   // at the service's usual port, 5555
constexpr unsigned kDcgmConnectMilliseconds = 500;  // it answers at once or is not there

dcgm::Api FindDcgmFunctions(void* handle) {
  dcgm::Api api;
  const auto find = [&](auto*& target, const char* name) {
    target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(::dlsym(handle, name));
  };
  find(api.Init, "dcgmInit");
  find(api.StartEmbedded, "dcgmStartEmbedded");
  find(api.StopEmbedded, "dcgmStopEmbedded");
  find(api.Connect, "dcgmConnect_v2");
  find(api.Disconnect, "dcgmDisconnect");
  find(api.Devices, "dcgmGetAllSupportedDevices");
  find(api.LatestOf, "dcgmEntitiesGetLatestValues");
  find(api.NewGroup, "dcgmGroupCreate");
  find(api.AddToGroup, "dcgmGroupAddEntity");
  find(api.FreeGroup, "dcgmGroupDestroy");
  find(api.NewFieldGroup, "dcgmFieldGroupCreate");
  find(api.FreeFieldGroup, "dcgmFieldGroupDestroy");
  find(api.Watch, "dcgmWatchFields");
  find(api.Unwatch, "dcgmUnwatchFields");
  find(api.ValuesSince, "dcgmGetValuesSince_v2");
  find(api.PauseProfiling, "dcgmProfPause");
  find(api.ResumeProfiling, "dcgmProfResume");
  return api;
}

bool HasAll(const dcgm::Api& api) {
  return api.Init != nullptr && api.StartEmbedded != nullptr && api.StopEmbedded != nullptr &&
         api.Connect != nullptr && api.Disconnect != nullptr && api.Devices != nullptr &&
         api.LatestOf != nullptr && api.NewGroup != nullptr && api.AddToGroup != nullptr &&
         api.FreeGroup != nullptr && api.NewFieldGroup != nullptr &&
         api.FreeFieldGroup != nullptr && api.Watch != nullptr && api.Unwatch != nullptr &&
         api.ValuesSince != nullptr;
}

tl::unexpected<core::Error> DcgmAbsent(std::string message) {
  return tl::unexpected(core::Error{core::ErrorKind::kAbsent, std::move(message)});
}

}  // namespace

core::Result<DcgmLibrary> DcgmLibrary::Open(const std::string& path) {
  const std::vector<std::string> names =
      path.empty() ? std::vector<std::string>{"libdcgm.so.4", "libdcgm.so.3"}
                   : std::vector<std::string>{path};
  void* handle = nullptr;
  std::string name, reason;
  for (const std::string& one : names) {
    handle = ::dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) {
      name = one;
      break;
    }
    const char* said = ::dlerror();  // names the file itself
    reason = said != nullptr ? said : one;
  }
  if (handle == nullptr) {
    return DcgmAbsent(
        fmt::format("NVIDIA's data center GPU manager (DCGM) cannot be opened: {}; install "
                    "datacenter-gpu-manager, or name its library in SHAREWELL_DCGM_LIBRARY where "
                    "it lies elsewhere",
                    reason));
  }
  const dcgm::Api api = FindDcgmFunctions(handle);
  if (!HasAll(api)) {
    return DcgmAbsent(fmt::format(
        "{}: is not DCGM 3 or 4: functions are missing; install datacenter-gpu-manager", name));
  }
  if (const int code = api.Init(); code != dcgm::kOk) {
    return DcgmAbsent(fmt::format("{}: does not start: {}", name, DcgmMeaning(code)));
  }
  return DcgmLibrary(api, name);
}

core::Result<std::unique_ptr<DcgmConnection>> DcgmConnection::Open(const std::string& library,
                                                                   Start start) {
  auto opened = DcgmLibrary::Open(library);
  RETURN_IF_ERROR(opened);
  const dcgm::Api& api = opened->api();
  dcgm::Handle handle = 0;
  dcgm::ConnectOptions options{.version = dcgm::kConnectVersion,
                               .keep_after = 0,
                               .milliseconds = kDcgmConnectMilliseconds,
                               .unix_socket = 0};
  const auto made = [&](bool embedded) {
    return std::unique_ptr<DcgmConnection>(
        new DcgmConnection(std::move(*opened), handle, embedded));
  };
  const int code = api.Connect(kDcgmService, &options, &handle);
  if (code == dcgm::kOk) return made(false);
  if (code == dcgm::kVersionMismatch) {
    return DcgmAbsent(fmt::format("DCGM's service does not understand {}: {}", opened->name(),
                                  DcgmMeaning(code)));
  }
  if (start == Start::kNever) {
    return DcgmAbsent(
        "DCGM's service does not run here, and an engine of our own would need root's rights; "
        "start it: systemctl start nvidia-dcgm");
  }
  handle = 0;
  const int started = api.StartEmbedded(dcgm::kAutomatic, &handle);
  if (started != dcgm::kOk || handle == 0) {
    return DcgmAbsent(fmt::format(
        "DCGM's service does not run here, and its engine does not start in this process: {}; "
        "start the service: systemctl start nvidia-dcgm",
        DcgmMeaning(started == dcgm::kOk ? int{dcgm::kError} : started)));
  }
  return made(true);
}

DcgmConnection::~DcgmConnection() {
  if (embedded_) {
    api().StopEmbedded(handle_);
  } else {
    api().Disconnect(handle_);
  }
}

DcgmPause::DcgmPause(const std::string& library) {
  auto connection = DcgmConnection::Open(library, DcgmConnection::Start::kNever);
  if (!connection) return;
  connection_ = std::move(*connection);
  const dcgm::Api& api = connection_->api();
  paused_ = api.PauseProfiling != nullptr && api.ResumeProfiling != nullptr &&
            api.PauseProfiling(connection_->handle()) == dcgm::kOk;
}

DcgmPause::~DcgmPause() {
  if (paused_) connection_->api().ResumeProfiling(connection_->handle());
}

std::string DcgmMeaning(int code) {
  switch (code) {
    case dcgm::kNotSupported:
    case dcgm::kGpuNotSupported:
    case dcgm::kProfilingNotSupported:
      return "DCGM does not count on this GPU: it takes a data center GPU of Volta or later";
    case dcgm::kNoPermission:
    case dcgm::kRequiresRoot:
      return "DCGM may not count: its engine needs root's rights (CAP_SYS_ADMIN); start its "
             "service as root: systemctl start nvidia-dcgm";
    case dcgm::kModuleNotLoaded:
      return "DCGM's profiling module is not loaded: its engine needs root's rights, and the whole "
             "package of DCGM must be installed";
    case dcgm::kInUse:
    case dcgm::kProfilingLibraryError:
      return "the GPU's counters are in use: before Hopper only one program can have them; end "
             "the other profiler or DCGM engine (Nsight, CUPTI, dcgm-exporter with its own)";
    case dcgm::kPaused:
      return "DCGM's profiling is paused; resume it: dcgmi profile --resume";
    case dcgm::kConnectionNotValid:
    case dcgm::kUninitialized:
      return "the connection to DCGM's service was lost; it is tried again by itself";
    case dcgm::kTimeout:
      return "DCGM's service did not answer in time";
    case dcgm::kVersionMismatch:
      return "library and service are of different versions; restart the service: systemctl "
             "restart nvidia-dcgm";
    case dcgm::kGpuIsLost:
      return "the GPU has fallen off the bus";
    default:
      return fmt::format("error {} of DCGM; the log of nv-hostengine may say more", code);
  }
}

bool DcgmGone(int code) {
  return code == dcgm::kConnectionNotValid || code == dcgm::kUninitialized;
}

}  // namespace sharewell::collect
