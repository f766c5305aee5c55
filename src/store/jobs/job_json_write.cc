// Jobs and submissions into JSON.
#include <fmt/format.h>

#include "json/needs_json.h"
#include "json/submission_fields.h"
#include "json/text.h"
#include "json/writer.h"
#include "store/job_store.h"
#include "store/jobs/hold_json.h"
#include "store/jobs/job_json.h"
#include "store/jobs/told_json.h"

namespace sharewell::store {
namespace {

void WriteEnvironment(json::Writer& writer,
                      const std::vector<std::pair<std::string, std::string>>& environment) {
  bool all = true;
  writer.Object("environment", [&] {
    for (const auto& [name, value] : environment) {
      if (!json::IsUtf8(name)) {
        all = false;
        continue;
      }
      writer.Key(name);
      writer.Bytes(value);
    }
  });
  if (all) return;
  // A key of an object cannot be bytes.
  writer.Key("environment_bytes");
  writer.List([&] {
    for (const auto& [name, value] : environment) {
      if (!json::IsUtf8(name)) {
        writer.Value(std::pair(json::Base64(name), json::Base64(value)));
      }
    }
  });
}

std::string UmaskText(std::uint32_t umask) { return fmt::format("{:04o}", umask); }

// Writes what a field is into the object, by its type.
class FieldWriter {
 public:
  // Of `job` some fields have other keys than of a submission; null: it is none.
  FieldWriter(json::Writer& writer, const core::JobRecord* job, bool with_environment)
      : writer_(writer), job_(job), with_environment_(with_environment) {}

  void operator()(const json::Field& field, const std::string& text) {
    if (!field.written || (job_ != nullptr && &text == &job_->asked.name)) return;
    if (field.bytes) {
      writer_.Key(KeyOf(field));
      writer_.Bytes(text);
    } else if (field.empty_is_null) {
      writer_.TextOrNull(KeyOf(field), text);
    } else {
      writer_.Field(KeyOf(field), text);
    }
  }
  void operator()(const json::Field& field, bool flag) {
    if (field.written) writer_.Field(KeyOf(field), flag);
  }
  void operator()(const json::Field& field, int whole) {
    if (field.empty_is_null && whole == 0) return writer_.Null(KeyOf(field));
    writer_.Field(KeyOf(field), whole);
  }
  template <class Number>
  void operator()(const json::Field& field, const std::optional<Number>& number) {
    writer_.Field(KeyOf(field), number);
  }
  void operator()(const json::Field& field, const std::optional<std::uint32_t>& umask) {
    writer_.TextOrNull(KeyOf(field), umask ? UmaskText(*umask) : "");
  }
  void operator()(const json::Field& field,
                  const std::vector<std::pair<std::string, std::string>>& environment) {
    if (with_environment_) return WriteEnvironment(writer_, environment);
    writer_.Object(KeyOf(field), [] {});
  }
  void operator()(const json::Field& field, const std::vector<std::int64_t>& numbers) {
    writer_.Field(KeyOf(field), numbers);
  }
  void operator()(const json::Field& field, const std::vector<std::string>& texts) {
    writer_.List(KeyOf(field), texts, [&](const std::string& text) {
      field.bytes ? writer_.Bytes(text) : writer_.Value(text);
    });
  }
  void operator()(const json::Field& field, const std::optional<core::Needs>& needs) {
    if (job_ != nullptr) {
      writer_.Key("needs");
      json::WriteNeeds(writer_, job_->believed);
    }
    if (!needs) return writer_.Null(KeyOf(field));
    writer_.Key(KeyOf(field));
    json::WriteNeeds(writer_, *needs);
  }

 private:
  const char* KeyOf(const json::Field& field) const {
    return job_ != nullptr && field.job_key != nullptr ? field.job_key : field.key;
  }

