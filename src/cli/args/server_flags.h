// What every command that speaks to a server shares: --server, --json, job numbers, a screen that
// is drawn again.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args/command.h"
#include "cli/client/server_client.h"
#include "core/result.h"

namespace sharewell::cli {

struct ServerFlags {
  std::string server;
  bool json = false;

  void Add(CLI::App& app);
  void AddServer(CLI::App& app);  // for a command that prints no document
  core::Result<ServerClient> Find() const { return ServerClient::Find(server); }
};

// One job that a command is about: its number, and the server that knows it.
struct AskedJob {
  std::int64_t number;
  ServerClient client;
};
void AddJobFlag(CLI::App& app, std::string& job);
core::Result<AskedJob> FindJob(const std::string& job, const ServerFlags& flags);

// "17"; a usage error says where numbers come from.
core::Result<std::int64_t> ParseJob(std::string_view text);
// The same of several, and of ranges ("71-370"); rising, without repeats.
core::Result<std::vector<std::int64_t>> ParseJobs(const std::vector<std::string>& texts);

// A document of the server's as `--json` prints it: indented, `schema` first.
core::Result<std::string> JsonText(const std::string& body);

// Prints `text` and is done.
core::Result<ExitCode> PrintOut(const core::Result<std::string>& text);

// Draws once; on a terminal and with `again`, every second in place until Ctrl-C. `draw` is given
// the width it may use. A server that goes away meanwhile is waited for.
core::Result<ExitCode> DrawScreen(
    bool again, const std::function<core::Result<std::string>(std::size_t width)>& draw);

}  // namespace sharewell::cli
