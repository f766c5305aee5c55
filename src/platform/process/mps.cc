#include "platform/process/mps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/process/descendants.h"
#include "platform/process/find_program.h"
#include "platform/process/process_handle.h"

extern char** environ;

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kMpsPatience = seconds(10);
// A socket's name has room for 107 characters, and the daemon adds to the folder's.
constexpr std::size_t kMostFolder = 80;

constexpr std::size_t kMostAnswer = 16384;
constexpr const char* kEverybody = "--multiuser-server";

struct ControlAnswer {
  bool ended = false;  // in time; else it was killed
  int code = -1;       // its exit code
  std::string text;    // the beginning of what it printed
};

class MemoryFile {
 public:
  explicit MemoryFile(const std::string& contents) : number_(::memfd_create("mps", MFD_CLOEXEC)) {
    if (number_ >= 0 && !contents.empty() &&
        (::write(number_, contents.data(), contents.size()) < 0 ||
         ::lseek(number_, 0, SEEK_SET) < 0)) {
      ::close(number_);
      number_ = -1;
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  std::string Beginning() const {
    std::string block(kMostAnswer, '\0');
    const ssize_t n = ::pread(number_, block.data(), block.size(), 0);
    block.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return block;
  }

 private:
  int number_;
};

bool WaitFor(pid_t pid, int& status, seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (true) {
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
}

// A daemon outlives the server and serves all users: it gets what finds programs, libraries and
// GPUs, and nothing else of the server's environment, which may hold passwords.
bool MayInherit(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  for (const std::string_view known : {"PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"}) {
    if (name == known) return true;
  }
  return name.starts_with("CUDA_") || name.starts_with("NVIDIA_");
}

// Runs the control program with `input` to read. In a session of its own: Ctrl-C is for us. What it
// prints goes into memory, not into a pipe: the daemon it leaves behind would hold that open.
core::Result<ControlAnswer> RunControl(const std::string& program,
                                       const std::vector<std::string>& arguments,
                                       const Environment& added, const std::string& input) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const auto& one) {
      return text.starts_with(one.first) && text.substr(one.first.size()).starts_with('=');
    });
    if (!replaced && MayInherit(text)) entries.emplace_back(text);
  }
  for (const auto& [name, value] : added) entries.push_back(name + "=" + value);
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };

  const MemoryFile in(input), out("");
  if (in.number() < 0 || out.number() < 0) {
    return core::FailedError("cannot start {}: {}", core::Quoted(program), std::strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.number(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.number(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.number(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                 pointers(words).data(), pointers(entries).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    return core::FailedError("cannot start {}: {}", core::Quoted(program), std::strerror(code));
  }
  ControlAnswer answer;
  int status = 0;
  answer.ended = WaitFor(pid, status, kMpsPatience);
  if (!answer.ended) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  answer.text = out.Beginning();
  return answer;
}

core::Result<std::string> FindControl(const std::string& program) {
  const char* path = std::getenv("PATH");
  auto found = FindProgram(program, path != nullptr ? path : "");
  if (found) return found;
  return tl::unexpected(core::Error{
      core::ErrorKind::kAbsent,
      fmt::format("CUDA MPS is not here: {}; it comes with NVIDIA's driver (on Debian: apt-get "
                  "install nvidia-cuda-mps)",
                  found.error().message)});
}

std::string PipesIn(const std::string& folder) { return folder + "/pipe"; }
std::string LogsIn(const std::string& folder) { return folder + "/log"; }

Environment DaemonEnvironment(const MpsOptions& options) {
  Environment environment{{"CUDA_MPS_PIPE_DIRECTORY", PipesIn(options.folder)},
                          {"CUDA_MPS_LOG_DIRECTORY", LogsIn(options.folder)}};
  if (!options.gpus.empty()) environment.emplace_back("CUDA_VISIBLE_DEVICES", options.gpus);
  return environment;
}

core::Result<bool> Answers(const std::string& program, const std::string& pipes) {
  auto answer = RunControl(program, {}, {{"CUDA_MPS_PIPE_DIRECTORY", pipes}}, "get_server_list\n");
  RETURN_IF_ERROR(answer);
  return answer->ended && answer->code == 0;
}

// The daemon writes its number there; 0: not to be found, or written by somebody else.
pid_t DaemonPid(const std::string& folder) {
  const std::string path = PipesIn(folder) + "/nvidia-cuda-mps-control.pid";
  struct stat state {};
  if (::lstat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode) ||
      state.st_uid != ::geteuid()) {
    return 0;
  }
  std::ifstream file(path);
  pid_t pid = 0;
  return file >> pid && pid > 1 ? pid : 0;
}

// The words of /proc/PID/cmdline or environ.
std::vector<std::string> WordsOf(pid_t pid, const char* which) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, which), std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(std::move(word));
  return words;
}

