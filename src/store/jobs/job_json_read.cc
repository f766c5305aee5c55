// Jobs and submissions out of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/text/quoted.h"
#include "json/submission_fields.h"
#include "store/job_store.h"
#include "store/jobs/json_text.h"
#include "store/jobs/object_reader.h"

namespace sharewell::store {
namespace {

using JobJson = ObjectReader::Json;

// What a client may send beside the bounds of each field: these keep one request from filling
// memory and disk.
constexpr std::size_t kMostCommandBytes = std::size_t{4} << 20;
constexpr std::size_t kMostEnvironmentBytes = std::size_t{1} << 20;
constexpr std::size_t kMostAfter = 100;

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

void ReadCurve(ObjectReader& reader, std::size_t most, core::CpuCurve& curve) {
  reader.Each("cpu_curve", most, [&](const JobJson& point) {
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

using Variables = std::vector<std::pair<std::string, std::string>>;

void AddVariable(ObjectReader& reader, Variables& environment, std::string name,
                 std::string value) {
  const char* why = name.empty()                            ? "has no name"
                    : name.find('=') != std::string::npos   ? "has a '=' in its name"
                    : name.find('\0') != std::string::npos  ? "has a NUL character in its name"
                    : value.find('\0') != std::string::npos ? "has a NUL character in it"
                                                            : nullptr;
  if (why != nullptr) {
    reader.Fail("environment", fmt::format("{} {}", core::Quoted(name), why));
  }
  environment.emplace_back(std::move(name), std::move(value));
}

void ReadEnvironment(ObjectReader& reader, std::size_t most, Variables& environment) {
  if (const JobJson* json = reader.Member("environment")) {
    if (!json->is_object()) return reader.Fail("environment", "is no object of names and values");
    for (const auto& [name, value] : json->items()) {
      auto bytes = reader.BytesOf("environment." + name, value);
      if (!bytes) return;
      AddVariable(reader, environment, name, std::move(*bytes));
    }
  }
  reader.Each("environment_bytes", most, [&](const JobJson& entry) {
    std::optional<std::string> name, value;
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      name = FromBase64(entry[0].get_ref<const std::string&>());
      value = FromBase64(entry[1].get_ref<const std::string&>());
    }
    if (!name || !value || IsUtf8(*name)) {
      return reader.Fail("environment_bytes",
                         "its entries are [NAME, VALUE] in base64, of names that are no UTF-8");
    }
    AddVariable(reader, environment, std::move(*name), std::move(*value));
  });
  std::size_t bytes = 0;
  for (const auto& [name, value] : environment) bytes += name.size() + value.size() + 2;
  if (reader.trust() == Trust::kSent &&
      (bytes > kMostEnvironmentBytes || environment.size() > most)) {
    reader.Fail("environment", fmt::format("has {} variables with {} bytes in all, and {} with {} "
                                           "are the most; leave out what the job does not need",
                                           environment.size(), bytes, most, kMostEnvironmentBytes));
  }
}

void ReadCommand(ObjectReader& reader, std::size_t most, std::vector<std::string>& command) {
  std::size_t bytes = 0;
  reader.Each("command", most, [&](const JobJson& word) {
    auto text = reader.BytesOf("command", word);
    if (!text) return;
    bytes += text->size() + 1;
    command.push_back(std::move(*text));
  });
  if (reader.trust() == Trust::kStored) return;
  if (bytes > kMostCommandBytes) {
    reader.Fail("command", fmt::format("has {} bytes in all, and {} are the most; pass what is so "
                                       "long in a file",
                                       bytes, kMostCommandBytes));
  }
}

// Each once: many equal ones are one question.
void ReadAfter(ObjectReader& reader, std::size_t most, std::vector<std::int64_t>& after) {
  reader.Each("after", most, [&](const JobJson& number) {
    const auto whole = reader.JobNumberOf("after", number);
    if (whole && std::find(after.begin(), after.end(), *whole) == after.end()) {
      after.push_back(*whole);
    }
  });
  if (reader.trust() == Trust::kSent && after.size() > kMostAfter) {
    reader.Fail("after", fmt::format("names {} jobs, and {} are the most; let the job come after "
                                     "one that comes after them",
                                     after.size(), kMostAfter));
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

void ReadFolder(ObjectReader& reader, const json::Field& field, std::string& folder) {
  const JobJson* json = reader.Member(field.key);
  if (json == nullptr) return;
  folder = reader.BytesOf(field.key, *json).value_or("");
  if (reader.trust() == Trust::kSent && !folder.empty() &&
      (folder.front() != '/' || static_cast<double>(folder.size()) > field.within.most)) {
    reader.Fail(field.key, fmt::format("{} is no absolute path of at most {} bytes",
                                       core::Quoted(folder), field.within.most));
  }
}

core::Needs ReadNeeds(const JobJson& json, const std::string& place, Trust trust,
                      std::string& error);

// Takes what a field is out of the object, by its type.
class FieldReader {
 public:
  // Of a job some fields have other keys than of a submission.
  FieldReader(ObjectReader& reader, bool of_job, std::string& error)
      : reader_(reader), of_job_(of_job), error_(error) {}

  void operator()(const json::Field& field, std::string& text) {
    if (field.bytes) return ReadFolder(reader_, field, text);
    reader_.Text(KeyOf(field), text, MostOf(field));
  }
  void operator()(const json::Field& field, bool& flag) { reader_.Flag(KeyOf(field), flag); }
  void operator()(const json::Field& field, int& whole) { ReadWhole(field, whole); }
  void operator()(const json::Field& field, std::optional<int>& whole) { ReadWhole(field, whole); }
  template <class Number>
  void operator()(const json::Field& field, std::optional<Number>& number) {
    reader_.Number(KeyOf(field), number, field.within);
  }
  void operator()(const json::Field&, std::optional<std::uint32_t>& umask) {
    ReadUmask(reader_, umask);
  }
  void operator()(const json::Field&, core::Source& source) { ReadSource(reader_, source); }
  void operator()(const json::Field& field, core::CpuCurve& curve) {
    ReadCurve(reader_, MostOf(field), curve);
  }
  void operator()(const json::Field& field, Variables& environment) {
    ReadEnvironment(reader_, MostOf(field), environment);
  }
  void operator()(const json::Field& field, std::vector<std::int64_t>& after) {
    ReadAfter(reader_, MostOf(field), after);
  }
  void operator()(const json::Field& field, std::vector<std::string>& texts) {
    if (field.bytes) return ReadCommand(reader_, MostOf(field), texts);
    reader_.Each(KeyOf(field), MostOf(field), [&](const JobJson& entry) {
      auto text = reader_.TextOf(KeyOf(field), entry, static_cast<std::size_t>(json::kMostName));
      if (text) texts.push_back(std::move(*text));
    });
  }
  void operator()(const json::Field& field, std::optional<core::Needs>& needs) {
    const JobJson* json = reader_.Member(KeyOf(field));
    if (json == nullptr) return;
    needs = ReadNeeds(*json, std::string(KeyOf(field)) + ".", reader_.trust(), error_);
  }

 private:
  const char* KeyOf(const json::Field& field) const {
    return of_job_ && field.job_key != nullptr ? field.job_key : field.key;
  }
  static std::size_t MostOf(const json::Field& field) {
    return static_cast<std::size_t>(field.within.most);
  }
  template <class Whole>
  void ReadWhole(const json::Field& field, Whole& whole) {
    reader_.Whole(KeyOf(field), whole, static_cast<std::int64_t>(field.within.least),
                  static_cast<std::int64_t>(field.within.most));
  }

  ObjectReader& reader_;
  const bool of_job_;
  std::string& error_;
};

core::Needs ReadNeeds(const JobJson& json, const std::string& place, Trust trust,
                      std::string& error) {
  core::Needs needs;
  ObjectReader reader(json, place, trust, error);
  json::EachField(needs, FieldReader(reader, false, error));
  reader.RefuseOthers();
  return needs;
}

void ReadAsked(ObjectReader& reader, bool of_job, core::Submission& asked, std::string& error) {
  json::EachField(asked, FieldReader(reader, of_job, error));
  // Whoever sat at it is gone by then.
  if (asked.terminal) asked.requeue = false;
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
  ReadAsked(reader, true, record.asked, error);
  if (const JobJson* needs = reader.Member("needs")) {
    record.believed = ReadNeeds(*needs, "needs.", Trust::kStored, error);
  }
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
    ReadAsked(reader, false, asked, error);
    // A share is kept by MPS, which serves jobs of one GPU that others may be on.
    if (asked.sm_share && (asked.gpus != 1 || asked.exclusive)) {
      reader.Fail("sm_share",
                  "is for a job that may share its one GPU; leave it out, or ask for one "
                  "GPU that is not exclusive");
    }
    reader.RefuseOthers();
    if (asked.command.empty() || asked.command.front().empty()) {
      reader.Fail("command", "is missing: give the program and its arguments as a list of texts");
    }
    if (error.empty()) return asked;
  }
  return tl::unexpected(core::Error{core::ErrorKind::kUsage, error});
}

}  // namespace sharewell::store