  json::Writer& writer_;
  const core::JobRecord* const job_;
  const bool with_environment_;
};

void WriteSeen(json::Writer& writer, const core::SeenFigures& seen) {
  writer.Field("cores", seen.cores);
  writer.Field("busy", seen.busy);
  writer.Field("sm", seen.sm);
  writer.Field("gpu_memory_bytes", seen.gpu_memory);
  writer.Field("host_memory_bytes", seen.host_memory);
  writer.Field("power_watts", seen.power);
}

}  // namespace

void WriteJobMembers(json::Writer& writer, const core::JobRecord& record, bool with_environment) {
  writer.Field("number", record.number);
  writer.Field("name", core::DisplayName(record.asked));
  writer.Field("user", record.user.name);
  writer.Field("uid", record.user.uid);
  writer.Field("gid", record.user.gid);
  if (record.user.admin) writer.Field("admin", true);
  writer.Field("phase", core::NameOf(record.phase));
  json::EachField(record.asked, FieldWriter(writer, &record, with_environment));
  writer.Field("submitted_ms", record.submitted);
  writer.Field("started_ms", record.started);
  writer.Field("resumed_ms", record.resumed);
  writer.Field("ended_ms", record.ended);
  writer.Field("expected_start_ms", record.expected_start);
  writer.Field("attempt", record.attempt);
  writer.Field("ooms", record.ooms);
  writer.Field("evicted", record.evicted);
  writer.Field("lost", record.lost);
  WriteHold(writer, record);
  writer.Field("paused", record.paused);
  writer.Field("paused_ms", record.paused_at);
  writer.List("gpus", record.gpus, [&](const core::GivenGpu& gpu) {
    writer.Object([&] {
      writer.Field("index", gpu.index);
      writer.Field("uuid", gpu.uuid);
      writer.Field("model", gpu.model);
    });
  });
  writer.Field("gpu_gone", record.gpu_gone);
  writer.Field("cores", record.cores);
  writer.Field("sm_share", record.sm_share);
  writer.Field("guest_memory_bytes", record.guest_memory);
  writer.Field("guest_oom_bytes", record.guest_oom);
  writer.Field("broke_gpu", record.broke_gpu);
  writer.Field("beside", record.beside);
  writer.Field("reason", record.reason);
  writer.Field("note", record.note);
  writer.Field("exit_code", record.exit_code);
  writer.Field("steps", record.steps);
  writer.Field("steps_per_second", record.steps_per_second);
  writer.Field("steps_by", record.steps_by
                               ? std::optional(std::string(core::NameOf(*record.steps_by)))
                               : std::nullopt);
  if (record.told) {
    writer.Key("told");
    WriteTold(writer, *record.told);
  } else {
    writer.Null("told");
  }
  writer.Field("steps_per_second_alone",
               record.alone ? std::optional(record.alone->steps_per_second) : std::nullopt);
  writer.Field("seen_alone_seconds",
               record.alone ? std::optional(record.alone->over) : std::nullopt);
  writer.Field("slowdown", record.slowdown);
  writer.Field("slower_than_predicted", core::SlowerThanPredicted(record));
  if (record.seen == core::SeenFigures{}) {
    writer.Null("seen");
  } else {
    writer.Object("seen", [&] { WriteSeen(writer, record.seen); });
  }
  writer.Field("run_time_seconds", record.run_time);
  writer.Field("alone_time_seconds", record.alone_time);
  writer.Field("time_limit_extended_seconds", record.limit_extended);
}

void WriteJob(json::Writer& writer, const core::JobRecord& record, bool with_environment) {
  writer.Object([&] { WriteJobMembers(writer, record, with_environment); });
}

std::string StoredJob(const core::JobRecord& record) {
  std::string out;
  out.reserve(1024);
  json::Writer writer(out, json::Style::kBrief);
  WriteJob(writer, record);
  return out;
}

std::string JobToJson(const core::JobRecord& record) {
  std::string out;
  out.reserve(2048);
  json::Writer writer(out);
  WriteJob(writer, record);
  return out;
}

std::string SubmissionToJson(const core::Submission& submission) {
  std::string out;
  out.reserve(1024);
  json::Writer writer(out);
  writer.Object([&] { json::EachField(submission, FieldWriter(writer, nullptr, true)); });
  return out;
}

}  // namespace sharewell::store
