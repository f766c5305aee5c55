// Jobs and submissions out of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/text/quoted.h"
#include "json/needs_json.h"
#include "json/reader.h"
#include "json/submission_fields.h"
#include "json/text.h"
#include "store/job_store.h"
#include "store/jobs/hold_json.h"
#include "store/jobs/job_json.h"
#include "store/jobs/old_words.h"
#include "store/jobs/told_json.h"

namespace sharewell::store {
namespace {

// What a client may send beside the bounds of each field: these keep one request from filling
// memory and disk.
constexpr std::size_t kMostCommandBytes = std::size_t{4} << 20;
constexpr std::size_t kMostEnvironmentBytes = std::size_t{1} << 20;
constexpr std::size_t kMostAfter = 100;
constexpr std::size_t kDeepestJob = 16;

using Variables = std::vector<std::pair<std::string, std::string>>;

void AddVariable(json::Reader& reader, Variables& environment, std::string name,
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

void ReadEnvironment(json::Reader& reader, std::size_t most, Variables& environment) {
  if (const json::Value json = reader.Member("environment"); !json.is_null()) {
    if (!json.is_object()) return reader.Fail("environment", "is no object of names and values");
    for (const auto& [name, value] : json.members()) {
      auto bytes = reader.BytesOf(fmt::format("environment.{}", name), value);
      if (!bytes) return;
      AddVariable(reader, environment, std::string(name), std::move(*bytes));
    }
  }
  reader.Each("environment_bytes", most, [&](json::Value entry) {
    const auto name = json::FromBase64(entry.At(0).Text().value_or("?"));
    const auto value = json::FromBase64(entry.At(1).Text().value_or("?"));
    if (entry.size() != 2 || !name || !value || json::IsUtf8(*name)) {
      return reader.Fail("environment_bytes",
                         "its entries are [NAME, VALUE] in base64, of names that are no UTF-8");
    }
    AddVariable(reader, environment, *name, *value);
  });
  std::size_t bytes = 0;
  for (const auto& [name, value] : environment) bytes += name.size() + value.size() + 2;
  if (reader.trust() == json::Trust::kSent &&
      (bytes > kMostEnvironmentBytes || environment.size() > most)) {
    reader.Fail("environment", fmt::format("has {} variables with {} bytes in all, and {} with {} "
                                           "are the most; leave out what the job does not need",
                                           environment.size(), bytes, most, kMostEnvironmentBytes));
  }
}

void ReadCommand(json::Reader& reader, std::size_t most, std::vector<std::string>& command) {
  std::size_t bytes = 0;
  reader.Each("command", most, [&](json::Value word) {
    auto text = reader.BytesOf("command", word);
    if (!text) return;
    bytes += text->size() + 1;
    command.push_back(std::move(*text));
  });
  if (reader.trust() == json::Trust::kStored) return;
  if (bytes > kMostCommandBytes) {
    reader.Fail("command", fmt::format("has {} bytes in all, and {} are the most; pass what is so "
                                       "long in a file",
                                       bytes, kMostCommandBytes));
  }
}

json::Range JobNumbers(const json::Reader& reader) {
  return reader.trust() == json::Trust::kSent ? json::Range{.least = 1} : json::Range{};
}

// Each once: many equal ones are one question.
void ReadAfter(json::Reader& reader, std::size_t most, std::vector<std::int64_t>& after) {
  reader.Each("after", most, [&](json::Value number) {
    const auto whole = reader.WholeOf("after", number, JobNumbers(reader));
    if (whole && std::find(after.begin(), after.end(), *whole) == after.end()) {
      after.push_back(*whole);
    }
  });
  if (reader.trust() == json::Trust::kSent && after.size() > kMostAfter) {
    reader.Fail("after", fmt::format("names {} jobs, and {} are the most; let the job come after "
                                     "one that comes after them",
                                     after.size(), kMostAfter));
  }
}

// As umask(1) has it: "0027".
void ReadUmask(json::Reader& reader, std::optional<std::uint32_t>& umask) {
  const json::Value json = reader.Member("umask");
  if (json.is_null()) return;
  const std::string_view text = json.Text().value_or("");
  std::uint32_t mask = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), mask, 8);
  if (text.empty() || text.size() > 4 || read.ptr != text.data() + text.size() || mask > 0777) {
    return reader.Fail("umask", "is no text of octal digits from \"0\" to \"0777\"");
  }
  umask = mask;
}

void ReadFolder(json::Reader& reader, const json::Field& field, std::string& folder) {
  const json::Value json = reader.Member(field.key);
  if (json.is_null()) return;
  folder = reader.BytesOf(field.key, json).value_or("");
  if (reader.trust() == json::Trust::kSent && !folder.empty() &&
      (folder.front() != '/' || static_cast<double>(folder.size()) > field.within.most)) {
    reader.Fail(field.key, fmt::format("{} is no absolute path of at most {} bytes",
                                       core::Quoted(folder), field.within.most));
  }
}

// Takes what a field is out of the object, by its type.
class FieldReader {
 public:
  // Of a job some fields have other keys than of a submission.
  FieldReader(json::Reader& reader, bool of_job, std::string& error)
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
  void operator()(const json::Field& field, Variables& environment) {
    ReadEnvironment(reader_, MostOf(field), environment);
  }
  void operator()(const json::Field& field, std::vector<std::int64_t>& after) {
    ReadAfter(reader_, MostOf(field), after);
  }
  void operator()(const json::Field& field, std::vector<std::string>& texts) {
    if (field.bytes) return ReadCommand(reader_, MostOf(field), texts);
    reader_.Texts(KeyOf(field), texts, MostOf(field), static_cast<std::size_t>(json::kMostName));
  }
  void operator()(const json::Field& field, std::optional<core::Needs>& needs) {
    const json::Value json = reader_.Member(KeyOf(field));
    if (json.is_null()) return;
    needs = json::ReadNeeds(json, std::string(KeyOf(field)) + ".", reader_.trust(), error_);
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
    reader_.Whole(KeyOf(field), whole,
                  {static_cast<std::int64_t>(field.within.least),
                   static_cast<std::int64_t>(field.within.most)});
  }

