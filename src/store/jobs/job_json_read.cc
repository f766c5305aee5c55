// Jobs and submissions out of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/sm_share.h"
#include "core/text/quoted.h"
#include "store/job_store.h"
#include "store/jobs/json_text.h"
#include "store/jobs/object_reader.h"

namespace sharewell::store {
namespace {

using JobJson = ObjectReader::Json;

// What a client may send. Longer words than the kernel's 128 KiB are refused by exec, with the
// kernel's own message; these bounds keep one request from filling memory and disk.
constexpr std::size_t kMostCommandBytes = std::size_t{4} << 20, kMostWords = 65'536;
constexpr std::size_t kMostEnvironmentBytes = std::size_t{1} << 20, kMostVariables = 10'000;
constexpr std::size_t kMostJobName = 200, kMostPath = 4096, kMostModels = 64, kMostAfter = 100,
                      kMostAfterWords = 1000, kMostCurve = 1000;
constexpr std::int64_t kMostGpusOfJob = 64, kMostPriority = 1'000'000, kMostAtOnce = 1'000'000;
constexpr Within kBytesWithin{1, 1e15}, kRatesWithin{0, 1e15}, kShareWithin{0, 1},
    kCoresWithin{0.01, 4096}, kSecondsWithin{0.001, 1e9};

void ReadSource(ObjectReader& reader, core::Source& source) {
  const JobJson* json = reader.Member("source");
  if (json == nullptr) return;
  const std::string name = json->is_string() ? json->get<std::string>() : "";
  if (name == "measured") {
    source = core::Source::kMeasured;
  } else if (name == "predicted") {
    source = core::Source::kPredicted;
  } else if (name == "assumed") {
    source = core::Source::kAssumed;
  } else {
    reader.Fail("source", core::Quoted(name) + " is not measured, predicted or assumed");
  }
}

void ReadCurve(ObjectReader& reader, core::CpuCurve& curve) {
  reader.Each("cpu_curve", kMostCurve, [&](const JobJson& point) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number()) {
      return reader.Fail("cpu_curve", "its entries are [CORES, SHARE]");
    }
    const auto cores = point[0].get<double>();
    const auto share = point[1].get<double>();
    const bool rises =
        curve.empty() || (cores > curve.back().first && share >= curve.back().second);
    if (reader.trust() == Trust::kSent && (!rises || cores <= 0 || share < 0 || share > 1)) {
      return reader.Fail("cpu_curve", "its cores and shares (0 to 1) must rise");
    }
    curve.emplace_back(cores, share);
  });
}

