#include "supervise/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "engine/local/run/job_files.h"

namespace sharewell::supervise {
namespace {

using engine::Frame;
using engine::FrameReader;
using engine::FrameType;
using engine::kFrameHead;
using engine::kMostFrame;

constexpr char kDraft[] = "terminal.new";
constexpr int kMostBlocks = 4096;       // read from a pty that others may still write to
constexpr std::int64_t kLinger = 3000;  // ms for a client to take the last of it
constexpr std::int64_t kTurn = 50;      // ms
// Of a client in a turn: hands at a keyboard, a paste and a window that is dragged need far less.
constexpr int kMostWork = 1024, kWorkOfRead = 4, kWorkOfFrame = 1;

std::int64_t NowMillis() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

void Close(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

bool OpenPty(Terminal& self, gid_t group) {
  self.master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  char name[128];
  if (self.master < 0 || ::unlockpt(self.master) != 0) return false;
  if (const int error = ::ptsname_r(self.master, name, sizeof name); error != 0) {
    errno = error;
    return false;
  }
  self.slave = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (self.slave < 0) return false;
  // As a login would: programs look whether it is theirs.
  return ::geteuid() != 0 ||
         (::fchown(self.slave, self.owner, group) == 0 && ::fchmod(self.slave, 0600) == 0);
}

// Bound by its name alone, from within the folder, whose path may be longer than a socket's. It
// gets the name that clients look for only when it is its owner's and listens: a client that
// connected before would be refused for good.
bool Listen(int folder, Terminal& self, gid_t group) {
  self.listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (self.listener < 0 || ::fchdir(folder) != 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kDraft);
  const mode_t before = ::umask(S_IXUSR | S_IRWXG | S_IRWXO);
  const bool bound =
      ::bind(self.listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  ::umask(before);
  if (::chdir("/") != 0) return false;
  errno = error;
  if (!bound || ::listen(self.listener, 4) != 0) return false;
  if (::geteuid() == 0 && ::fchownat(folder, kDraft, self.owner, group, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  if (::renameat(folder, kDraft, folder, engine::kTerminalFile) != 0) return false;
  self.folder = folder;
  return true;
}

void StopListening(Terminal& self) {
  if (self.listener >= 0) ::unlinkat(self.folder, engine::kTerminalFile, 0);
  Close(self.listener);
}

void LoseClient(Terminal& self) {
  Close(self.client);
  self.gone = true;
  self.output_size = self.output_at = self.input_size = self.input_at = 0;
}

void Accept(Terminal& self) {
  int file = ::accept4(self.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (file < 0) return;
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool may = ::getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                   (peer.uid == self.owner || peer.uid == 0);
  if (!may) return Close(file);
  self.client = file;
  StopListening(self);  // one sits at it, once
}

void SetSize(const Terminal& self, const char* bytes) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(engine::GetNumber(bytes, 2));
  size.ws_col = static_cast<unsigned short>(engine::GetNumber(bytes + 2, 2));
  ::ioctl(self.master, TIOCSWINSZ, &size);  // tells the programs there, too
}

// For a client that is a pipe: what comes out is what was written, without what went in.
void MakePlain(const Terminal& self) {
  termios how{};
  if (::tcgetattr(self.slave, &how) != 0) return;
  how.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  how.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ::tcsetattr(self.slave, TCSANOW, &how);
}

void BeginTurn(Terminal& self) {
  const std::int64_t now = NowMillis();
  if (now < self.turn_ends) return;
  self.turn_ends = now + kTurn;
  self.work = 0;
  self.sized = false;
}

bool IsHeldUp(const Terminal& self) {
  return self.work >= kMostWork && NowMillis() < self.turn_ends;
}

// The last of all sizes that were told of in a turn counts.
void PassSize(Terminal& self) {
  if (!self.resized || self.sized) return;
  SetSize(self, self.window);
  self.resized = false;
  self.sized = true;
}

// False: it is not what a client says at this point.
bool TakeFrame(Terminal& self, const Frame& frame) {
  if (self.begun != (frame.type != FrameType::kBegin)) return false;
  switch (frame.type) {
    case FrameType::kBegin:
      SetSize(self, frame.bytes);
      if (frame.bytes[4] != 0) MakePlain(self);
      self.begun = true;
      return true;
    case FrameType::kSize:
      std::memcpy(self.window, frame.bytes, sizeof self.window);
      self.resized = true;
      return true;
    case FrameType::kInput:
      std::memcpy(self.input, frame.bytes, frame.size);
      self.input_at = 0;
      self.input_size = frame.size;
      return true;
    default:
      return false;
  }
}

void PassInput(Terminal& self) {
  while (self.input_at < self.input_size) {
    const ssize_t n =
        ::write(self.master, self.input + self.input_at, self.input_size - self.input_at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    self.input_at += static_cast<std::size_t>(n);
  }
  self.input_at = self.input_size = 0;
}

void HearClient(Terminal& self) {
  if (self.from_client.room_size() == 0) return;  // what is there is taken first
  self.work += kWorkOfRead;
  const ssize_t n = ::read(self.client, self.from_client.room(), self.from_client.room_size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return LoseClient(self);
  self.from_client.Added(static_cast<std::size_t>(n));
}

// What was heard, as long as the pty takes it.
void TakeFrames(Terminal& self) {
  Frame frame;
  while (self.client >= 0 && self.input_size == 0 && self.work < kMostWork) {
    self.work += kWorkOfFrame;
    const auto found = self.from_client.Take(frame);
    if (found == FrameReader::Found::kNothing) return;
    if (found == FrameReader::Found::kWrong || !TakeFrame(self, frame)) return LoseClient(self);
    PassInput(self);
  }
}

void SendOutput(Terminal& self) {
  while (self.client >= 0 && self.output_at < self.output_size) {
    const ssize_t n = ::send(self.client, self.output + self.output_at,
                             self.output_size - self.output_at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return LoseClient(self);
    self.output_at += static_cast<std::size_t>(n);
  }
  self.output_at = self.output_size = 0;
}

// REQUIRES: the client has taken all before. False: there is nothing.
bool ReadPty(Terminal& self, Log& log) {
  const ssize_t n = ::read(self.master, self.output + kFrameHead, kMostFrame);
  if (n <= 0) return false;
  const auto size = static_cast<std::size_t>(n);
  WriteLog(log, self.output + kFrameHead, size);
  if (self.client < 0) return true;
  engine::PutFrameHead(self.output, FrameType::kOutput, size);
  self.output_size = kFrameHead + size;
  SendOutput(self);
  return true;
}

// Until the client has taken what there is, or it is too late.
void SendUntil(Terminal& self, std::int64_t until) {
  SendOutput(self);
  while (self.client >= 0 && self.output_size > 0) {
    const std::int64_t left = until - NowMillis();
    if (left <= 0) return LoseClient(self);
    pollfd wanted{self.client, POLLOUT, 0};
    ::poll(&wanted, 1, static_cast<int>(left));
    SendOutput(self);
  }
}

}  // namespace

bool OpenTerminal(int folder, const Spec& spec, Terminal& out) {
  out.owner = spec.has_user ? spec.uid : ::geteuid();
  const gid_t group = spec.has_user ? spec.gid : ::getegid();
  return OpenPty(out, group) && Listen(folder, out, group);
}

void WantOfTerminal(const Terminal& self, pollfd* wanted) {
  const bool input = self.input_size > 0, output = self.output_size > 0;
  wanted[0] = {self.listener, POLLIN, 0};
  const bool hears = !input && !IsHeldUp(self);
  wanted[1] = {self.client,
               static_cast<short>(POLLRDHUP | (hears ? POLLIN : 0) | (output ? POLLOUT : 0)), 0};
  // Before somebody sits there, what is written waits in the pty.
  const bool reads = (self.begun || self.gone) && !output;
  wanted[2] = {self.master, static_cast<short>((reads ? POLLIN : 0) | (input ? POLLOUT : 0)), 0};
}

void SeeTerminal(Terminal& self, const pollfd* wanted, Log& log) {
  if (self.master < 0) return;
  BeginTurn(self);
  if (wanted[0].revents != 0) Accept(self);
  if (self.client >= 0 && wanted[1].fd == self.client) {
    if ((wanted[1].revents & POLLOUT) != 0) SendOutput(self);
    if (self.client >= 0 && (wanted[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      LoseClient(self);
    } else if (self.client >= 0 && (wanted[1].revents & POLLIN) != 0) {
      HearClient(self);
    }
  }
  if ((wanted[2].revents & POLLOUT) != 0) PassInput(self);
  TakeFrames(self);
  PassSize(self);
  if ((wanted[2].revents & POLLIN) != 0 && self.output_size == 0) ReadPty(self, log);
}

std::int64_t TerminalWakes(const Terminal& self) {
  const bool waits = self.client >= 0 && (self.resized || self.work >= kMostWork);
  return waits ? self.turn_ends : -1;
}

void DrainTerminal(Terminal& self, Log& log) {
  if (self.master < 0) return;
  const std::int64_t until = NowMillis() + kLinger;
  SendUntil(self, until);
  for (int i = 0; i < kMostBlocks && ReadPty(self, log); ++i) SendUntil(self, until);
}

void SendToClient(Terminal& self, int code, bool more) {
  if (self.client < 0) return CloseTerminal(self);
  engine::PutFrameHead(self.output, FrameType::kExit, 5);
  engine::PutNumber(self.output + kFrameHead, 4, static_cast<std::uint32_t>(code));
  self.output[kFrameHead + 4] = more ? 1 : 0;
  self.output_at = 0;
  self.output_size = kFrameHead + 5;
  SendUntil(self, NowMillis() + kLinger);
  CloseTerminal(self);
}

void CloseTerminal(Terminal& self) {
  StopListening(self);
  Close(self.client);
  Close(self.slave);
  Close(self.master);
}

}  // namespace sharewell::supervise
