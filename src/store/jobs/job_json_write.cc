// Jobs as JSON, written by hand: ten thousand of them are listed at a time, and building a document
// of each first takes ten times as long.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "json/submission_fields.h"
#include "store/job_store.h"
#include "store/jobs/job_json.h"
#include "store/jobs/json_text.h"

namespace sharewell::store {
namespace {

// Whether members that are null or an empty list are written. Readers take them alike; what is read
// by the ten thousand at every start is half as long without.
enum class Form : std::uint8_t { kWhole, kShort };

// Writes the members of one object; its keys are ours and need no escaping.
class JobWriter {
 public:
  explicit JobWriter(std::string& out, Form form = Form::kWhole) : out_(out), form_(form) {
    out_ += '{';
  }
  Form form() const { return form_; }
  void End() { out_ += '}'; }

  std::string& Key(std::string_view name) {
    out_ += first_ ? "\"" : ",\"";
    first_ = false;
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void Field(std::string_view name, std::int64_t value) {
    fmt::format_to(std::back_inserter(Key(name)), "{}", value);
  }
  void Field(std::string_view name, int value) { Field(name, std::int64_t{value}); }
  void Field(std::string_view name, bool value) { Key(name) += value ? "true" : "false"; }
  void Field(std::string_view name, double value) {
    Key(name);
    Number(value);
  }
  template <class Tag>
  void Field(std::string_view name, core::Quantity<Tag> value) {
    Field(name, value.value);
  }
  template <class T>
  void Field(std::string_view name, const std::optional<T>& value) {
    value ? Field(name, *value) : Null(name);
  }
  void Text(std::string_view name, std::string_view value) { AppendText(Key(name), value); }
  void TextOrNull(std::string_view name, std::string_view value) {
    value.empty() ? Null(name) : Text(name, value);
  }
  void Null(std::string_view name) {
    if (form_ == Form::kWhole) Key(name) += "null";
  }
  template <class List, class Write>
  void Array(std::string_view name, const List& values, Write write) {
    if (form_ == Form::kShort && values.empty()) return;
    Key(name) += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!first) out_ += ',';
      first = false;
      write(value);
    }
    out_ += ']';
  }
  void Numbers(std::string_view name, const std::vector<std::int64_t>& values) {
    Array(name, values,
          [&](std::int64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); });
  }
  // JSON knows no infinity.
  void Number(double value) {
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    } else {
      out_ += "null";
    }
  }

 private:
  std::string& out_;
  const Form form_;
  bool first_ = true;
};

void AppendNeedsAs(std::string& out, const core::Needs& needs, Form form);

void AppendEnvironment(std::string& out, JobWriter& writer,
                       const std::vector<std::pair<std::string, std::string>>& environment) {
  writer.Key("environment") += '{';
  bool first = true, all = true;
  for (const auto& [name, value] : environment) {
    if (!IsUtf8(name)) {
      all = false;
      continue;
    }
    if (!first) out += ',';
    first = false;
    AppendText(out, name);
    out += ':';
    AppendBytes(out, value);
  }
  out += '}';
  if (all) return;
  // A key of an object cannot be bytes.
  writer.Key("environment_bytes") += '[';
  first = true;
  for (const auto& [name, value] : environment) {
    if (IsUtf8(name)) continue;
    if (!first) out += ',';
    first = false;
    out += fmt::format(R"(["{}","{}"])", Base64(name), Base64(value));
  }
  out += ']';
}

std::string UmaskText(std::uint32_t umask) { return fmt::format("{:04o}", umask); }

// Writes what a field is into the object, by its type.
class FieldWriter {
 public:
  // Of `job` some fields have other keys than of a submission; null: it is none.
  FieldWriter(std::string& out, JobWriter& writer, const core::JobRecord* job,
              bool with_environment)
      : out_(out), writer_(writer), job_(job), with_environment_(with_environment) {}

