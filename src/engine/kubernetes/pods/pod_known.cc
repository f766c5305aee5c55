#include "engine/kubernetes/pods/pod_known.h"

#include <algorithm>
#include <utility>

#include "core/source.h"
#include "core/text/plain_text.h"
#include "json/needs_json.h"
#include "json/reader.h"
#include "json/writer.h"

namespace sharewell::engine {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMostName = 200;     // as json/submission_fields.h has it of a name
constexpr std::size_t kMostWritten = 120;  // bytes: with all texts so long the line still fits
constexpr std::size_t kDeepestKnown = 8;
// Beyond the year 2200 nothing was submitted.
constexpr std::int64_t kLastMoment = 7'258'118'400'000;

std::string ShortText(std::string_view text) {
  const std::string plain = core::PlainText(text);
  std::size_t end = std::min(plain.size(), kMostWritten);
  // Not within a character.
  while (end < plain.size() && end > 0 && (static_cast<unsigned char>(plain[end]) & 0xC0) == 0x80) {
    --end;
  }
  return plain.substr(0, end);
}

template <class Sources, class Visitor>
void EachSource(Sources& sources, Visitor&& visitor) {
  auto& [busy, sm, gpu_memory, cores, host_memory, duration, pace] = sources;
  for (auto* one : {&busy, &sm, &gpu_memory, &cores, &host_memory, &duration, &pace}) visitor(*one);
}

core::Needs AsAnybodyClaims(const core::Needs& needs) {
  core::Needs claimed = needs;
  EachSource(claimed.sources, [](core::Source& source) {
    if (source == core::Source::kObserved) source = core::Source::kPredicted;
  });
  claimed.graph.clear();
  claimed.optimizer.clear();
  claimed.retrained = false;
  core::Workload& workload = claimed.profile.workload;
  for (std::string* text :
       {&claimed.from, &workload.name, &workload.precision, &claimed.profile.gpu}) {
    *text = ShortText(*text);
  }
  return claimed;
}

std::string KnownLine(const PodKnown& known) {
  std::string out;
  json::Writer writer(out, json::Style::kBrief);
  writer.Object([&] {
    writer.Field("v", kVersion);
    if (known.submitted) writer.Field("submitted_ms", *known.submitted);
    if (!known.workload.empty()) writer.Field("workload", known.workload);
    writer.Key("needs");
    json::WriteNeeds(writer, known.needs);
  });
  return out;
}

}  // namespace

std::string WriteKnown(const PodKnown& known) {
  PodKnown written = known;
  written.needs = AsAnybodyClaims(known.needs);
  written.workload = ShortText(known.workload);
  std::string line = KnownLine(written);
  if (line.size() <= kMostKnownBytes) return line;
  written.needs.profile.cpu_curve.clear();
  return KnownLine(written);
}

core::Result<PodKnown> ReadKnown(std::string_view text) {
  if (text.size() > kMostKnownBytes) {
    return core::UsageError("it has {} bytes, and {} are the most", text.size(), kMostKnownBytes);
  }
  const auto parsed = json::Document::Parse(text, kDeepestKnown);
  if (!parsed) return core::UsageError("{}", parsed.error().message);
  PodKnown known;
  std::string error;
  json::Reader reader(parsed->root(), "", json::Trust::kSent, error);
  const std::int64_t version = reader.NeedWhole("v");
  reader.Expect(version == kVersion, "v is {}, and this program reads {} alone", version, kVersion);
  reader.Whole("submitted_ms", known.submitted, {.least = 0, .most = kLastMoment});
  reader.Text("workload", known.workload, kMostName);
  const json::Value needs = reader.Need("needs");
  if (reader.ok()) known.needs = json::ReadNeeds(needs, "needs.", reader.trust(), error);
  EachSource(known.needs.sources, [&](core::Source source) {
    reader.Expect(source != core::Source::kObserved,
                  "needs: a source is observed, which nobody but the server that saw it may say; "
                  "write told or predicted");
  });
  reader.Expect(
      known.needs.graph.empty() && known.needs.optimizer.empty() && !known.needs.retrained,
      "needs: graph, optimizer and retrained are a server's own; leave them out");
  reader.RefuseOthers();
  if (!error.empty()) return core::UsageError("{}", error);
  return known;
}

}  // namespace sharewell::engine
