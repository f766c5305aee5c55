// Jobs as JSON, written by hand: ten thousand of them are listed at a time, and building a document
// of each first takes ten times as long.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

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

// Both objects have these under the same names.
void AppendAsked(std::string& out, JobWriter& writer, const core::Submission& asked,
                 bool with_environment) {
  writer.Array("command", asked.command, [&](const std::string& word) { AppendBytes(out, word); });
  AppendBytes(writer.Key("folder"), asked.folder);
  if (with_environment) {
    AppendEnvironment(out, writer, asked.environment);
  } else {
    writer.Key("environment") += "{}";
  }
  writer.Array("gpu_models", asked.gpu_models,
               [&](const std::string& model) { AppendText(out, model); });
  writer.Field("exclusive", asked.exclusive);
  writer.Field("max_slowdown", asked.max_slowdown);
  writer.Field("priority", asked.priority);
  writer.Field("latency_sensitive", asked.latency_sensitive);
  writer.Field("time_limit_seconds", asked.time_limit);
  writer.TextOrNull("image", asked.image);
  writer.Numbers("after", asked.after);
  writer.Field("held", asked.held);
  writer.Field("requeue", asked.requeue);
  writer.Field("terminal", asked.terminal);
  writer.TextOrNull("umask", asked.umask ? fmt::format("{:04o}", *asked.umask) : "");
  writer.TextOrNull("profile", asked.profile);
  writer.TextOrNull("array", asked.array);
  writer.Field("array_at_once", asked.array_at_once);
}

void AppendGiven(std::string& out, JobWriter& writer, std::string_view name,
                 const std::optional<core::Needs>& needs) {
  if (!needs) return writer.Null(name);
  writer.Key(name);
  AppendNeedsAs(out, *needs, writer.form());
}

void AppendNeedsAs(std::string& out, const core::Needs& needs, Form form) {
  const core::Profile& profile = needs.profile;
  const core::Workload& workload = profile.workload;
  const auto known = [](int count) { return count == 0 ? std::nullopt : std::optional(count); };
  JobWriter writer(out, form);
  writer.Text("source", core::NameOf(needs.source));
  writer.Text("from", needs.from);
  writer.TextOrNull("workload", workload.name);
  writer.Field("batch", known(workload.batch));
  writer.TextOrNull("precision", workload.precision);
  writer.Field("workers", known(workload.workers));
  writer.TextOrNull("gpu", profile.gpu);
  writer.Field("busy", profile.busy);
  writer.Field("sm", profile.sm);
  writer.Field("dram", profile.dram);
  writer.Field("gpu_memory_bytes", profile.gpu_memory);
  writer.Field("gpu_memory_upper_bytes", needs.gpu_memory_upper);
  writer.Field("cpu_cores", profile.cpu_cores);
  writer.Field("cores_upper", needs.cores_upper);
  writer.Field("host_memory_bytes", profile.host_memory);
  writer.Field("pcie_bytes_per_second", profile.pcie);
  writer.Field("host_bandwidth_bytes_per_second", profile.host_bandwidth);
  writer.Field("power_watts", profile.power);
  writer.Field("kernel_seconds", profile.kernel_time);
  writer.Field("kernels_per_step", profile.kernels);
  writer.Field("steps_per_second", profile.steps_per_second);
  writer.Field("duration_seconds", needs.duration);
  if (!needs.graph.empty()) {
    writer.Text("graph", needs.graph);
    writer.TextOrNull("optimizer", needs.optimizer);
    writer.Field("retrained", needs.retrained);
  }
  if (!profile.cpu_curve.empty()) {
    writer.Array("cpu_curve", profile.cpu_curve, [&](const auto& point) {
      out += '[';
      writer.Number(point.first);
      out += ',';
      writer.Number(point.second);
      out += ']';
    });
  }
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
  const core::Submission& asked = record.asked;
  JobWriter writer(out, form);
  writer.Field("number", record.number);
  writer.Text("name", core::DisplayName(asked));
  writer.Text("user", record.user.name);
  writer.Field("uid", std::int64_t{record.user.uid});
  writer.Field("gid", std::int64_t{record.user.gid});
  if (record.user.admin) writer.Field("admin", true);
  writer.Text("phase", core::NameOf(record.phase));
  AppendAsked(out, writer, asked, with_environment);
  writer.Field("gpus_asked", asked.gpus);
  writer.Field("cores_asked", asked.cores);
  writer.Field("gpu_memory_asked_bytes", asked.gpu_memory);
  writer.Field("memory_asked_bytes", asked.memory);
  writer.Field("sm_share_asked", asked.sm_share);
  writer.Key("needs");
  AppendNeedsAs(out, record.believed, form);
  AppendGiven(out, writer, "needs_given", asked.needs);
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
  writer.Text("name", submission.name);
  AppendAsked(out, writer, submission, true);
  writer.Field("gpus", submission.gpus);
  writer.Field("cores", submission.cores);
  writer.Field("gpu_memory_bytes", submission.gpu_memory);
  writer.Field("memory_bytes", submission.memory);
  writer.Field("sm_share", submission.sm_share);
  AppendGiven(out, writer, "needs", submission.needs);
  writer.End();
  return out;
}

}  // namespace sharewell::store
