#include "cli/client/job_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "core/text/quoted.h"
#include "engine/local/run/terminal_frames.h"

namespace sharewell::cli {
namespace {

using engine::Frame;
using engine::FrameReader;
using engine::FrameType;

constexpr std::array kNoted = {SIGINT, SIGTERM, SIGHUP};
constexpr char kInterruptKey = 3, kQuitKey = 28, kEndKey = 4;
constexpr std::size_t kAtOnce = 4096;  // what a pipe that is ready takes without making us wait

volatile std::sig_atomic_t noted = 0;

void NoteSignal(int number) { noted = number; }

// Raw as long as it lives.
class RawMode {
 public:
  explicit RawMode(bool wanted) : on_(wanted && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    Again();
  }
  ~RawMode() {
    if (on_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

  void Again() const {
    if (!on_) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }

 private:
  termios before_{};
  bool on_;
};

// Signals come as something to read while it lives.
class SignalFile {
 public:
  SignalFile() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGPIPE}) {
      sigaddset(&wanted, number);
    }
    ::sigprocmask(SIG_BLOCK, &wanted, &before_);
    file_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~SignalFile() {
    // Those that came meanwhile were meant for what is over.
    while (Next() != 0) {
    }
    if (file_ >= 0) ::close(file_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  int file() const { return file_; }
  int Next() const {  // 0: none
    signalfd_siginfo info{};
    return ::read(file_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

 private:
  sigset_t before_;
  int file_ = -1;
};

class Seat {
 public:
  explicit Seat(int socket)
      : socket_(socket),
        interactive_(::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0),
        raw_(interactive_) {
    char text[5];
    PutSize(text);
    text[4] = interactive_ ? 0 : 1;
    Put(FrameType::kBegin, {text, sizeof text});
  }

  TerminalEnd Sit() {
    while (!over_ || !to_out_.empty()) {
      // Nothing is wanted of the socket while output waits: a job's end there must not wake us.
      pollfd wanted[] = {{signals_.file(), POLLIN, 0},
                         {input_ && to_job_.empty() && !over_ ? STDIN_FILENO : -1, POLLIN, 0},
                         {over_ || Wanted() == 0 ? -1 : socket_, Wanted(), 0},
                         {to_out_.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}};
      if (::poll(wanted, 4, -1) < 0 && errno != EINTR) break;
      if (wanted[0].revents != 0 && !TakeSignals()) return end_;
      if (wanted[3].revents != 0 && !WriteOutput()) return end_;
      if ((wanted[2].revents & POLLOUT) != 0) Send();
      if ((wanted[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0) Hear();
      if (wanted[1].revents != 0) ReadInput();
      TakeFrames();
    }
    return end_;
  }

 private:
  short Wanted() const {
    return static_cast<short>((to_out_.empty() ? POLLIN : 0) | (to_job_.empty() ? 0 : POLLOUT));
  }

  void PutSize(char* to) const {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size.ws_row = size.ws_col = 0;
    engine::PutNumber(to, 2, size.ws_row == 0 ? 24 : size.ws_row);
    engine::PutNumber(to + 2, 2, size.ws_col == 0 ? 80 : size.ws_col);
  }

  void Put(FrameType type, std::string_view bytes) {
    char head[engine::kFrameHead];
    engine::PutFrameHead(head, type, bytes.size());
    to_job_.append(head, sizeof head);
    to_job_ += bytes;
    Send();
  }

  void Send() {
    while (!to_job_.empty()) {
      const ssize_t n =
          ::send(socket_, to_job_.data(), to_job_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return to_job_.clear();  // its end is read from the socket
      to_job_.erase(0, static_cast<std::size_t>(n));
    }
  }

  // False: it is time to go.
  bool TakeSignals() {
    while (const int number = signals_.Next()) {
      if (number == SIGWINCH || number == SIGCONT) {
        if (number == SIGCONT) raw_.Again();
        char text[4];
        PutSize(text);
        Put(FrameType::kSize, {text, sizeof text});
      } else if (number == SIGINT || number == SIGQUIT) {
        const char key = number == SIGINT ? kInterruptKey : kQuitKey;
        Put(FrameType::kInput, {&key, 1});
      } else if (number != SIGPIPE) {
        return Leave(number);
      }
    }
    return true;
  }

  bool Leave(int number) {
    end_ = {std::nullopt, false, number};
    return false;
  }

  void ReadInput() {
    char text[kAtOnce];
    const ssize_t n = ::read(STDIN_FILENO, text, sizeof text);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n > 0) {
      line_begins_ = text[n - 1] == '\n';
      return Put(FrameType::kInput, {text, static_cast<std::size_t>(n)});
    }
    input_ = false;
    // Behind a line that has not ended, the first one only passes that line on.
    const std::string ends(line_begins_ ? 1 : 2, kEndKey);
    Put(FrameType::kInput, ends);
  }

  // In pieces for which a pipe or terminal that is ready does not make us wait. False: nobody
  // reads.
  bool WriteOutput() {
    const ssize_t n = ::write(STDOUT_FILENO, to_out_.data(), std::min(to_out_.size(), kAtOnce));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (n <= 0) return Leave(SIGPIPE);
    to_out_.erase(0, static_cast<std::size_t>(n));
    return true;
  }

  void Hear() {
    if (reader_.room_size() == 0) return;  // read() would say that there is nothing more
    const ssize_t n = ::read(socket_, reader_.room(), reader_.room_size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n > 0) return reader_.Added(static_cast<std::size_t>(n));
    over_ = true;
  }

  void TakeFrames() {
    Frame frame;
    while (to_out_.empty()) {
      const auto found = reader_.Take(frame);
      if (found == FrameReader::Found::kNothing) return;
      if (found == FrameReader::Found::kFrame && frame.type == FrameType::kOutput) {
        to_out_.assign(frame.bytes, frame.size);
        continue;
      }
      if (found == FrameReader::Found::kFrame && frame.type == FrameType::kExit) {
        end_.code = static_cast<int>(engine::GetNumber(frame.bytes, 4));
        end_.more = frame.bytes[4] != 0;
      }
      over_ = true;  // all was said, or what is said is none of ours
      return;
    }
  }

  const int socket_;
  const bool interactive_;
  SignalFile signals_;
  RawMode raw_;
  FrameReader reader_;
  std::string to_job_, to_out_;
  TerminalEnd end_;
  bool input_ = true, over_ = false, line_begins_ = true;
};

}  // namespace

core::Result<int> ConnectTerminal(const std::string& path) {
  const std::filesystem::path place(path);
  // Its path may be longer than a socket's.
  const int folder = ::open(place.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("/proc/self/fd/{}/{}", folder, place.filename().string());
  std::memcpy(address.sun_path, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  const bool connected =
      folder >= 0 && file >= 0 &&
      ::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  if (folder >= 0) ::close(folder);
  if (connected) return file;
  if (file >= 0) ::close(file);
  const auto kind = error == ENOENT || error == ECONNREFUSED ? core::ErrorKind::kAbsent
                                                             : core::ErrorKind::kFailed;
  return tl::unexpected(core::Error{kind, fmt::format("cannot connect to the job's terminal {}: {}",
                                                      core::Quoted(path), std::strerror(error))});
}

TerminalEnd SitAtTerminal(int socket) {
  TerminalEnd end;
  {
    Seat seat(socket);
    end = seat.Sit();
  }
  ::close(socket);
  return end;
}

NotedSignals::NotedSignals() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = NoteSignal;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kNoted.size(); ++i) {
    ::sigaction(kNoted[i], nullptr, &before_[i]);
    // Started with it ignored (nohup): it stays so.
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kNoted[i], &action, nullptr);
  }
}

NotedSignals::~NotedSignals() {
  for (std::size_t i = 0; i < kNoted.size(); ++i) ::sigaction(kNoted[i], &before_[i], nullptr);
}

int NotedSignals::came() const { return noted; }

}  // namespace sharewell::cli
