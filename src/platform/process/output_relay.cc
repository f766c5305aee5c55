#include "platform/process/output_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sharewell::platform {
namespace {

constexpr std::size_t kBlock = 65536;
// A pipe that is writable takes so much without making us wait.
constexpr std::size_t kChunk = 4096;

bool Writable(int file) {
  pollfd wanted{.fd = file, .events = POLLOUT, .revents = 0};
  return ::poll(&wanted, 1, 0) > 0;
}

// Master and slave of a terminal that changes no byte.
bool OpenTerminal(int& master, int& slave) {
  master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0) return false;
  char name[128];
  if (::grantpt(master) != 0 || ::unlockpt(master) != 0 ||
      ::ptsname_r(master, name, sizeof name) != 0) {
    ::close(master);
    return false;
  }
  slave = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (slave < 0) {
    ::close(master);
    return false;
  }
  termios mode{};
  ::tcgetattr(slave, &mode);
  ::cfmakeraw(&mode);
  ::tcsetattr(slave, TCSANOW, &mode);
  return true;
}

}  // namespace

core::Result<std::unique_ptr<OutputRelay>> OutputRelay::Make(
    int to, std::function<void(std::string_view)> seen) {
  int from = -1, child_end = -1;
  const bool terminal = to >= 0 && ::isatty(to) != 0 && OpenTerminal(from, child_end);
  if (!terminal) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return core::FailedError("cannot make a pipe for the job's output: {}", std::strerror(errno));
    }
    from = ends[0];
    child_end = ends[1];
  }
  ::fcntl(from, F_SETFL, ::fcntl(from, F_GETFL) | O_NONBLOCK);
  std::unique_ptr<OutputRelay> relay(new OutputRelay(to, from, child_end, std::move(seen)));
  if (terminal) relay->CopyWindowSize();
  return relay;
}

OutputRelay::OutputRelay(int to, int from, int child_end,
                         std::function<void(std::string_view)> seen)
    : to_(to), from_(from), child_end_(child_end), seen_(std::move(seen)) {}

OutputRelay::~OutputRelay() {
  Close(from_);
  CloseChildEnd();
}

void OutputRelay::Close(int& file) {
  if (file >= 0) ::close(std::exchange(file, -1));
}

void OutputRelay::CloseChildEnd() { Close(child_end_); }

void OutputRelay::CopyWindowSize() {
  winsize size{};
  if (from_ >= 0 && ::ioctl(to_, TIOCGWINSZ, &size) == 0) ::ioctl(from_, TIOCSWINSZ, &size);
}

int OutputRelay::Descriptor() const { return held_.empty() ? from_ : to_; }

short OutputRelay::Events() const { return held_.empty() ? POLLIN : POLLOUT; }

bool OutputRelay::Step() {
  bool did = false;
  if (held_.empty() && from_ >= 0) {
    held_.resize(kBlock);
    const ssize_t n = ::read(from_, held_.data(), held_.size());
    const int error = errno;
    held_.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    passed_ = 0;
    // A terminal whose other side is gone says EIO, a pipe nothing.
    if (n == 0 || (n < 0 && error != EAGAIN && error != EINTR)) Close(from_);
    if (!held_.empty()) seen_(held_);
    did = n > 0;
    if (to_ < 0) held_.clear();
  }
  while (passed_ < held_.size() && Writable(to_)) {
    const ssize_t n =
        ::write(to_, held_.data() + passed_, std::min(kChunk, held_.size() - passed_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {
      // Nobody reads it any more: the child is to find out as it would have without us.
      held_.clear();
      Close(from_);
      return true;
    }
    passed_ += static_cast<std::size_t>(n);
    did = true;
  }
  if (passed_ >= held_.size()) held_.clear();
  return did;
}

}  // namespace sharewell::platform
