#include "json/needs_json.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text/quoted.h"
#include "json/submission_fields.h"

namespace sharewell::json {
namespace {

void ReadSource(Reader& reader, const char* key, core::Source& source) {
  const Value json = reader.Member(key);
  if (json.is_null()) return;
  const std::string_view name = json.Text().value_or("");
  if (const auto named = core::SourceNamed(name)) {
    source = *named;
  } else if (name == "measured") {  // as older programs say
    source = core::Source::kObserved;
  } else {
    reader.Fail(key, core::Quoted(name) + " is not observed, told, predicted or assumed");
  }
}

void ReadCurve(Reader& reader, std::size_t most, core::CpuCurve& curve) {
  reader.Each("cpu_curve", most, [&](Value point) {
    const auto cores = point.At(0).Number(), share = point.At(1).Number();
    if (point.size() != 2 || !cores || !share) {
      return reader.Fail("cpu_curve", "its entries are [CORES, SHARE]");
    }
    const bool rises =
        curve.empty() || (*cores > curve.back().first && *share >= curve.back().second);
    if (reader.trust() == Trust::kSent && (!rises || *cores <= 0 || *share < 0 || *share > 1)) {
      return reader.Fail("cpu_curve", "its cores and shares (0 to 1) must rise");
    }
    curve.emplace_back(*cores, *share);
  });
}

// Takes what a field is out of the object, by its type.
class NeedsReader {
 public:
  explicit NeedsReader(Reader& reader) : reader_(reader) {}

  void operator()(const Field& field, std::string& text) {
    reader_.Text(field.key, text, static_cast<std::size_t>(field.within.most));
  }
  void operator()(const Field& field, bool& flag) { reader_.Flag(field.key, flag); }
  void operator()(const Field& field, int& whole) {
    reader_.Whole(field.key, whole,
                  {static_cast<std::int64_t>(field.within.least),
                   static_cast<std::int64_t>(field.within.most)});
  }
  template <class Number>
  void operator()(const Field& field, std::optional<Number>& number) {
    reader_.Number(field.key, number, field.within);
  }
  void operator()(const Field& field, core::Source& source) {
    ReadSource(reader_, field.key, source);
  }
  void operator()(const Field& field, core::CpuCurve& curve) {
    ReadCurve(reader_, static_cast<std::size_t>(field.within.most), curve);
  }

 private:
  Reader& reader_;
};

// Writes what a field is into the object, by its type.
class NeedsWriter {
 public:
  explicit NeedsWriter(Writer& writer) : writer_(writer) {}

  void operator()(const Field& field, const std::string& text) {
    if (!field.written) return;
    if (!field.empty_is_null) return writer_.Field(field.key, text);
    writer_.TextOrNull(field.key, text);
  }
  void operator()(const Field& field, bool flag) {
    if (field.written) writer_.Field(field.key, flag);
  }
  void operator()(const Field& field, int whole) {
    if (field.empty_is_null && whole == 0) return writer_.Null(field.key);
    writer_.Field(field.key, whole);
  }
  template <class Number>
  void operator()(const Field& field, const std::optional<Number>& number) {
    writer_.Field(field.key, number);
  }
  void operator()(const Field& field, core::Source source) {
    // In the store those that are like the first are not written.
    const bool like_first = first_source_ == source && !field.always;
    if (!first_source_) first_source_ = source;
    if (like_first && writer_.style() == Style::kBrief) return;
    writer_.Field(field.key, core::NameOf(source));
  }
  void operator()(const Field& field, const core::CpuCurve& curve) {
    if (field.written) writer_.Field(field.key, curve);
  }

 private:
  Writer& writer_;
  std::optional<core::Source> first_source_;
};

}  // namespace

void WriteNeeds(Writer& writer, const core::Needs& needs) {
  writer.Object([&] { EachField(needs, NeedsWriter(writer)); });
}

core::Needs ReadNeeds(Value json, const std::string& place, Trust trust, std::string& error) {
  core::Needs needs;
  Reader reader(json, place, trust, error);
  core::Source all = core::Source::kAssumed;
  ReadSource(reader, "source", all);
  needs.sources = core::SourcesByOne(all);
  EachField(needs, NeedsReader(reader));
  reader.RefuseOthers();
  return needs;
}

core::Result<core::Needs> NeedsFromJson(Value json) {
  std::string error;
  auto needs = ReadNeeds(json, "", Trust::kSent, error);
  if (!error.empty()) return core::UsageError("{}", error);
  return needs;
}

}  // namespace sharewell::json
