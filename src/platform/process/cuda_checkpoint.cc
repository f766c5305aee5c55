#include "platform/process/cuda_checkpoint.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

namespace sharewell::platform {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
// What libcuda answers (cuda.h).
constexpr int kSuccess = 0, kInvalidValue = 1, kNotInitialised = 3, kInvalidContext = 201,
              kNotPermitted = 800, kNotSupported = 801;
// How long a process may take to come to the end of the calls it is in.
constexpr std::uint32_t kLockMilliseconds = 30'000;

// The driver's structs are of 64 bytes, reserved fields zero.
constexpr std::size_t kArgumentWords = 16;

using ProcessCall = int(int pid, std::uint32_t* arguments);
using StateCall = int(int pid, int* state);

core::Error Refused(const char* what, int pid, int code, const std::string& words) {
  std::string why;
  switch (code) {
    case kNotSupported:
      why =
          "the driver does not move the memory of such a process (clients of MPS, and "
          "processes that share GPU memory with others, are such)";
      break;
    case kNotPermitted:
      why = "only root, or the process's own user, may do that";
      break;
    default:
      why = words.empty() ? "the driver gives no reason" : words;
  }
  return core::Error{
      core::ErrorKind::kFailed,
      fmt::format("process {} could not be {}: {} (CUDA error {})", pid, what, why, code)};
}

}  // namespace

struct CudaCheckpoint::Api {
  void* handle = nullptr;
  ProcessCall *lock = nullptr, *checkpoint = nullptr, *restore = nullptr, *unlock = nullptr;
  StateCall* state = nullptr;
  int (*init)(unsigned) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  Api() = default;
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;
  // The driver's library does not like to be unloaded.
  ~Api() = default;

  template <class Function>
  bool Find(const char* name, Function*& out) const {
    out = reinterpret_cast<Function*>(::dlsym(handle, name));
    return out != nullptr;
  }

  // Some drivers want to be initialised first, others need not be: that takes a moment, and is done
  // once it is asked for.
  template <class Call>
  int Ask(Call&& call) const {
    const int answer = call();
    if (answer != kNotInitialised || init == nullptr || init(0) != kSuccess) return answer;
    return call();
  }

  int Call(ProcessCall* call, int pid, std::uint32_t first_word = 0) const {
    return Ask([&] {
      std::array<std::uint32_t, kArgumentWords> arguments{};
      arguments[0] = first_word;
      return call(pid, arguments.data());
    });
  }
  core::Result<void> Do(ProcessCall* call, const char* what, int pid) const {
    return AnswerOf(Call(call, pid), what, pid);
  }
  core::Result<void> AnswerOf(int code, const char* what, int pid) const {
    if (code == kSuccess) return {};
    const char* words = nullptr;
    if (error_text == nullptr || error_text(code, &words) != kSuccess) words = nullptr;
    return tl::unexpected(Refused(what, pid, code, words == nullptr ? "" : words));
  }
  // False: it has no CUDA to be held, whatever the driver said of its state.
  core::Result<bool> Lock(int pid) const {
    const int code = Call(lock, pid, kLockMilliseconds);
    if (code == kInvalidValue || code == kNotInitialised || code == kInvalidContext) return false;
    if (auto done = AnswerOf(code, "held", pid); !done) return tl::unexpected(done.error());
    return true;
  }
  core::Result<void> Checkpoint(int pid) const { return Do(checkpoint, "moved to the host", pid); }
  core::Result<void> Restore(int pid) const { return Do(restore, "brought back", pid); }
  core::Result<void> Unlock(int pid) const { return Do(unlock, "let go on", pid); }
};

CudaCheckpoint::CudaCheckpoint(std::unique_ptr<Api> api) : api_(std::move(api)) {}
CudaCheckpoint::~CudaCheckpoint() = default;
CudaCheckpoint::CudaCheckpoint(CudaCheckpoint&&) noexcept = default;
CudaCheckpoint& CudaCheckpoint::operator=(CudaCheckpoint&&) noexcept = default;

