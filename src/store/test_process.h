// For tests: work in a process of its own, which may be killed.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace sharewell::store {

class TestProcess {
 public:
  // Runs `work`; what it returns is the exit status. It ends with the test at the latest.
  explicit TestProcess(const std::function<int()>& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  ~TestProcess() {
    if (pid_ > 0) Kill();
  }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Kill() {
    ::kill(pid_, SIGKILL);
    Wait();
  }
  // Its exit status; -1: it was killed.
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

}  // namespace sharewell::store