  json::Reader& reader_;
  const bool of_job_;
  std::string& error_;
};

void ReadAsked(json::Reader& reader, bool of_job, core::Submission& asked, std::string& error) {
  json::EachField(asked, FieldReader(reader, of_job, error));
  // Whoever sat at it is gone by then.
  if (asked.terminal) asked.requeue = false;
}

void ReadGpus(json::Reader& reader, core::JobRecord& record, std::string& error) {
  reader.Each("gpus", 0, [&](json::Value json) {
    core::GivenGpu gpu;
    json::Reader inner(json, "gpus.", json::Trust::kStored, error);
    inner.Whole("index", gpu.index);
    inner.Text("uuid", gpu.uuid, 0);
    inner.Text("model", gpu.model, 0);
    record.gpus.push_back(std::move(gpu));
  });
}

void ReadSeen(json::Reader& reader, core::SeenFigures& seen, std::string& error) {
  const json::Value json = reader.Member("seen");
  if (json.is_null()) return;
  json::Reader inner(json, "seen.", json::Trust::kStored, error);
  inner.Number("cores", seen.cores, {});
  inner.Number("busy", seen.busy, {});
  inner.Number("sm", seen.sm, {});
  inner.Number("gpu_memory_bytes", seen.gpu_memory, {});
  inner.Number("host_memory_bytes", seen.host_memory, {});
  inner.Number("power_watts", seen.power, {});
}

void ReadStepsBy(json::Reader& reader, std::optional<core::StepsBy>& by) {
  const json::Value json = reader.Member("steps_by");
  if (!json.is_null()) by = core::StepsByNamed(json.Text().value_or(""));
}

void ReadSeenRate(json::Reader& reader, std::optional<core::SeenRate>& alone) {
  std::optional<double> rate;
  std::optional<core::Seconds> over;
  reader.Number("steps_per_second_alone", rate, {});
  reader.Number("seen_alone_seconds", over, {});
  if (rate && over) alone = {*rate, *over};
}

// An older version compared steps with a rate that was only predicted, too, and did not say so.
void ForgetGuesses(json::Value needs, core::JobRecord& record) {
  if (!needs["pace_source"].is_null()) return;
  const bool compared = record.steps && record.believed.profile.steps_per_second;
  if (compared || record.alone_time == core::Seconds(0)) record.alone_time.reset();
  if (compared) record.slowdown.reset();
}

core::JobRecord ReadRecord(json::Value json, std::string& error) {
  core::JobRecord record;
  json::Reader reader(json, "", json::Trust::kStored, error);
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
  if (const json::Value needs = reader.Member("needs"); !needs.is_null()) {
    record.believed = json::ReadNeeds(needs, "needs.", json::Trust::kStored, error);
  }
  reader.Whole("submitted_ms", record.submitted);
  reader.Whole("started_ms", record.started);
  reader.Whole("resumed_ms", record.resumed);
  reader.Whole("ended_ms", record.ended);
  reader.Whole("expected_start_ms", record.expected_start);
  reader.Whole("attempt", record.attempt);
  reader.Whole("ooms", record.ooms);
  reader.Whole("parted", record.evicted);  // as records were written until 19 November 2026
  reader.Whole("evicted", record.evicted);
  reader.Whole("lost", record.lost);
  const bool cancelled = reader.FlagOr("cancelled", false);
  ReadHold(reader, record);
  reader.Flag("paused", record.paused);
  reader.Whole("paused_ms", record.paused_at);
  ReadGpus(reader, record, error);
  reader.Number("cores", record.cores, {});
  reader.Number("sm_share", record.sm_share, {});
  reader.Number("guest_memory_bytes", record.guest_memory, {});
  reader.Number("guest_oom_bytes", record.guest_oom, {});
  reader.Flag("broke_gpu", record.broke_gpu);
  reader.Each("beside", 0, [&](json::Value number) {
    if (const auto whole = reader.WholeOf("beside", number)) record.beside.push_back(*whole);
  });
  reader.Text("reason", record.reason, 0);
  reader.Text("note", record.note, 0);
  ReadOldWords(cancelled, record);
  record.gpu_gone = reader.FlagOr("gpu_gone", OldGpuGone(record));
  reader.Whole("exit_code", record.exit_code);
  reader.Number("steps", record.steps, {});
  reader.Number("steps_per_second", record.steps_per_second, {});
  ReadStepsBy(reader, record.steps_by);
  if (const json::Value told = reader.Member("told"); !told.is_null()) {
    record.told = ReadTold(told, "told.", json::Trust::kStored, error);
  }
  ReadSeenRate(reader, record.alone);
  reader.Number("slowdown", record.slowdown, {});
  ReadSeen(reader, record.seen, error);
  reader.Number("run_time_seconds", record.run_time, {});
  reader.Number("alone_time_seconds", record.alone_time, {});
  reader.Number("time_limit_extended_seconds", record.limit_extended, {});
  ForgetGuesses(json["needs"], record);
  return record;
}

}  // namespace