// A number may have been given to another process since the daemon wrote it down.
bool HasName(pid_t pid, const std::string& program) {
  const auto words = WordsOf(pid, "cmdline");
  const auto name = fs::path(program).filename();
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return fs::path(word).filename() == name; });
}

// Before anybody is killed: the daemon was given our pipes; its clients have those alone. Who may
// not see the environment has the name to go by.
bool IsDaemon(pid_t pid, const std::string& program, const std::string& pipes) {
  if (!HasName(pid, program)) return false;
  const auto environment = WordsOf(pid, "environ");
  return environment.empty() || std::find(environment.begin(), environment.end(),
                                          "CUDA_MPS_PIPE_DIRECTORY=" + pipes) != environment.end();
}

// SIGKILL to the daemon and to nobody else: false where the number is not, or no longer, its own.
bool KillDaemon(pid_t pid, const std::string& program, const std::string& pipes) {
  return SignalProcess(pid, SIGKILL, [&] { return IsDaemon(pid, program, pipes); });
}

bool Lives(pid_t pid) {
  if (pid <= 1) return false;
  ::waitpid(pid, nullptr, WNOHANG);  // it may have been adopted by us
  ProcessStat stat;
  return ReadProcessStat(pid, stat) && stat.state != 'Z' && stat.state != 'X';
}

}  // namespace

core::Result<bool> MpsServesEverybody(const std::string& program) {
  const auto found = FindControl(program);
  RETURN_IF_ERROR(found);
  const auto answer = RunControl(*found, {"--help"}, {}, "");
  RETURN_IF_ERROR(answer);
  // Older ones say that they do not know the flag, and some end with an error after their help.
  return answer->text.find(kEverybody) != std::string::npos;
}

core::Result<bool> MpsRuns(const std::string& pipes, const std::string& program) {
  const auto found = FindControl(program);
  RETURN_IF_ERROR(found);
  return Answers(*found, pipes);
}

core::Result<std::unique_ptr<MpsServer>> MpsServer::Start(const MpsOptions& options) {
  const auto program = FindControl(options.program);
  RETURN_IF_ERROR(program);
  if (options.folder.empty() || options.folder.size() > kMostFolder) {
    return core::UsageError("{}: a folder for MPS must have a name of 1 to {} characters",
                            core::Quoted(options.folder), kMostFolder);
  }
  std::error_code error;
  for (const std::string& folder : {PipesIn(options.folder), LogsIn(options.folder)}) {
    fs::create_directories(folder, error);
    if (error) {
      return core::FailedError("{}: cannot be made: {}", core::Quoted(folder), error.message());
    }
  }
  const auto runs = Answers(*program, PipesIn(options.folder));
  RETURN_IF_ERROR(runs);
  if (*runs) {
    return core::UsageError(
        "{0}: an MPS daemon already runs there; end it first: echo quit | "
        "CUDA_MPS_PIPE_DIRECTORY={1} {2}",
        options.folder, PipesIn(options.folder), options.program);
  }
  std::vector<std::string> flags{"-d"};
  if (options.everybody) flags.emplace_back(kEverybody);
  const auto answer = RunControl(*program, flags, DaemonEnvironment(options), "");
  RETURN_IF_ERROR(answer);
  if (!answer->ended || answer->code != 0) {
    return core::FailedError("the MPS daemon does not start: {}; its log: {}/control.log",
                             !answer->ended ? "it does not come back within 10 s"
                             : answer->text.empty()
                                 ? fmt::format("it ends with code {}", answer->code)
                                 : core::Quoted(answer->text.substr(0, answer->text.find('\n'))),
                             LogsIn(options.folder));
  }
  return std::unique_ptr<MpsServer>(new MpsServer(options, *program));
}

