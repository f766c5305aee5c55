#include "engine/slurm/read/slurm_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/text/quoted.h"
#include "platform/process/find_program.h"

extern char** environ;

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;
using SlurmClock = std::chrono::steady_clock;

constexpr std::size_t kMostSlurmOutput = std::size_t{256} << 20;
constexpr std::size_t kSlurmBlock = std::size_t{64} << 10;

class SlurmFile {
 public:
  explicit SlurmFile(int number = -1) : number_(number) {}
  SlurmFile(const SlurmFile&) = delete;
  SlurmFile& operator=(const SlurmFile&) = delete;
  ~SlurmFile() { Close(); }
  int number() const { return number_; }
  void Set(int number) {
    Close();
    number_ = number;
  }
  void Close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// The command reads from memory: nobody has to feed it, and it may stop reading whenever it likes.
Result<void> OpenInput(const std::string& input, SlurmFile& to) {
  to.Set(::memfd_create("slurm", MFD_CLOEXEC));
  std::size_t written = 0;
  while (to.number() >= 0 && written < input.size()) {
    const ssize_t n = ::write(to.number(), input.data() + written, input.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (to.number() < 0 || written < input.size() || ::lseek(to.number(), 0, SEEK_SET) < 0) {
    return FailedError("cannot hold what a Slurm command reads: {}", std::strerror(errno));
  }
  return {};
}

struct SlurmPipe {
  SlurmFile ours, theirs;
  std::string* to = nullptr;
  bool cut = false;

  bool Open(std::string& text) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    ours.Set(ends[0]);
    theirs.Set(ends[1]);
    to = &text;
    return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
  // What is there now. What is beyond the limit is read and dropped, so that the command ends.
  void Read() {
    std::array<char, kSlurmBlock> block;
    while (ours.number() >= 0) {
      const ssize_t n = ::read(ours.number(), block.data(), block.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        ours.Close();
        return;
      }
      const auto room = std::min(static_cast<std::size_t>(n), kMostSlurmOutput - to->size());
      to->append(block.data(), room);
      cut = cut || room < static_cast<std::size_t>(n);
    }
  }
};

// Variables by which a user shapes what Slurm's commands print: ours is read by a program.
bool ShapesOutput(std::string_view name) {
  for (const std::string_view prefix : {"SQUEUE_", "SINFO_", "SCONTROL_", "SACCT_", "SCANCEL_"}) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view known :
       {"LC_ALL", "LANG", "LANGUAGE", "TZ", "SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN", "SLURM_JSON",
        "SLURM_YAML", "SLURM_DEBUG"}) {
    if (name == known) return true;
  }
  return false;
}

// sbatch hands its environment to the job, and reads times of day as the user means them: it gets
// ours as it is.
std::vector<std::string> SlurmEnvironment(std::string_view command) {
  command = command.substr(command.rfind('/') + 1);
  const bool submits = command == "sbatch" || command == "srun" || command == "salloc";
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (submits || !ShapesOutput(text.substr(0, text.find('=')))) out.emplace_back(text);
  }
  if (!submits) {
    out.insert(out.end(),
               {"LC_ALL=C", "TZ=UTC0", "SLURM_TIME_FORMAT=standard", "SLURM_BITSTR_LEN=0"});
  }
  return out;
}

std::vector<char*> SlurmPointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// In a process group of its own, so that all of it can be killed.
Result<pid_t> SpawnSlurm(const std::string& program, std::vector<std::string> words, int in,
                         int out, int err) {
  auto environment =
      SlurmEnvironment(words.size() > 2 && words[0] == "setpriv" ? words[2] : words[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int code = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                 SlurmPointers(words).data(), SlurmPointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return FailedError("cannot start {}: {}", Quoted(program), std::strerror(code));
  return pid;
}

// What reads its commands from us dies with us: it would else go on with all of them beside the
// next server, which has read before what they change.
Result<pid_t> SpawnTied(const std::string& program, std::vector<std::string> words, int in, int out,
                        int err, const std::string& path) {
  const auto tie = platform::FindProgram("setpriv", path);
  if (!tie) return SpawnSlurm(program, std::move(words), in, out, err);
  words[0] = program;
  words.insert(words.begin(), {"setpriv", "--pdeathsig=KILL"});
  return SpawnSlurm(*tie, std::move(words), in, out, err);
}

// Nobody reaps a process that was started here but this; where somebody did, how it ended is lost.
bool HasEnded(pid_t pid, int& status) {
  pid_t got = 0;
  do {
    got = ::waitpid(pid, &status, WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got < 0) status = 0xff00;
  return got != 0;
}

class CommandDriver : public SlurmDriver {
 public:
  Result<SlurmAnswer> Run(const std::vector<std::string>& words, const std::string& input,
                          core::Seconds limit) override {
    SHAREWELL_CHECK(!words.empty());
    const char* path = std::getenv("PATH");
    auto program = platform::FindProgram(words[0], path != nullptr ? path : "");
    if (!program) {
      return tl::unexpected(core::Error{
          core::ErrorKind::kAbsent,
          fmt::format("Slurm's command {} is not here: {}; on Debian: apt-get install slurm-client",
                      Quoted(words[0]), program.error().message)});
    }
    SlurmAnswer answer;
    SlurmFile in;
    SlurmPipe out, err;
    RETURN_IF_ERROR(OpenInput(input, in));
    if (!out.Open(answer.output) || !err.Open(answer.errors)) {
      return FailedError("cannot open a pipe for {}: {}", words[0], std::strerror(errno));
    }
    auto pid = input.empty() ? SpawnSlurm(*program, words, in.number(), out.theirs.number(),
                                          err.theirs.number())
                             : SpawnTied(*program, words, in.number(), out.theirs.number(),
                                         err.theirs.number(), path != nullptr ? path : "");
    RETURN_IF_ERROR(pid);
    out.theirs.Close();
    err.theirs.Close();
    int status = 0;
    const auto end =
        SlurmClock::now() + std::chrono::duration_cast<SlurmClock::duration>(
                                std::chrono::duration<double>(std::min(limit.value, 86400.0)));
    if (!Follow(*pid, end, out, err, status)) {
      ::kill(-*pid, SIGKILL);
      while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
      }
      return FailedError(
          "{} did not answer within {} s and was stopped; is slurmctld up? try: scontrol ping",
          words[0], limit.value);
    }
    if (out.cut || err.cut) {
      return FailedError("{} printed more than {} MiB, which is more than is read", words[0],
                         kMostSlurmOutput >> 20);
    }
    answer.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return answer;
  }

 private:
  // False: it runs still. What it has left behind is not waited for once it has ended.
  static bool Follow(pid_t pid, SlurmClock::time_point end, SlurmPipe& out, SlurmPipe& err,
                     int& status) {
    auto pause = std::chrono::milliseconds(1);
    while (true) {
      const bool ended = HasEnded(pid, status);
      out.Read();
      err.Read();
      if (ended) return true;
      // After the reads, which close them: nothing would ever come from those.
      const bool open = out.ours.number() >= 0 || err.ours.number() >= 0;
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - SlurmClock::now());
      if (left.count() <= 0) return false;
      // An end is seen by the pipes that close. One that closed them and runs on is looked for.
      if (open) {
        std::array<pollfd, 2> wait{pollfd{out.ours.number(), POLLIN, 0},
                                   pollfd{err.ours.number(), POLLIN, 0}};
        ::poll(wait.data(), wait.size(),
               static_cast<int>(std::min<std::int64_t>(left.count() + 1, 50)));
      } else {
        std::this_thread::sleep_for(std::min(left, pause));
        pause = std::min(pause * 2, std::chrono::milliseconds(20));
      }
    }
  }
};

}  // namespace

std::unique_ptr<SlurmDriver> NewCommandDriver() { return std::make_unique<CommandDriver>(); }

}  // namespace sharewell::engine
