#include "cli/commands/kubernetes/inject.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <string>
#include <utility>

#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/kubernetes/api/plain_yaml.h"
#include "engine/kubernetes/pods/pod_inject.h"
#include "platform/files/watcher_files.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

// No longer than what is read of it anyway.
std::string ReadPods() {
  std::string text(engine::kMostYaml + 1, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  return text;
}

// As Kubernetes takes it for a schedulerName: it stands in YAML without quotes.
bool IsSchedulerName(const std::string& name) {
  return !name.empty() && name.size() <= 63 &&
         std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
         });
}

}  // namespace

Result<ExitCode> InjectFromInput(const std::string& scheduler) {
  if (!IsSchedulerName(scheduler)) {
    return UsageError("--scheduler-name: {} is no name of a scheduler; use letters, digits, '-'",
                      core::Quoted(scheduler));
  }
  auto pods = engine::InjectPods(ReadPods(), scheduler, platform::WatcherFiles());
  if (!pods) return tl::unexpected(std::move(pods.error()).Within("kubernetes inject"));
  RETURN_IF_ERROR(WriteOut(*pods));
  return kOk;
}

}  // namespace sharewell::cli
