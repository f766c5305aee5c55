#include "engine/local/local_book.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string_view>

#include "engine/local/run/job_files.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

double SteadyNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A name for this state folder's groups that another server on the machine does not have.
std::uint32_t StateTag(std::string_view state) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : state) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

LocalBook::LocalBook(LinuxRunnerOptions chosen) : options(std::move(chosen)), zero(SteadyNow()) {}

// Runs go on, and the next server finds their groups.
LocalBook::~LocalBook() {
  for (auto& [id, run] : runs) {
    if (run.group && !run.ended) run.group->Keep();
    if (run.pidfd >= 0) ::close(run.pidfd);
  }
}

Seconds LocalBook::Now() const { return options.origin + Seconds(SteadyNow() - zero); }

LocalRun* LocalBook::Find(RunId id) {
  const auto it = runs.find(id);
  return it == runs.end() ? nullptr : &it->second;
}

void LocalBook::EmitEnd(LocalRun& run, RunEnd end) {
  const RunId id = run.request.id;
  if (!run.forgotten) return Emit(RunEnded{id, std::move(end)});
  if (run.made) RemoveFolder(run.folder);
  runs.erase(id);
}

std::string LocalBook::GroupName(RunId id) const {
  const std::string prefix = fmt::format("sharewell.{:08x}.", StateTag(options.state));
  return id.job == 0 ? prefix : fmt::format("{}{}.{}", prefix, id.job, id.attempt);
}

std::string LocalBook::LogsOf(const RunRequest& request) const {
  return LogFolder(options.state, options.store_id, request.user.uid, request.id.job);
}

std::optional<int> LocalBook::GpuNodeOf(const RunRequest& request) const {
  if (request.gpus.empty()) return std::nullopt;
  const auto found = options.gpu_nodes.find(request.gpus.front().uuid);
  return found == options.gpu_nodes.end() ? std::nullopt : std::optional(found->second);
}

void LocalBook::RemoveFolder(const std::string& folder) {
  // The spec first: a supervisor that comes late has nothing to begin then, whatever else is gone.
  ::unlink((folder + "/" + kSpecFile).c_str());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace sharewell::engine
