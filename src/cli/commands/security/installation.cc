#include "cli/commands/security/installation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/args/store_flag.h"
#include "cli/client/server_client.h"
#include "platform/files/text.h"
#include "platform/files/unit_file.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr const char* kDefaults = "/etc/default/sharewell";
constexpr const char* kSystemState = "/var/lib/sharewell";

std::vector<std::string> WordsIn(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : platform::SplitList(text, ' ')) words.emplace_back(word);
  return words;
}

// The words of a program of ours that runs as `owner`; the first that is found.
std::vector<std::string> RunningWith(const char* command, uid_t owner) {
  std::error_code error;
  fs::directory_iterator entry("/proc", error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat status {};
    if (::stat(entry->path().c_str(), &status) != 0 || status.st_uid != owner) continue;
    std::vector<std::string> words;
    std::string text = TextOf(entry->path().string() + "/cmdline");
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\0', at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    if (words.size() < 2 || fs::path(words[0]).filename() != "sharewell" || words[1] != command) {
      continue;
    }
    return {words.begin() + 2, words.end()};
  }
  return {};
}

std::string OwnConfig() {
  const char* base = std::getenv("XDG_CONFIG_HOME");
  if (base != nullptr && base[0] == '/') return std::string(base) + "/sharewell/sharewell.toml";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "/") + "/.config/sharewell/sharewell.toml";
}

}  // namespace

std::string TextOf(const std::string& path) {
  std::string text;
  // A pipe that somebody put there must not keep us waiting.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return text;
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    char block[4096];
    ssize_t got = 0;
    while (text.size() < kMostText && (got = ::read(file, block, sizeof block)) > 0) {
      text.append(block, static_cast<std::size_t>(got));
    }
  }
  ::close(file);
  return text;
}

std::string FlagValue(const std::vector<std::string>& words, std::string_view flag) {
  std::string found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == flag && i + 1 < words.size()) found = words[i + 1];
    if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      found = word.substr(flag.size() + 1);
    }
  }
  return found;
}

std::string ShellWord(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+:@,=").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

Installation FindInstallation(const InstallationOptions& options) {
  Installation out;
  if (!options.root.empty()) out.root = fs::absolute(options.root).lexically_normal().string();
  while (out.root.ends_with('/')) out.root.pop_back();
  const uid_t self = ::geteuid();
  const bool elsewhere = !out.root.empty();
  // Where the folder that was named is root's, it is root's server that is asked about.
  struct stat state {};
  const bool named = !options.state.empty() || !options.store.empty();
  const bool roots = named &&
                     ::stat(StatePlace(options.state, options.store).c_str(), &state) == 0 &&
                     state.st_uid == 0;
  out.owner = self == 0 || (roots && !elsewhere) ? 0 : self;
  const bool system = out.owner == 0 || elsewhere;
  std::string settings;
  if (system) {
    out.defaults = kDefaults;
    settings = TextOf(out.At(kDefaults));
  }
  if (!elsewhere) {
    out.serve_flags = RunningWith("serve", out.owner);
    out.monitor_flags = RunningWith("monitor", out.owner);
  }
  if (out.serve_flags.empty()) {
    out.serve_flags = WordsIn(platform::EnvironmentSetting(settings, "SHAREWELL_SERVE_FLAGS"));
  }
  if (out.monitor_flags.empty()) {
    out.monitor_flags = WordsIn(platform::EnvironmentSetting(settings, "SHAREWELL_MONITOR_FLAGS"));
  }
  const auto first = [](std::initializer_list<std::string> choices) {
    for (const std::string& choice : choices) {
      if (!choice.empty()) return choice;
    }
    return std::string();
  };
  out.store = first(
      {options.store, FlagValue(out.serve_flags, "--store"),
       platform::EnvironmentSetting(settings, "SHAREWELL_STORE"),
       system && elsewhere ? std::string(kSystemState) + "/store.db" : store::DefaultStore()});
  const std::string given = first({options.state, FlagValue(out.serve_flags, "--state")});
  if (elsewhere) {
    out.state = first({given, out.store_is_file() ? fs::path(out.store).parent_path().string()
                                                  : std::string(kSystemState)});
  } else {
    if (out.store_is_file()) out.store = fs::absolute(out.store).string();
    out.state = StatePlace(given, out.store);
  }
  out.socket = first(
      {FlagValue(out.serve_flags, "--socket"), system ? std::string(kSystemSocket) : OwnSocket()});
  out.config = first({FlagValue(out.serve_flags, "--config"),
                      system ? std::string("/etc/sharewell/sharewell.toml") : OwnConfig()});
  return out;
}

}  // namespace sharewell::cli