core::Needs ReadNeeds(const JobJson& json, const std::string& place, Trust trust,
                      std::string& error) {
  core::Needs needs;
  core::Profile& profile = needs.profile;
  ObjectReader reader(json, place, trust, error);
  ReadSource(reader, needs.source);
  reader.Text("from", needs.from, kMostJobName);
  reader.Text("workload", profile.workload.name, kMostJobName);
  reader.Whole("batch", profile.workload.batch, 0, 1'000'000'000);
  reader.Text("precision", profile.workload.precision, kMostJobName);
  reader.Whole("workers", profile.workload.workers, 0, 1'000'000);
  reader.Text("gpu", profile.gpu, kMostJobName);
  reader.Number("busy", profile.busy, kShareWithin);
  reader.Number("sm", profile.sm, kShareWithin);
  reader.Number("dram", profile.dram, kShareWithin);
  reader.Number("gpu_memory_bytes", profile.gpu_memory, kRatesWithin);
  reader.Number("gpu_memory_upper_bytes", needs.gpu_memory_upper, kRatesWithin);
  reader.Number("cpu_cores", profile.cpu_cores, {0, 4096});
  reader.Number("cores_upper", needs.cores_upper, {0, 4096});
  reader.Number("host_memory_bytes", profile.host_memory, kRatesWithin);
  reader.Number("pcie_bytes_per_second", profile.pcie, kRatesWithin);
  reader.Number("host_bandwidth_bytes_per_second", profile.host_bandwidth, kRatesWithin);
  reader.Number("power_watts", profile.power, {0, 1e6});
  reader.Number("kernel_seconds", profile.kernel_time, {0, 1e6});
  reader.Number("kernels_per_step", profile.kernels, {0, 1e12});
  reader.Number("steps_per_second", profile.steps_per_second, {0, 1e9});
  reader.Number("duration_seconds", needs.duration, kSecondsWithin);
  reader.Text("graph", needs.graph, kMostJobName);
  reader.Text("optimizer", needs.optimizer, kMostJobName);
  reader.Flag("retrained", needs.retrained);
  ReadCurve(reader, profile.cpu_curve);
  reader.RefuseOthers();
  return needs;
}

void ReadGivenNeeds(ObjectReader& reader, const char* key, std::optional<core::Needs>& needs,
                    std::string& error) {
  const JobJson* json = reader.Member(key);
  if (json != nullptr) needs = ReadNeeds(*json, std::string(key) + ".", reader.trust(), error);
}

void AddVariable(ObjectReader& reader, core::Submission& asked, std::string name,
                 std::string value) {
  const char* why = name.empty()                            ? "has no name"
                    : name.find('=') != std::string::npos   ? "has a '=' in its name"
                    : name.find('\0') != std::string::npos  ? "has a NUL character in its name"
                    : value.find('\0') != std::string::npos ? "has a NUL character in it"
                                                            : nullptr;
  if (why != nullptr) {
    reader.Fail("environment", fmt::format("{} {}", core::Quoted(name), why));
  }
  asked.environment.emplace_back(std::move(name), std::move(value));
}

void ReadEnvironment(ObjectReader& reader, core::Submission& asked) {
  if (const JobJson* json = reader.Member("environment")) {
    if (!json->is_object()) return reader.Fail("environment", "is no object of names and values");
    for (const auto& [name, value] : json->items()) {
      auto bytes = reader.BytesOf("environment." + name, value);
      if (!bytes) return;
      AddVariable(reader, asked, name, std::move(*bytes));
    }
  }
  reader.Each("environment_bytes", kMostVariables, [&](const JobJson& entry) {
    std::optional<std::string> name, value;
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      name = FromBase64(entry[0].get_ref<const std::string&>());
      value = FromBase64(entry[1].get_ref<const std::string&>());
    }
    if (!name || !value || IsUtf8(*name)) {
      return reader.Fail("environment_bytes",
                         "its entries are [NAME, VALUE] in base64, of names that are no UTF-8");
    }
    AddVariable(reader, asked, std::move(*name), std::move(*value));
  });
  std::size_t bytes = 0;
  for (const auto& [name, value] : asked.environment) bytes += name.size() + value.size() + 2;
  if (reader.trust() == Trust::kSent &&
      (bytes > kMostEnvironmentBytes || asked.environment.size() > kMostVariables)) {
    reader.Fail("environment", fmt::format("has {} variables with {} bytes in all, and {} with {} "
                                           "are the most; leave out what the job does not need",
                                           asked.environment.size(), bytes, kMostVariables,
                                           kMostEnvironmentBytes));
  }
}

void ReadCommand(ObjectReader& reader, core::Submission& asked) {
  std::size_t bytes = 0;
  reader.Each("command", kMostWords, [&](const JobJson& word) {
    auto text = reader.BytesOf("command", word);
    if (!text) return;
    bytes += text->size() + 1;
    asked.command.push_back(std::move(*text));
  });
  if (reader.trust() == Trust::kStored) return;
  if (bytes > kMostCommandBytes) {
    reader.Fail("command", fmt::format("has {} bytes in all, and {} are the most; pass what is so "
                                       "long in a file",
                                       bytes, kMostCommandBytes));
  }
}

// Each once: many equal ones are one question.
void ReadAfter(ObjectReader& reader, core::Submission& asked) {
  reader.Each("after", kMostAfterWords, [&](const JobJson& number) {
    const auto whole = reader.JobNumberOf("after", number);
    const auto& have = asked.after;
    if (whole && std::find(have.begin(), have.end(), *whole) == have.end()) {
      asked.after.push_back(*whole);
    }
  });
  if (reader.trust() == Trust::kSent && asked.after.size() > kMostAfter) {
    reader.Fail("after", fmt::format("names {} jobs, and {} are the most; let the job come after "
                                     "one that comes after them",
                                     asked.after.size(), kMostAfter));
  }
}