core::Result<CudaCheckpoint> CudaCheckpoint::Open(const std::string& library) {
  const std::string path = library.empty() ? kLibrary : library;
  auto api = std::make_unique<Api>();
  api->handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (api->handle == nullptr) {
    const char* why = ::dlerror();
    return tl::unexpected(core::Error{
        core::ErrorKind::kAbsent, fmt::format("NVIDIA's CUDA driver library cannot be opened: {}",
                                              why == nullptr ? path : why)});
  }
  if (!api->Find("cuCheckpointProcessLock", api->lock) ||
      !api->Find("cuCheckpointProcessCheckpoint", api->checkpoint) ||
      !api->Find("cuCheckpointProcessRestore", api->restore) ||
      !api->Find("cuCheckpointProcessUnlock", api->unlock) ||
      !api->Find("cuCheckpointProcessGetState", api->state)) {
    return tl::unexpected(
        core::Error{core::ErrorKind::kAbsent,
                    fmt::format("the NVIDIA driver's {} cannot move a running process's memory; "
                                "drivers from 570 on can",
                                path)});
  }
  api->Find("cuInit", api->init);
  api->Find("cuGetErrorString", api->error_text);
  return CudaCheckpoint(std::move(api));
}

std::optional<CudaState> CudaCheckpoint::StateOf(int pid) const {
  int state = -1;
  if (api_->Ask([&] { return api_->state(pid, &state); }) != kSuccess) return std::nullopt;
  return state >= 0 && state <= 3 ? std::optional(static_cast<CudaState>(state)) : std::nullopt;
}

core::Result<void> CudaCheckpoint::Pause(const std::vector<int>& pids) const {
  std::vector<int> locked, moved;
  std::size_t there = 0;  // already
  const auto back = [&](core::Error why) {
    for (auto pid = moved.rbegin(); pid != moved.rend(); ++pid) (void)api_->Restore(*pid);
    for (auto pid = locked.rbegin(); pid != locked.rend(); ++pid) (void)api_->Unlock(*pid);
    return tl::unexpected(std::move(why));
  };
  for (const int pid : pids) {
    const auto state = StateOf(pid);
    if (state == CudaState::kCheckpointed) {
      ++there;
      continue;
    }
    if (state == CudaState::kFailed) {
      return back(Refused("moved to the host", pid, 0, "the driver says that it has failed"));
    }
    if (state != CudaState::kLocked) {
      auto done = api_->Lock(pid);
      if (!done) return back(std::move(done.error()));
      if (!*done) continue;
    }
    locked.push_back(pid);
  }
  if (locked.empty() && there == 0) {
    return core::FailedError("none of its processes uses CUDA, so there is nothing to move");
  }
  for (const int pid : locked) {
    if (auto done = api_->Checkpoint(pid); !done) return back(std::move(done.error()));
    moved.push_back(pid);
  }
  return {};
}

core::Result<void> CudaCheckpoint::Resume(const std::vector<int>& pids) const {
  std::vector<int> restored;
  for (const int pid : pids) {
    const auto state = StateOf(pid);
    if (state == CudaState::kFailed) {
      return tl::unexpected(
          Refused("brought back", pid, 0, "the driver says that it has failed; cancel the job"));
    }
    if (state != CudaState::kCheckpointed) continue;
    if (auto done = api_->Restore(pid); !done) {
      for (const int other : restored) (void)api_->Checkpoint(other);
      return done;
    }
    restored.push_back(pid);
  }
  for (const int pid : pids) {
    if (StateOf(pid) != CudaState::kLocked) continue;
    if (auto done = api_->Unlock(pid); !done) return done;
  }
  return {};
}

std::vector<int> CudaProcesses(const CudaCheckpoint& cuda, const std::vector<int>& pids) {
  std::vector<int> found;
  for (const int pid : pids) {
    if (cuda.StateOf(pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace sharewell::platform
