// What every command that speaks to a server shares: --server, --json, the job that is meant, a
// screen that is drawn again.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

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

// One job that a command is about: its number, and the server that knows it. Where several have
// the name that was given, stderr says which one is meant (job_names.h).
struct AskedJob {
  std::int64_t number;
  ServerClient client;
};
void AddJobFlag(CLI::App& app, std::string& job);
core::Result<AskedJob> FindJob(const std::string& job, const ServerFlags& flags);

// A document of the server's as `--json` prints it: indented, `schema` first.
core::Result<std::string> JsonText(const std::string& body);

// Prints `text` as it is, for programs, and is done.
core::Result<ExitCode> PrintOut(const core::Result<std::string>& text);
// The same for people: no line goes beyond the terminal (WriteText).
core::Result<ExitCode> PrintText(const core::Result<std::string>& text);

// Draws once; on a terminal and with `again`, every second in place until Ctrl-C. `draw` is given
// the width it may use. A server that goes away meanwhile is waited for.
core::Result<ExitCode> DrawScreen(
    bool again, const std::function<core::Result<std::string>(std::size_t width)>& draw);

}  // namespace sharewell::cli
