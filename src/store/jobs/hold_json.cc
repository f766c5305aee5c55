#include "store/jobs/hold_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/text/quoted.h"

namespace sharewell::store {
namespace {

namespace cancelled = core::cancelled;
namespace hold = core::hold;
using BeforeEnd = cancelled::ByJobBefore::End;

// By the variants' index. They are stored: none of them ever changes.
constexpr std::array<std::string_view, std::variant_size_v<core::Hold>> kHolds = {
    "user",    "paused",    "ended_paused", "after", "no_nodes", "machine_changed",
    "refused", "untrusted", "lost_runs"};
constexpr std::array<std::string_view, std::variant_size_v<core::Cancelled>> kCancelled = {
    "user", "manager", "job_before", "store"};
constexpr std::array<std::string_view, 3> kEnds = {"", "failed", "cancelled"};

constexpr std::size_t kMostOthers = 1000;  // as many as a submission may name

// What a kind has is written by its type: `by`, `why`, `job`, `runs`.
struct MemberWriter {
  json::Writer& writer;

  void operator()(const hold::Paused& one) const { writer.Field("by", one.by); }
  void operator()(const hold::AfterJob& one) const {
    writer.Field("job", one.job);
    if (one.others.empty()) return;
    writer.List("others", one.others, [&](std::int64_t number) { writer.Value(number); });
  }
  void operator()(const hold::NoNodes& one) const { writer.Field("why", one.why); }
  void operator()(const hold::MachineChanged& one) const { writer.Field("why", one.why); }
  void operator()(const hold::Refused& one) const { writer.Field("why", one.why); }
  void operator()(const hold::LostRuns& one) const { writer.Field("runs", one.runs); }
  void operator()(const hold::Untrusted& one) const {
    writer.Field("user_changed", one.user);
    writer.Field("command_changed", one.command);
    writer.Field("environment_changed", one.environment);
    if (!one.runs_as.empty()) writer.Field("runs_as", one.runs_as);
  }
  void operator()(const cancelled::ByUser& one) const { writer.Field("by", one.who); }
  void operator()(const cancelled::ByManager& one) const { writer.Field("why", one.why); }
  void operator()(const cancelled::ByJobBefore& one) const {
    writer.Field("job", one.job);
    if (one.end != BeforeEnd::kUnknown)
      writer.Field("end", kEnds[static_cast<std::size_t>(one.end)]);
  }
  // The kind says it all.
  void operator()(const hold::ByUser&) const {}
  void operator()(const hold::EndedPaused&) const {}
  void operator()(const cancelled::ByStore&) const {}
};

struct MemberReader {
  json::Reader& reader;

  void operator()(hold::Paused& one) const { reader.Text("by", one.by); }
  void operator()(hold::AfterJob& one) const {
    reader.Whole("job", one.job);
    reader.Each("others", kMostOthers, [&](json::Value number) {
      if (const auto whole = reader.WholeOf("others", number)) one.others.push_back(*whole);
    });
  }
  void operator()(hold::NoNodes& one) const { reader.Text("why", one.why); }
  void operator()(hold::MachineChanged& one) const { reader.Text("why", one.why); }
  void operator()(hold::Refused& one) const { reader.Text("why", one.why); }
  void operator()(hold::LostRuns& one) const { reader.Whole("runs", one.runs); }
  void operator()(hold::Untrusted& one) const {
    reader.Flag("user_changed", one.user);
    reader.Flag("command_changed", one.command);
    reader.Flag("environment_changed", one.environment);
    reader.Text("runs_as", one.runs_as);
  }
  void operator()(cancelled::ByUser& one) const { reader.Text("by", one.who); }
  void operator()(cancelled::ByManager& one) const { reader.Text("why", one.why); }
  void operator()(cancelled::ByJobBefore& one) const {
    reader.Whole("job", one.job);
    const auto* const end = std::find(kEnds.begin(), kEnds.end(), reader.TextOr("end", ""));
    if (end != kEnds.end()) one.end = static_cast<BeforeEnd>(end - kEnds.begin());
  }
  void operator()(hold::ByUser&) const {}
  void operator()(hold::EndedPaused&) const {}
  void operator()(cancelled::ByStore&) const {}
};

template <class Variant, std::size_t kCount>
void WriteKind(json::Writer& writer, const char* key, const std::optional<Variant>& one,
               const std::array<std::string_view, kCount>& kinds) {
  if (!one) return writer.Null(key);
  writer.Object(key, [&] {
    writer.Field("kind", kinds[one->index()]);
    std::visit(MemberWriter{writer}, *one);
  });
}

// The variant's kind at `index`, empty as yet.
template <class Variant, std::size_t... kIndex>
Variant Made(std::size_t index, std::index_sequence<kIndex...>) {
  Variant made;
  ((index == kIndex ? void(made.template emplace<kIndex>()) : void()), ...);
  return made;
}

template <class Variant, std::size_t kCount>
void ReadKind(json::Reader& reader, const char* key, std::optional<Variant>& one,
              const std::array<std::string_view, kCount>& kinds) {
  if (!reader.Has(key)) return;
  json::Reader part = reader.Part(key);
  const std::string kind = part.NeedText("kind");
  const auto* const named = std::find(kinds.begin(), kinds.end(), kind);
  if (named == kinds.end()) {
    return part.Fail("kind", core::Quoted(kind) + " is none that this program knows");
  }
  one = Made<Variant>(static_cast<std::size_t>(named - kinds.begin()),
                      std::make_index_sequence<kCount>());
  std::visit(MemberReader{part}, *one);
}

}  // namespace

void WriteHold(json::Writer& writer, const core::JobRecord& job) {
  WriteKind(writer, "hold", job.hold, kHolds);
  writer.Field("cancelled", job.cancelled.has_value());
  WriteKind(writer, "cancelled_by", job.cancelled, kCancelled);
}

void ReadHold(json::Reader& reader, core::JobRecord& job) {
  ReadKind(reader, "hold", job.hold, kHolds);
  ReadKind(reader, "cancelled_by", job.cancelled, kCancelled);
}

}  // namespace sharewell::store
