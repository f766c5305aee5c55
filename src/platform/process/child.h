// Child: a command started by us, with everything it starts in turn.
//
// One thread uses it: the one that started it, which must outlive the child (the kernel ends the
// child with it). What the command forks away is adopted by this process and still counts as its
// own. When the object goes, all of it is killed and reaped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::platform {

// Where what a child writes goes.
struct ChildOutput {
  enum class To {
    kInherit,  // to where ours goes
    kFile,     // appended to `file`
    kNull,
  };
  To to = To::kInherit;
  std::string file = {};
  // Set: it goes there through us, every byte unchanged, and is shown on the way, in pieces as they
  // came (lines are not kept whole). A terminal stays a terminal to the child. Not set: the child
  // has the file itself.
  std::function<void(std::string_view)> seen = {};
};

struct ChildOptions {
  std::vector<std::string> command;  // the program, found in PATH as a shell would, and arguments
  std::vector<std::pair<std::string, std::string>> environment = {};  // added to ours, or instead
  std::string folder = {};                                            // to start in; empty: ours
  std::vector<int> cpus = {};                  // it may run on these alone; empty: those we may
  std::vector<std::string> cgroup_procs = {};  // files to enter: Cgroup::procs()
  std::string cgroup = {};                     // Cgroup::folder(); empty: none of its own
  ChildOutput out = {}, err = {};
  // May read our stdin. Then, on a terminal, it stays in our process group, so that Ctrl-C, Ctrl-Z
  // and reading work as if we were not there. Otherwise it gets /dev/null.
  bool reads_stdin = false;
};

// How the command itself ended, as a shell has it: its exit code, or 128 + signal.
struct ChildEnd {
  int code = 0;
  int signal = 0;  // 0: it exited
};

struct StopReport {
  bool was_running = false;  // there was something to stop
  bool killed = false;       // SIGTERM was ignored for the whole grace, so it was killed
};

class Child {
 public:
  // A command that is not there, may not be run, or is no program is a usage error that says so;
  // nothing has been started then. Signals that we hold or ignore are as usual for the child.
  static core::Result<std::unique_ptr<Child>> Start(const ChildOptions& options);

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  int pid() const;
  const std::string& cgroup() const;
  // Its processes now, rising: the command, what it started, and what forked away. Looked up anew;
  // zombies are reaped and not among them.
  std::vector<int> Pids();
  // None: the command itself still runs. (What it started may run on after it: Pids().)
  std::optional<ChildEnd> Ended();
  // It is in our process group: what a key sends to us, it gets too.
  bool shares_group() const;
  // To its process group, or, when that is ours, to its processes. SIGWINCH also gives the size of
  // our terminal to the one that it writes to through us.
  void Send(int signal);
  // SIGTERM to the command, and when it has ended, or after half of `grace`, to all that is left;
  // then SIGKILL. Back when nothing is left. Output is passed on meanwhile.
  StopReport Stop(core::Seconds grace);
  // Passes on what is still in the pipes. After it nothing more is shown to `seen`.
  void Drain();

 private:
  friend struct ChildWait;
  struct State;
  explicit Child(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Passes on output until `most` is over, one of the commands ends, or a signal comes in through
// PassedSignals (platform/process/passed_signals.h), whichever is first.
void WaitForChildren(std::span<Child* const> children, core::Seconds most);

}  // namespace sharewell::platform
