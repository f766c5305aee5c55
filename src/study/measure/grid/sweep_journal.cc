#include "study/measure/grid/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/mapped_file.h"

namespace sharewell::study {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kJournalSchema = 1;

template <class T>
void Put(Json& json, const char* key, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_arithmetic_v<T>) {
    json[key] = *value;
  } else {
    json[key] = value->value;
  }
}

Json ToJson(const RunSummary& run) {
  const core::Profile& profile = run.profile;
  Json json;
  json["workload"] = profile.workload.name;
  json["batch"] = profile.workload.batch;
  json["precision"] = profile.workload.precision;
  json["workers"] = profile.workload.workers;
  json["gpu"] = profile.gpu;
  Put(json, "steps_per_second", profile.steps_per_second);
  Put(json, "uncertainty_ratio", run.uncertainty);
  Put(json, "gpu_busy_ratio", profile.busy);
  Put(json, "gpu_sm_ratio", profile.sm);
  Put(json, "gpu_dram_ratio", profile.dram);
  Put(json, "gpu_memory_bytes", profile.gpu_memory);
  Put(json, "pcie_bytes_per_second", profile.pcie);
  Put(json, "pcie_sent_bytes_per_second", run.pcie_sent);
  Put(json, "pcie_received_bytes_per_second", run.pcie_received);
  Put(json, "device_busy_ratio", run.device_busy);
  Put(json, "device_sm_ratio", run.device_sm);
  Put(json, "device_dram_ratio", run.device_dram);
  Put(json, "device_power_watts", run.device_power);
  Put(json, "cpu_cores", profile.cpu_cores);
  Put(json, "host_memory_bytes", profile.host_memory);
  Put(json, "host_bandwidth_bytes_per_second", profile.host_bandwidth);
  Put(json, "power_watts", profile.power);
  Put(json, "kernel_seconds", profile.kernel_time);
  Put(json, "kernels_per_step", profile.kernels);
  json["settled"] = run.settled;
  json["warmup_seconds"] = run.warmup.value;
  json["window_seconds"] = run.window.value;
  Put(json, "exit_code", run.exit_code);
  json["profile_id"] = run.profile_id;
  json["throughput_source"] = run.throughput_source;
  json["bound_by"] = run.bound_by;
  json["notes"] = run.notes;
  return json;
}

template <class T>
void Take(const Json& json, const char* key, std::optional<T>& value) {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return;
  if constexpr (std::is_arithmetic_v<T>) {
    value = at->get<T>();
  } else {
    value = T(at->get<double>());
  }
}

RunSummary FromJson(const Json& json) {
  RunSummary run;
  core::Profile& profile = run.profile;
  profile.workload = {json.at("workload").get<std::string>(), json.at("batch").get<int>(),
                      json.at("precision").get<std::string>(), json.at("workers").get<int>()};
  profile.gpu = json.at("gpu").get<std::string>();
  Take(json, "steps_per_second", profile.steps_per_second);
  Take(json, "uncertainty_ratio", run.uncertainty);
  Take(json, "gpu_busy_ratio", profile.busy);
  Take(json, "gpu_sm_ratio", profile.sm);
  Take(json, "gpu_dram_ratio", profile.dram);
  Take(json, "gpu_memory_bytes", profile.gpu_memory);
  Take(json, "pcie_bytes_per_second", profile.pcie);
  Take(json, "pcie_sent_bytes_per_second", run.pcie_sent);
  Take(json, "pcie_received_bytes_per_second", run.pcie_received);
  Take(json, "device_busy_ratio", run.device_busy);
  Take(json, "device_sm_ratio", run.device_sm);
  Take(json, "device_dram_ratio", run.device_dram);
  Take(json, "device_power_watts", run.device_power);
  Take(json, "cpu_cores", profile.cpu_cores);
  Take(json, "host_memory_bytes", profile.host_memory);
  Take(json, "host_bandwidth_bytes_per_second", profile.host_bandwidth);
  Take(json, "power_watts", profile.power);
  Take(json, "kernel_seconds", profile.kernel_time);
  Take(json, "kernels_per_step", profile.kernels);
  run.settled = json.at("settled").get<bool>();
  run.warmup = core::Seconds(json.at("warmup_seconds").get<double>());
  run.window = core::Seconds(json.at("window_seconds").get<double>());
  Take(json, "exit_code", run.exit_code);
  run.profile_id = json.at("profile_id").get<std::int64_t>();
  run.throughput_source = json.at("throughput_source").get<std::string>();
  run.bound_by = json.at("bound_by").get<std::string>();
  run.notes = json.at("notes").get<std::vector<std::string>>();
  return run;
}

