#include "measure/grid/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>

#include "core/result.h"
#include "json/reader.h"
#include "json/writer.h"
#include "platform/files/mapped_file.h"

namespace sharewell::measure {
namespace {

constexpr int kJournalSchema = 1;
constexpr json::Range kAnyInt{std::numeric_limits<int>::min(), std::numeric_limits<int>::max()};

// The figures of a run that may be unknown, by their names in the journal: `each` takes the name
// and the figure. One list for writing and reading.
template <class Run, class F>
void EachFigure(Run& run, F&& each) {
  auto& profile = run.profile;
  each("steps_per_second", profile.steps_per_second);
  each("uncertainty_ratio", run.uncertainty);
  each("gpu_busy_ratio", profile.busy);
  each("gpu_sm_ratio", profile.sm);
  each("gpu_dram_ratio", profile.dram);
  each("gpu_memory_bytes", profile.gpu_memory);
  each("pcie_bytes_per_second", profile.pcie);
  each("pcie_sent_bytes_per_second", run.pcie_sent);
  each("pcie_received_bytes_per_second", run.pcie_received);
  each("device_busy_ratio", run.device_busy);
  each("device_sm_ratio", run.device_sm);
  each("device_dram_ratio", run.device_dram);
  each("device_power_watts", run.device_power);
  each("cpu_cores", profile.cpu_cores);
  each("host_memory_bytes", profile.host_memory);
  each("host_bandwidth_bytes_per_second", profile.host_bandwidth);
  each("power_watts", profile.power);
  each("kernel_seconds", profile.kernel_time);
  each("kernels_per_step", profile.kernels);
}

void WriteRun(json::Writer& out, const RunSummary& run) {
  const core::Profile& profile = run.profile;
  out.Object([&] {
    out.Field("workload", profile.workload.name);
    out.Field("batch", profile.workload.batch);
    out.Field("precision", profile.workload.precision);
    out.Field("workers", profile.workload.workers);
    out.Field("gpu", profile.gpu);
    EachFigure(run, [&](const char* name, const auto& figure) {
      if (figure) out.Field(name, *figure);
    });
    out.Field("settled", run.settled);
    out.Field("warmup_seconds", run.warmup);
    out.Field("window_seconds", run.window);
    if (run.exit_code) out.Field("exit_code", *run.exit_code);
    out.Field("profile_id", run.profile_id);
    out.Field("throughput_source", run.throughput_source);
    out.Field("bound_by", run.bound_by);
    out.Field("notes", run.notes);
  });
}

RunSummary ReadRun(json::Reader in) {
  RunSummary run;
  core::Profile& profile = run.profile;
  profile.workload.name = in.NeedText("workload");
  profile.workload.batch = static_cast<int>(in.NeedWhole("batch", kAnyInt));
  profile.workload.precision = in.NeedText("precision");
  profile.workload.workers = static_cast<int>(in.NeedWhole("workers", kAnyInt));
  profile.gpu = in.NeedText("gpu");
  EachFigure(run, [&](const char* name, auto& figure) { in.Number(name, figure); });
  in.Need("settled");
  in.Flag("settled", run.settled);
  run.warmup = core::Seconds(in.NeedNumber("warmup_seconds"));
  run.window = core::Seconds(in.NeedNumber("window_seconds"));
  in.Whole("exit_code", run.exit_code);
  run.profile_id = in.NeedWhole("profile_id");
  run.throughput_source = in.NeedText("throughput_source");
  run.bound_by = in.NeedText("bound_by");
  in.Need("notes");
  in.Texts("notes", run.notes, json::Reader::kAnyLength);
  return run;
}

tl::unexpected<core::Error> JournalFailure(const std::string& path, const char* what, int code) {
  return core::FailedError("{}: cannot be {}: {}", path, what,
                           std::generic_category().message(code));
}

}  // namespace

std::string WriteEntry(const JournalEntry& entry) {
  std::string line;
  json::Writer out(line, json::Style::kFile);
  out.Object([&] {
    out.Field("schema", kJournalSchema);
    out.Field("key", entry.key);
    out.Field("label", entry.label);
    out.Field("state", entry.done ? "done" : "failed");
    if (!entry.why.empty()) out.Field("why", entry.why);
    if (entry.out_of_memory) out.Field("out_of_memory", true);
    out.Field("time_ms", entry.time);
    out.List("runs", entry.runs, [&](const RunSummary& run) { WriteRun(out, run); });
  });
  return line;
}

core::Result<JournalEntry> ReadEntry(std::string_view line) {
  const auto parsed = json::Document::Parse(line);
  if (!parsed) return tl::unexpected(parsed.error());
  std::string error;
  json::Reader in(parsed->root(), "", json::Trust::kStored, error);
  if (in.NeedWhole("schema", {0, 1'000'000}) != kJournalSchema && in.ok()) {
    return core::UsageError("it was written by another version of this program");
  }
  JournalEntry entry;
  entry.key = in.NeedText("key");
  entry.label = in.NeedText("label");
  entry.done = in.NeedText("state") == "done";
  in.Text("why", entry.why);
  in.Flag("out_of_memory", entry.out_of_memory);
  entry.time = in.NeedWhole("time_ms");
  for (const json::Value run : in.NeedList("runs", json::Reader::kAnyLength)) {
    const std::string place = fmt::format("runs[{}].", entry.runs.size());
    entry.runs.push_back(ReadRun({run, place, json::Trust::kStored, error}));
  }
  if (!in.ok()) return core::UsageError("{}", error);
  return entry;
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

}  // namespace sharewell::measure
