// An installation of Sharewell as `doctor --security` looks at it: where its files lie, whose they
// should be, and with which flags its programs are started.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace sharewell::cli {

struct Installation {
  std::string root;  // empty: this machine; else a folder that stands for its root, without a slash
  uid_t owner = 0;   // whose server it is
  std::string store;  // these as they are called below the root
  std::string state, socket, config;
  std::string defaults;  // the units' settings; empty: it has none
  std::vector<std::string> serve_flags, monitor_flags;

  std::string At(const std::string& path) const { return root + path; }
  bool store_is_file() const { return store.find("://") == std::string::npos; }
};

struct InstallationOptions {
  std::string root, store, state;  // as they were given; empty: not
};

// Flags come from a server or agent that runs here, else from the units' settings.
Installation FindInstallation(const InstallationOptions& options);

// Behind "--listen", or in "--listen=VALUE": the last; empty: it is not there.
std::string FlagValue(const std::vector<std::string>& words, std::string_view flag);

// The text of a file, at most a MiB; empty: there is none, or it cannot be read.
std::string TextOf(const std::string& path);

// As one word of a shell.
std::string ShellWord(const std::string& text);

}  // namespace sharewell::cli