// As umask(1) has it: "0027".
void ReadUmask(ObjectReader& reader, std::optional<std::uint32_t>& umask) {
  const JobJson* json = reader.Member("umask");
  if (json == nullptr) return;
  const std::string text = json->is_string() ? json->get<std::string>() : "";
  std::uint32_t mask = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), mask, 8);
  if (text.empty() || text.size() > 4 || read.ptr != text.data() + text.size() || mask > 0777) {
    return reader.Fail("umask", "is no text of octal digits from \"0\" to \"0777\"");
  }
  umask = mask;
}

// Both objects have these under the same names.
void ReadAsked(ObjectReader& reader, core::Submission& asked) {
  reader.Text("name", asked.name, kMostJobName);
  ReadCommand(reader, asked);
  if (const JobJson* folder = reader.Member("folder")) {
    asked.folder = reader.BytesOf("folder", *folder).value_or("");
    if (reader.trust() == Trust::kSent && !asked.folder.empty() &&
        (asked.folder.front() != '/' || asked.folder.size() > kMostPath)) {
      reader.Fail("folder", fmt::format("{} is no absolute path of at most {} bytes",
                                        core::Quoted(asked.folder), kMostPath));
    }
  }
  ReadEnvironment(reader, asked);
  reader.Each("gpu_models", kMostModels, [&](const JobJson& model) {
    if (auto text = reader.TextOf("gpu_models", model, kMostJobName)) {
      asked.gpu_models.push_back(std::move(*text));
    }
  });
  reader.Flag("exclusive", asked.exclusive);
  reader.Number("max_slowdown", asked.max_slowdown, {1, 100});
  reader.Whole("priority", asked.priority, -kMostPriority, kMostPriority);
  reader.Flag("latency_sensitive", asked.latency_sensitive);
  reader.Number("time_limit_seconds", asked.time_limit, kSecondsWithin);
  reader.Text("image", asked.image, kMostPath);
  ReadAfter(reader, asked);
  reader.Flag("held", asked.held);
  reader.Flag("requeue", asked.requeue);
  reader.Flag("terminal", asked.terminal);
  ReadUmask(reader, asked.umask);
  // Whoever sat at it is gone by then.
  if (asked.terminal) asked.requeue = false;
  reader.Text("profile", asked.profile, kMostJobName);
  reader.Text("array", asked.array, kMostJobName);
  reader.Whole("array_at_once", asked.array_at_once, 1, kMostAtOnce);
}

// A share is kept by MPS, which serves jobs of one GPU that others may be on.
void ReadAskedShare(ObjectReader& reader, core::Submission& asked) {
  reader.Number("sm_share", asked.sm_share, {core::kLeastSmShare, 1});
  if (asked.sm_share && (asked.gpus != 1 || asked.exclusive)) {
    reader.Fail("sm_share",
                "is for a job that may share its one GPU; leave it out, or ask for one "
                "GPU that is not exclusive");
  }
}

void ReadGpus(ObjectReader& reader, core::JobRecord& record, std::string& error) {
  reader.Each("gpus", 0, [&](const JobJson& json) {
    core::GivenGpu gpu;
    ObjectReader inner(json, "gpus.", Trust::kStored, error);
    inner.Whole("index", gpu.index);
    inner.Text("uuid", gpu.uuid, 0);
    inner.Text("model", gpu.model, 0);
    record.gpus.push_back(std::move(gpu));
  });
}

void ReadSeen(ObjectReader& reader, core::SeenFigures& seen, std::string& error) {
  const JobJson* json = reader.Member("seen");
  if (json == nullptr || json->is_null()) return;
  ObjectReader inner(*json, "seen.", Trust::kStored, error);
  inner.Number("cores", seen.cores, {});
  inner.Number("busy", seen.busy, {});
  inner.Number("sm", seen.sm, {});
  inner.Number("gpu_memory_bytes", seen.gpu_memory, {});
  inner.Number("host_memory_bytes", seen.host_memory, {});
  inner.Number("power_watts", seen.power, {});
}

