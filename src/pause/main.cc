// sharewell-pause pause|resume FOLDER: moves what the processes of a job's run have in GPU memory
// to the host's memory, or brings it back, and writes down in the run's folder what was reached
// (engine/local/run/pause_file.h). A process of its own: the driver's calls take seconds, and one
// that never returns must not hold up the server. It depends on no other process and goes on when
// the server is killed; one at a time in a folder, the next waits.
//
// sharewell-pause check: whether the driver can.
//
// Exit: 0 it is so; 1 it is not, and the folder says why; 3 the driver cannot, and stderr says why.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "engine/local/run/job_files.h"
#include "engine/local/run/pause_file.h"
#include "platform/process/cuda_checkpoint.h"
#include "platform/process/process_tree.h"

namespace sharewell {
namespace {

using engine::PauseState;

constexpr int kRounds = 5;  // a process that began to use CUDA meanwhile is paused in the next

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

bool WriteState(const std::string& folder, const PauseState& state) {
  const std::string path = folder + "/" + engine::kPauseFile, draft = path + ".tmp";
  const std::string text = engine::PauseText(state);
  const int file =
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (file >= 0) ::close(file);
  return written && ::rename(draft.c_str(), path.c_str()) == 0;
}

// The supervisor's pid; 0: none is alive there. It holds its lock as long as it lives.
int SupervisorIn(const std::string& folder) {
  const std::string path = folder + "/" + engine::kLockFile;
  const int lock = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0) return 0;
  const bool alive = ::flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(lock);
  return alive ? std::atoi(ReadAll(path).c_str()) : 0;
}

std::int64_t ResidentBytes(const std::vector<int>& pids) {
  std::int64_t sum = 0;
  for (const int pid : pids) {
    std::ifstream file(fmt::format("/proc/{}/statm", pid));
    std::int64_t size = 0, resident = 0;
    if (file >> size >> resident) sum += resident * ::sysconf(_SC_PAGESIZE);
  }
  return sum;
}

class Run {
 public:
  Run(std::string folder, const platform::CudaCheckpoint& cuda)
      : folder_(std::move(folder)),
        cuda_(cuda),
        state_(engine::ParsePause(ReadAll(folder_ + "/" + engine::kPauseFile))) {}

  bool Pause() {
    state_.error.clear();
    const int top = SupervisorIn(folder_);
    if (top == 0) return Fail("it does not run any more");
    std::vector<int> pids = CudaProcesses(cuda_, platform::ProcessTree(top));
    if (pids.empty()) {
      return Fail(
          "none of its processes uses CUDA; it has not begun to, or its container runs them "
          "elsewhere");
    }
    const std::int64_t before = ResidentBytes(pids);
    const bool is_new = !AllAre(pids, platform::CudaState::kCheckpointed);
    Enter(PauseState::State::kPausing);
    for (int i = 0; i < kRounds; ++i) {
      if (auto done = cuda_.Pause(pids); !done) {
        (void)cuda_.Resume(pids);  // those of an earlier round
        return Fail(done.error().message);
      }
      pids = CudaProcesses(cuda_, platform::ProcessTree(top));
      if (AllAre(pids, platform::CudaState::kCheckpointed)) break;
    }
    if (pids.empty()) return Fail("it has ended");
    if (is_new) {
      ++state_.pauses;
      state_.bytes = std::max<std::int64_t>(ResidentBytes(pids) - before, 0);
    }
    Enter(PauseState::State::kPaused);
    return true;
  }

  bool Resume() {
    state_.error.clear();
    const int top = SupervisorIn(folder_);
    if (top == 0) return Fail("it does not run any more");
    const std::vector<int> pids = CudaProcesses(cuda_, platform::ProcessTree(top));
    Enter(PauseState::State::kResuming);
    if (auto done = cuda_.Resume(pids); !done) return Fail(done.error().message);
    Enter(PauseState::State::kRunning);
    return true;
  }

 private:
  bool AllAre(const std::vector<int>& pids, platform::CudaState state) const {
    return std::all_of(pids.begin(), pids.end(),
                       [&](int pid) { return cuda_.StateOf(pid) == state; });
  }

  // The time of a pause counts from its beginning to the end of the resume.
  void Enter(PauseState::State state) {
    const std::int64_t now = NowMs();
    const bool was = IsPause(state_.state), is = IsPause(state);
    if (was && !is) state_.paused_ms += now - state_.since_ms;
    if (was != is || state_.since_ms == 0) state_.since_ms = now;
    state_.state = state;
    WriteState(folder_, state_);
  }
  static bool IsPause(PauseState::State state) { return state != PauseState::State::kRunning; }

  // As the driver has it, whatever was tried.
  bool Fail(std::string why) {
    state_.error = std::move(why);
    const int top = SupervisorIn(folder_);
    const std::vector<int> pids =
        top == 0 ? std::vector<int>() : CudaProcesses(cuda_, platform::ProcessTree(top));
    const bool paused = std::any_of(pids.begin(), pids.end(), [&](int pid) {
      const auto state = cuda_.StateOf(pid);
      return state && *state != platform::CudaState::kRunning;
    });
    Enter(paused ? PauseState::State::kPaused : PauseState::State::kRunning);
    return false;
  }

  const std::string folder_;
  const platform::CudaCheckpoint& cuda_;
  PauseState state_;
};

int Main(const std::string& verb, const std::string& folder) {
  // Half a pause is worse than either: whoever ends the server does not end this.
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) std::signal(signal, SIG_IGN);
  // An MPS daemon of this machine is no concern of ours.
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.empty() ? "/nonexistent" : folder.c_str(), 1);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  const char* library = std::getenv("SHAREWELL_CUDA_LIBRARY");
  const auto cuda = platform::CudaCheckpoint::Open(library == nullptr ? "" : library);
  if (verb == "check") {
    if (cuda) return 0;
    std::fprintf(stderr, "%s\n", cuda.error().message.c_str());
    return 3;
  }
  const std::string lock_path = folder + "/" + engine::kPauseLockFile;
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) {
    std::fprintf(stderr, "cannot use %s: %s\n", lock_path.c_str(), std::strerror(errno));
    return 2;
  }
  while (::flock(lock, LOCK_EX) != 0 && errno == EINTR) {
  }
  if (!cuda) {
    PauseState state = engine::ParsePause(ReadAll(folder + "/" + engine::kPauseFile));
    state.error = cuda.error().message;
    WriteState(folder, state);
    return 1;
  }
  Run run(folder, *cuda);
  return (verb == "pause" ? run.Pause() : run.Resume()) ? 0 : 1;
}

}  // namespace
}  // namespace sharewell

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (!(verb == "check" && argc == 2) && !((verb == "pause" || verb == "resume") && argc == 3)) {
    std::fputs("usage: sharewell-pause pause|resume FOLDER\n       sharewell-pause check\n",
               stderr);
    return 2;
  }
  return sharewell::Main(verb, argc == 3 ? argv[2] : "");
}
