#include "advice/watch_step.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "graph/step/told_step.h"
#include "platform/files/watch_lines.h"
#include "platform/files/watcher_files.h"
#include "platform/process/child.h"
#include "platform/process/passed_signals.h"

namespace sharewell::advice {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr core::Seconds kLook{0.05};
constexpr int kPipeBytes = 1 << 20;  // a whole document fits at once

// A folder of our own, gone afterwards, with the watcher and a pipe for what it says.
class WatchFolder {
 public:
  static core::Result<std::unique_ptr<WatchFolder>> Make() {
    std::error_code failed;
    const fs::path temporary = fs::temp_directory_path(failed);
    std::string pattern = (temporary / "sharewell-watch-XXXXXX").string();
    if (failed || ::mkdtemp(pattern.data()) == nullptr) {
      return core::FailedError(
          "no folder for the watcher can be made in {}: {}; make room there, or set TMPDIR",
          failed ? "TMPDIR" : temporary.string(),
          failed ? failed.message() : std::generic_category().message(errno));
    }
    std::unique_ptr<WatchFolder> folder(new WatchFolder(pattern));
    RETURN_IF_ERROR(platform::WriteWatcher(folder->watcher()));
    if (::mkfifo(folder->pipe().c_str(), 0600) == 0) {
      // For writing too: so it is never at its end while nobody else writes.
      folder->fd_ = ::open(folder->pipe().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }
    if (folder->fd_ < 0) {
      return core::FailedError(
          "{}: the watcher's pipe cannot be made: {}; set TMPDIR to a folder "
          "on a file system that has named pipes",
          folder->pipe(), std::generic_category().message(errno));
    }
    ::fcntl(folder->fd_, F_SETPIPE_SZ, kPipeBytes);
    return folder;
  }
  ~WatchFolder() {
    if (fd_ >= 0) ::close(fd_);
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WatchFolder(const WatchFolder&) = delete;
  WatchFolder& operator=(const WatchFolder&) = delete;

  std::string watcher() const { return path_ + "/watcher"; }
  std::string pipe() const { return path_ + "/pipe"; }

  void ReadInto(platform::WatchLines& lines) const {
    std::array<char, 65'536> bytes;
    for (;;) {
      const ssize_t got = ::read(fd_, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      lines.Read({bytes.data(), static_cast<std::size_t>(got)});
    }
  }

 private:
  explicit WatchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
  int fd_ = -1;
};

platform::ChildOptions OptionsOf(const StepWatch& watch, const WatchFolder& folder) {
  platform::ChildOptions options;
  options.command = watch.command;
  options.reads_stdin = true;
  const char* before = std::getenv("PYTHONPATH");
  options.environment = {{"PYTHONPATH", platform::WatcherPythonPath(
                                            folder.watcher(), before != nullptr ? before : "")},
                         {"SHAREWELL_WATCH_PIPE", folder.pipe()},
                         {"SHAREWELL_WATCH", "1"}};
  if (watch.output_to_stderr) {
    options.out = {.to = platform::ChildOutput::To::kFile, .file = "/dev/stderr", .seen = {}};
  }
  return options;
}

// Why nothing was told.
tl::unexpected<core::Error> NotTold(const platform::WatchLines& lines, const std::string& when) {
  if (!lines.off().empty()) {
    return core::FailedError(
        "no step was told {}: the watcher switched itself off in the command: {}", when,
        lines.off());
  }
  if (lines.steps() > 0) {
    return core::FailedError(
        "{} steps were counted, but none was told {}; let it make a few more (--steps), or give "
        "it more time (--limit)",
        lines.steps(), when);
  }
  return core::FailedError(
      "no training step was seen {}: a step is a call of a PyTorch optimizer's step(). The watcher "
      "sees none where the command trains with something else, or its Python is started with -I, "
      "-S or -E",
      when);
}

WatchedStep FactsOf(const graph::ToldStep& step) {
  WatchedStep out;
  const graph::Fingerprint fingerprint = graph::FingerprintOf(step);
  out.workload_fingerprint = fingerprint.workload;
  out.model_fingerprint = fingerprint.model;
  out.framework = step.framework;
  out.device = step.device;
  out.modules = step.modules;
  out.optimizer = step.optimizer;
  out.precision = step.precision;
  out.autocast = step.autocast;
  out.parallel = step.parallel;
  out.batch = step.batch;
  out.accumulation = step.accumulation;
  out.workers = step.workers;
  out.world_size = step.world_size;
  out.parameters = step.parameters;
  out.trainable = step.trainable;
  out.compiled = step.compiled;
  out.channels_last = step.channels_last;
  out.checkpointing = step.checkpointing;
  out.peak = step.memory.peak;
  for (const graph::ToldOperator& op : step.operators) {
    (op.pass == graph::ToldPass::kForward    ? out.forward_calls
     : op.pass == graph::ToldPass::kBackward ? out.backward_calls
                                             : out.update_calls) += static_cast<double>(op.count);
  }
  out.different_operators = step.operators.size();
  out.dropped = step.dropped;
  return out;
}

class Watching {
 public:
  Watching(const StepWatch& watch, const WatchFolder& folder, platform::Child& child)
      : watch_(watch), folder_(folder), child_(child) {}

  core::Result<WatchedStep> Run() {
    const Clock::time_point begin = Clock::now();
    for (;;) {
      platform::Child* const one[] = {&child_};
      platform::WaitForChildren(one, kLook);
      PassSignals();
      // Asked first: what it wrote before it ended is read after it.
      const auto end = child_.Ended();
      Look();
      if (end) return Ended(*end);
      if (interrupted_ || watch_.run_on) continue;
      if (document_ && lines_.steps() >= watch_.steps) {
        child_.Stop(watch_.grace);
        return Told(std::nullopt);
      }
      if (std::chrono::duration<double>(Clock::now() - begin).count() > watch_.limit.value) {
        child_.Stop(watch_.grace);
        Look();
        if (document_) return Told(std::nullopt);
        return NotTold(lines_, fmt::format("within {:g} s (--limit)", watch_.limit.value));
      }
    }
  }

 private:
  void PassSignals() {
    while (const auto signal = signals_.Next()) {
      if (!(signal->from_terminal && child_.shares_group())) child_.Send(signal->number);
      interrupted_ = interrupted_ || signal->number == SIGINT || signal->number == SIGTERM ||
                     signal->number == SIGHUP;
    }
  }

  void Look() {
    folder_.ReadInto(lines_);
    if (auto document = lines_.TakeDocument()) document_ = std::move(document);
    if (watch_.progress) watch_.progress(lines_.steps());
  }

  core::Result<WatchedStep> Ended(const platform::ChildEnd& end) {
    child_.Stop(watch_.grace);  // what it left behind
    Look();
    if (document_) return Told(end);
    return NotTold(lines_, end.code == 0 ? std::string("before the command ended")
                                         : fmt::format("before the command ended with exit code {}",
                                                       end.code));
  }

  core::Result<WatchedStep> Told(std::optional<platform::ChildEnd> end) {
    auto step = graph::ReadToldStep(*document_);
    if (!step) {
      return core::FailedError("the step that was told cannot be read: {}", step.error().message);
    }
    WatchedStep out = FactsOf(*step);
    out.document = *std::move(document_);
    out.steps = lines_.steps();
    out.off = lines_.off();
    if (end) out.exit_code = end->code;
    return out;
  }

  const StepWatch& watch_;
  const WatchFolder& folder_;
  platform::Child& child_;
  platform::PassedSignals signals_;
  platform::WatchLines lines_;
  std::optional<std::string> document_;
  bool interrupted_ = false;
};

}  // namespace

core::Result<WatchedStep> WatchStep(const StepWatch& watch) {
  const auto folder = WatchFolder::Make();
  RETURN_IF_ERROR(folder);
  const auto child = platform::Child::Start(OptionsOf(watch, **folder));
  RETURN_IF_ERROR(child);
  return Watching(watch, **folder, **child).Run();
}

}  // namespace sharewell::advice