  void operator()(const json::Field& field, const std::string& text) {
    if (!field.written || (job_ != nullptr && &text == &job_->asked.name)) return;
    if (field.bytes) {
      AppendBytes(writer_.Key(KeyOf(field)), text);
    } else if (field.empty_is_null) {
      writer_.TextOrNull(KeyOf(field), text);
    } else {
      writer_.Text(KeyOf(field), text);
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
  void operator()(const json::Field& field, core::Source source) {
    writer_.Text(KeyOf(field), core::NameOf(source));
  }
  void operator()(const json::Field& field, const core::CpuCurve& curve) {
    if (!field.written) return;
    writer_.Array(KeyOf(field), curve, [&](const auto& point) {
      out_ += '[';
      writer_.Number(point.first);
      out_ += ',';
      writer_.Number(point.second);
      out_ += ']';
    });
  }
  void operator()(const json::Field& field,
                  const std::vector<std::pair<std::string, std::string>>& environment) {
    if (with_environment_) {
      AppendEnvironment(out_, writer_, environment);
    } else {
      writer_.Key(KeyOf(field)) += "{}";
    }
  }
  void operator()(const json::Field& field, const std::vector<std::int64_t>& numbers) {
    writer_.Numbers(KeyOf(field), numbers);
  }
  void operator()(const json::Field& field, const std::vector<std::string>& texts) {
    writer_.Array(KeyOf(field), texts, [&](const std::string& text) {
      field.bytes ? AppendBytes(out_, text) : AppendText(out_, text);
    });
  }
  void operator()(const json::Field& field, const std::optional<core::Needs>& needs) {
    if (job_ != nullptr) {
      writer_.Key("needs");
      AppendNeedsAs(out_, job_->believed, writer_.form());
    }
    if (!needs) return writer_.Null(KeyOf(field));
    writer_.Key(KeyOf(field));
    AppendNeedsAs(out_, *needs, writer_.form());
  }

 private:
  const char* KeyOf(const json::Field& field) const {
    return job_ != nullptr && field.job_key != nullptr ? field.job_key : field.key;
  }

  std::string& out_;
  JobWriter& writer_;
  const core::JobRecord* const job_;
  const bool with_environment_;
};

void AppendNeedsAs(std::string& out, const core::Needs& needs, Form form) {
  JobWriter writer(out, form);
  json::EachField(needs, FieldWriter(out, writer, nullptr, false));
  writer.End();
}

void AppendSeen(std::string& out, const core::SeenFigures& seen, Form form) {
  JobWriter writer(out, form);
  writer.Field("cores", seen.cores);
  writer.Field("busy", seen.busy);
  writer.Field("sm", seen.sm);
  writer.Field("gpu_memory_bytes", seen.gpu_memory);
  writer.Field("host_memory_bytes", seen.host_memory);
  writer.Field("power_watts", seen.power);
  writer.End();
}

void AppendJobAs(std::string& out, const core::JobRecord& record, bool with_environment,
                 Form form) {
  JobWriter writer(out, form);
  writer.Field("number", record.number);
  writer.Text("name", core::DisplayName(record.asked));
  writer.Text("user", record.user.name);
  writer.Field("uid", std::int64_t{record.user.uid});
  writer.Field("gid", std::int64_t{record.user.gid});
  if (record.user.admin) writer.Field("admin", true);
  writer.Text("phase", core::NameOf(record.phase));
  json::EachField(record.asked, FieldWriter(out, writer, &record, with_environment));
  writer.Field("submitted_ms", record.submitted);
  writer.Field("started_ms", record.started);
  writer.Field("resumed_ms", record.resumed);
  writer.Field("ended_ms", record.ended);
  writer.Field("expected_start_ms", record.expected_start);
  writer.Field("attempt", record.attempt);
  writer.Field("ooms", record.ooms);
  writer.Field("parted", record.evicted);
  writer.Field("lost", record.lost);
  writer.Field("cancelled", record.cancelled);
  writer.Field("paused", record.paused);
  writer.Field("paused_ms", record.paused_at);
  writer.Array("gpus", record.gpus, [&](const core::GivenGpu& gpu) {
    JobWriter inner(out);
    inner.Field("index", gpu.index);
    inner.Text("uuid", gpu.uuid);
    inner.Text("model", gpu.model);
    inner.End();
  });
  writer.Field("cores", record.cores);
  writer.Field("sm_share", record.sm_share);
  writer.Numbers("beside", record.beside);
  writer.Text("reason", record.reason);
  writer.Text("note", record.note);
  writer.Field("exit_code", record.exit_code);
  writer.Field("steps", record.steps);
  writer.Field("steps_per_second", record.steps_per_second);
  writer.Field("slowdown", record.slowdown);
  if (record.seen == core::SeenFigures{}) {
    writer.Null("seen");
  } else {
    writer.Key("seen");
    AppendSeen(out, record.seen, form);
  }
  writer.Field("run_time_seconds", record.run_time);
  writer.Field("alone_time_seconds", record.alone_time);
  writer.Field("time_limit_extended_seconds", record.limit_extended);
  writer.End();
}

}  // namespace

void AppendNeeds(std::string& out, const core::Needs& needs) {
  AppendNeedsAs(out, needs, Form::kWhole);
}

void AppendJob(std::string& out, const core::JobRecord& record, bool with_environment) {
  AppendJobAs(out, record, with_environment, Form::kWhole);
}

std::string StoredJob(const core::JobRecord& record) {
  std::string out;
  out.reserve(1024);
  AppendJobAs(out, record, true, Form::kShort);
  return out;
}

std::string JobToJson(const core::JobRecord& record) {
  std::string out;
  out.reserve(2048);
  AppendJob(out, record);
  return out;
}

std::string SubmissionToJson(const core::Submission& submission) {
  std::string out;
  out.reserve(1024);
  JobWriter writer(out);
  json::EachField(submission, FieldWriter(out, writer, nullptr, true));
  writer.End();
  return out;
}

}  // namespace sharewell::store