core::Result<std::unique_ptr<MpsServer>> MpsServer::Find(const MpsOptions& options) {
  const auto program = FindControl(options.program);
  RETURN_IF_ERROR(program);
  // Not asked when nobody can be there: asking takes its time.
  const pid_t pid = DaemonPid(options.folder);
  const auto runs = Lives(pid) && HasName(pid, *program)
                        ? Answers(*program, PipesIn(options.folder))
                        : core::Result<bool>(false);
  RETURN_IF_ERROR(runs);
  if (!*runs) {
    return tl::unexpected(
        core::Error{core::ErrorKind::kAbsent, options.folder + ": no MPS daemon runs there"});
  }
  return std::unique_ptr<MpsServer>(new MpsServer(options, *program));
}

bool MpsServer::Alive() const {
  const pid_t pid = DaemonPid(options_.folder);
  return Lives(pid) && HasName(pid, program_);
}

std::string MpsServer::pipes() const { return PipesIn(options_.folder); }

MpsServer::~MpsServer() {
  // Whoever wants to know how it went calls Stop.
  [[maybe_unused]] const auto stopped = Stop();
}

Environment MpsServer::ClientEnvironment(const MpsLimits& limits) const {
  Environment environment{{"CUDA_MPS_PIPE_DIRECTORY", PipesIn(options_.folder)},
                          {"CUDA_MPS_LOG_DIRECTORY", LogsIn(options_.folder)}};
  if (limits.threads) {
    const double percent = std::clamp(*limits.threads, 0.01, 1.0) * 100;
    environment.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", fmt::format("{:.6g}", percent));
  }
  if (limits.priority) {
    environment.emplace_back("CUDA_MPS_CLIENT_PRIORITY", fmt::format("{}", *limits.priority));
  }
  if (limits.memory) {
    const double mebibytes = std::max(std::floor(limits.memory->value / (1024 * 1024)), 1.0);
    std::string text;
    for (int i = 0; i < limits.gpus; ++i) {
      text += fmt::format("{}{}={:.0f}M", i > 0 ? "," : "", i, mebibytes);
    }
    environment.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", text);
  }
  return environment;
}

core::Result<void> MpsServer::Stop() {
  if (!std::exchange(running_, false)) return {};
  pid_t daemon = DaemonPid(options_.folder);
  if (daemon != 0 && !IsDaemon(daemon, program_, pipes())) daemon = 0;
  // Clients that still run have 5 s; without a limit it would wait for them for ever.
  const auto answer = RunControl(program_, {}, DaemonEnvironment(options_), "quit -t 5\n");
  const bool quit = answer && answer->ended && answer->code == 0;
  if (daemon != 0) {
    const auto end = std::chrono::steady_clock::now() + seconds(5);
    while (quit && Lives(daemon) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    if (Lives(daemon) && KillDaemon(daemon, program_, pipes())) {
      return core::FailedError("{}: the MPS daemon did not end when told to and was killed",
                               options_.folder);
    }
  } else if (!quit) {
    return core::FailedError(
        "{}: the MPS daemon may still run; end it: echo quit | CUDA_MPS_PIPE_DIRECTORY={} {}",
        options_.folder, PipesIn(options_.folder), options_.program);
  }
  return {};
}

}  // namespace sharewell::platform