tl::unexpected<core::Error> JournalFailure(const std::string& path, const char* what, int code) {
  return core::FailedError("{}: cannot be {}: {}", path, what,
                           std::generic_category().message(code));
}

}  // namespace

std::string WriteEntry(const JournalEntry& entry) {
  Json json;
  json["schema"] = kJournalSchema;
  json["key"] = entry.key;
  json["label"] = entry.label;
  json["state"] = entry.done ? "done" : "failed";
  if (!entry.why.empty()) json["why"] = entry.why;
  if (entry.out_of_memory) json["out_of_memory"] = true;
  json["time_ms"] = entry.time;
  json["runs"] = Json::array();
  for (const RunSummary& run : entry.runs) json["runs"].push_back(ToJson(run));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

core::Result<JournalEntry> ReadEntry(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    if (json.at("schema").get<int>() != kJournalSchema) {
      return core::UsageError("it was written by another version of this program");
    }
    JournalEntry entry;
    entry.key = json.at("key").get<std::string>();
    entry.label = json.at("label").get<std::string>();
    entry.done = json.at("state").get<std::string>() == "done";
    entry.why = json.value("why", "");
    entry.out_of_memory = json.value("out_of_memory", false);
    entry.time = json.at("time_ms").get<core::UnixMillis>();
    for (const Json& run : json.at("runs")) entry.runs.push_back(FromJson(run));
    return entry;
  } catch (const Json::exception& error) {
    return core::UsageError("{}", core::Quoted(error.what()));
  }
}

core::Result<std::unique_ptr<Journal>> Journal::Open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string path = (std::filesystem::path(folder) / "cells.jsonl").string();
  if (error) return core::FailedError("{}: cannot be made: {}", folder, error.message());
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return JournalFailure(path, "opened", errno);
  // The object closes it, whatever follows.
  std::unique_ptr<Journal> journal(new Journal(path, fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return core::UsageError(
        "{}: another sharewell is writing there; wait for it, or give another --out", path);
  }
  RETURN_IF_ERROR(journal->Load());
  return journal;
}

Journal::~Journal() { ::close(fd_); }

core::Result<void> Journal::Load() {
  std::size_t whole = 0;  // bytes of lines that were finished
  {
    const auto file = platform::MappedFile::Open(path_);
    RETURN_IF_ERROR(file);
    const std::string_view text = file->text();
    for (int number = 1; whole < text.size(); ++number) {
      const auto end = text.find('\n', whole);
      if (end == std::string_view::npos) break;  // torn
      const auto line = text.substr(whole, end - whole);
      whole = end + 1;
      if (line.empty()) continue;
      auto entry = ReadEntry(line);
      if (!entry) {
        return core::UsageError(
            "{}: line {} is no line of a journal: {}; move the file away, or "
            "give another --out",
            path_, number, entry.error().message);
      }
      std::string key = entry->key;
      entries_.insert_or_assign(std::move(key), *std::move(entry));
    }
    if (whole == text.size()) return {};
  }
  if (::ftruncate(fd_, static_cast<off_t>(whole)) != 0) return JournalFailure(path_, "cut", errno);
  return {};
}

const JournalEntry* Journal::Find(const std::string& key) const {
  const auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second;
}

core::Result<void> Journal::Append(const JournalEntry& entry) {
  const std::string line = WriteEntry(entry) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return JournalFailure(path_, "written", n < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd_) != 0) return JournalFailure(path_, "made durable", errno);
  entries_.insert_or_assign(entry.key, entry);
  return {};
}

}  // namespace sharewell::study
