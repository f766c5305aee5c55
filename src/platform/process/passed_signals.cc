#include "platform/process/passed_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "core/result.h"

namespace sharewell::platform {
namespace {

constexpr std::array kPassed = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};

// A handler can reach nothing else. Two bytes a signal: its number, and whether it was a key.
std::atomic<int> passed_write{-1};
std::atomic<int> passed_read{-1};
std::array<struct sigaction, kPassed.size()> passed_before;
struct sigaction pipe_before;

void OnPassedSignal(int number, siginfo_t* info, void*) {
  const int error = errno;
  const char record[2] = {static_cast<char>(number),
                          static_cast<char>(info != nullptr && info->si_code == SI_KERNEL)};
  [[maybe_unused]] const auto ignored =
      ::write(passed_write.load(std::memory_order_relaxed), record, sizeof record);
  errno = error;
}

}  // namespace

PassedSignals::PassedSignals() {
  SHAREWELL_CHECK(passed_write.load() == -1);
  int ends[2];
  SHAREWELL_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  passed_read = ends[0];
  passed_write = ends[1];
  struct sigaction action {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &pipe_before);
  action.sa_sigaction = OnPassedSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < kPassed.size(); ++i) {
    ::sigaction(kPassed[i], nullptr, &passed_before[i]);
    // Started with a signal ignored (nohup): it stays so.
    if (passed_before[i].sa_handler != SIG_IGN) ::sigaction(kPassed[i], &action, nullptr);
  }
}

PassedSignals::~PassedSignals() {
  ::sigaction(SIGPIPE, &pipe_before, nullptr);
  for (std::size_t i = 0; i < kPassed.size(); ++i) {
    ::sigaction(kPassed[i], &passed_before[i], nullptr);
  }
  ::close(passed_write.exchange(-1));
  ::close(passed_read.exchange(-1));
}

std::optional<PassedSignal> PassedSignals::Next() {
  char record[2];
  if (::read(passed_read, record, sizeof record) != sizeof record) return std::nullopt;
  return PassedSignal{.number = record[0], .from_terminal = record[1] != 0};
}

int PassedSignals::Descriptor() { return passed_read; }

}  // namespace sharewell::platform
