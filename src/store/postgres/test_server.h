// For tests and benchmarks: a PostgreSQL server of one's own, in a folder of its own, reached by a
// socket there and by nothing else. It ends with the object, and with the process at the latest.
#pragma once

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "platform/files/test_folder.h"

namespace sharewell::store {

class TestServer {
 public:
  // Where Debian and others have initdb and postgres; empty: not installed.
  static std::string Programs() {
    for (int version = 20; version >= 12; --version) {
      for (const std::string base : {"/usr/lib/postgresql/", "/usr/pgsql-"}) {
        const std::string folder = base + std::to_string(version) + "/bin";
        if (::access((folder + "/initdb").c_str(), X_OK) == 0) return folder;
      }
    }
    return {};
  }

  // Durable or fast: tests that pull no plug need no fsync.
  explicit TestServer(bool durable = false) : durable_(durable), programs_(Programs()) {
    // The server refuses to run as root.
    if (::geteuid() == 0) {
      const passwd* user = ::getpwnam("postgres");
      if (user == nullptr) user = ::getpwnam("nobody");
      if (user == nullptr) return;
      uid_ = user->pw_uid;
      gid_ = user->pw_gid;
      if (::chown(folder_.path().c_str(), uid_, gid_) != 0) return;
    }
    const pid_t made =
        Start({programs_ + "/initdb", "-D", folder_.Path("data"), "-A", "trust", "-U", "sharewell",
               "-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions"});
    int status = 1;
    if (made > 0) ::waitpid(made, &status, 0);
    if (status == 0) Restart();
  }
  ~TestServer() { Stop(SIGINT); }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  bool running() const { return pid_ > 0; }
  std::string url() const { return "postgresql://sharewell@/postgres?host=" + folder_.path(); }
  std::string log() const { return platform::TestFolder::Read(folder_.Path("log")); }

  // SIGINT: it lets nobody finish; SIGKILL or SIGQUIT: as if the machine had gone.
  void Stop(int how) {
    if (pid_ <= 0) return;
    ::kill(pid_, how);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void Restart() {
    const char* fsync = durable_ ? "fsync=on" : "fsync=off";
    pid_ = Start({programs_ + "/postgres", "-D", folder_.Path("data"), "-k", folder_.path(), "-c",
                  "listen_addresses=", "-c", fsync, "-c", "shared_buffers=64MB", "-c",
                  "max_connections=20"});
    for (int i = 0; i < 600; ++i) {
      if (PQping(url().c_str()) == PQPING_OK) return;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    Stop(SIGKILL);
    pid_ = -1;
  }

 private:
  pid_t Start(const std::vector<std::string>& words) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log = folder_.Path("log");
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    // Between fork and exec: system calls alone.
    if (uid_ != 0 && (::setgid(gid_) != 0 || ::setuid(uid_) != 0)) ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::chdir("/") != 0) ::_exit(126);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }

  bool durable_;
  std::string programs_;
  platform::TestFolder folder_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  pid_t pid_ = -1;
};

}  // namespace sharewell::store