core::JobRecord ReadRecord(const JobJson& json, std::string& error) {
  core::JobRecord record;
  core::Submission& asked = record.asked;
  ObjectReader reader(json, "", Trust::kStored, error);
  reader.Whole("number", record.number);
  reader.Text("user", record.user.name, 0);
  reader.Whole("uid", record.user.uid);
  reader.Whole("gid", record.user.gid);
  reader.Flag("admin", record.user.admin);
  std::string phase(core::NameOf(record.phase));
  reader.Text("phase", phase, 0);
  if (const auto named = core::PhaseNamed(phase)) {
    record.phase = *named;
  } else {
    reader.Fail("phase", core::Quoted(phase) + " is none that this program knows");
  }
  ReadAsked(reader, asked);
  reader.Whole("gpus_asked", asked.gpus, 0, 100'000);
  reader.Number("cores_asked", asked.cores, {});
  reader.Number("gpu_memory_asked_bytes", asked.gpu_memory, {});
  reader.Number("memory_asked_bytes", asked.memory, {});
  reader.Number("sm_share_asked", asked.sm_share, {});
  if (const JobJson* needs = reader.Member("needs")) {
    record.believed = ReadNeeds(*needs, "needs.", Trust::kStored, error);
  }
  ReadGivenNeeds(reader, "needs_given", asked.needs, error);
  reader.Whole("submitted_ms", record.submitted);
  reader.Whole("started_ms", record.started);
  reader.Whole("resumed_ms", record.resumed);
  reader.Whole("ended_ms", record.ended);
  reader.Whole("expected_start_ms", record.expected_start);
  reader.Whole("attempt", record.attempt);
  reader.Whole("ooms", record.ooms);
  reader.Whole("parted", record.evicted);
  reader.Whole("lost", record.lost);
  reader.Flag("cancelled", record.cancelled);
  reader.Flag("paused", record.paused);
  reader.Whole("paused_ms", record.paused_at);
  ReadGpus(reader, record, error);
  reader.Number("cores", record.cores, {});
  reader.Number("sm_share", record.sm_share, {});
  reader.Each("beside", 0, [&](const JobJson& number) {
    if (const auto whole = reader.JobNumberOf("beside", number)) record.beside.push_back(*whole);
  });
  reader.Text("reason", record.reason, 0);
  reader.Text("note", record.note, 0);
  reader.Whole("exit_code", record.exit_code);
  reader.Number("steps", record.steps, {});
  reader.Number("steps_per_second", record.steps_per_second, {});
  reader.Number("slowdown", record.slowdown, {});
  ReadSeen(reader, record.seen, error);
  reader.Number("run_time_seconds", record.run_time, {});
  reader.Number("alone_time_seconds", record.alone_time, {});
  reader.Number("time_limit_extended_seconds", record.limit_extended, {});
  return record;
}

}  // namespace

core::Result<core::JobRecord> JobFromJson(std::string_view text) {
  std::string error;
  if (const auto json = ParseObject(text, error)) {
    auto record = ReadRecord(*json, error);
    if (error.empty()) return record;
  }
  return core::FailedError("the job is not one of ours: {}", error);
}

core::Result<core::Submission> SubmissionFromJson(std::string_view text) {
  std::string error;
  if (const auto json = ParseObject(text, error)) {
    core::Submission asked;
    ObjectReader reader(*json, "", Trust::kSent, error);
    ReadAsked(reader, asked);
    reader.Whole("gpus", asked.gpus, 0, kMostGpusOfJob);
    reader.Number("cores", asked.cores, kCoresWithin);
    reader.Number("gpu_memory_bytes", asked.gpu_memory, kBytesWithin);
    reader.Number("memory_bytes", asked.memory, kBytesWithin);
    ReadAskedShare(reader, asked);
    ReadGivenNeeds(reader, "needs", asked.needs, error);
    reader.RefuseOthers();
    if (asked.command.empty() || asked.command.front().empty()) {
      reader.Fail("command", "is missing: give the program and its arguments as a list of texts");
    }
    if (error.empty()) return asked;
  }
  return tl::unexpected(core::Error{core::ErrorKind::kUsage, error});
}

}  // namespace sharewell::store
