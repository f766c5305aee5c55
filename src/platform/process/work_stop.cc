#include "platform/process/work_stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace sharewell::platform {

WorkStop::WorkStop() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WorkStop::~WorkStop() {
  if (fd_ >= 0) ::close(fd_);
}

void WorkStop::Ask() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

bool WorkStop::asked() const {
  pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, 0) > 0;
}

}  // namespace sharewell::platform
