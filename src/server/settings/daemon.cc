#include "server/settings/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>

namespace sharewell::server {

using std::chrono::steady_clock;

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

bool WaitForSignal(std::optional<core::Seconds> left) {
  sigset_t asked;
  sigemptyset(&asked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&asked, signal);
  const auto end =
      steady_clock::now() + std::chrono::duration<double>(left.value_or(core::Seconds(0)).value);
  for (;;) {
    const double seconds =
        left ? std::max(0.0, std::chrono::duration<double>(end - steady_clock::now()).count())
             : 3600;
    timespec time{};
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    if (::sigtimedwait(&asked, nullptr, &time) >= 0) return true;
    if (errno == EAGAIN && left) return false;
  }
}

}  // namespace sharewell::server