core::Result<core::JobRecord> JobFromJson(std::string_view text) {
  auto parsed = ParseSent(text);
  if (!parsed) return core::FailedError("the job is not one of ours: {}", parsed.error().message);
  return JobFromJson(parsed->root());
}

core::Result<core::JobRecord> JobFromJson(json::Value json) {
  std::string error;
  auto record = ReadRecord(json, error);
  if (!error.empty()) return core::FailedError("the job is not one of ours: {}", error);
  return record;
}

core::Result<json::Document> ParseSent(std::string_view text) {
  auto parsed = json::Document::Parse(text, kDeepestJob);
  if (!parsed) {
    return core::UsageError("this is no JSON (in UTF-8): {}: {}", parsed.error().message,
                            core::Quoted(text));
  }
  return parsed;
}

core::Result<core::Submission> SubmissionFromJson(std::string_view text) {
  const auto parsed = ParseSent(text);
  RETURN_IF_ERROR(parsed);
  return SubmissionFromJson(parsed->root());
}

core::Result<core::Submission> SubmissionFromJson(json::Value json) {
  std::string error;
  core::Submission asked;
  json::Reader reader(json, "", json::Trust::kSent, error);
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
  if (!error.empty()) return core::UsageError("{}", error);
  return asked;
}

}  // namespace sharewell::store
