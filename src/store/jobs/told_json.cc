#include "store/jobs/told_json.h"

#include "json/needs_json.h"

namespace sharewell::store {
namespace {

constexpr json::Within kNumbers{0, 1e18};
constexpr std::size_t kLongestWord = 300;

// One list for both ways: `field(key, value)`. A member that is not named here does not compile.
template <class Told, class F>
void EachTold(Told& told, F&& field) {
  auto& [fingerprint, model_fingerprint, framework, python, device, modules, optimizer,
         optimizer_style, precision, autocast, parallel, batch, accumulation, optimizers, workers,
         world_size, parameters, trainable, grad_scaler, compiled, channels_last, checkpointing,
         cuda_graphs, peak, predicted, not_predicted] = told;
  field("fingerprint", fingerprint);
  field("model_fingerprint", model_fingerprint);
  field("framework", framework);
  field("python", python);
  field("device", device);
  field("modules", modules);
  field("batch", batch);
  field("accumulation", accumulation);
  field("optimizer", optimizer);
  field("optimizers", optimizers);
  field("optimizer_style", optimizer_style);
  field("precision", precision);
  field("autocast", autocast);
  field("grad_scaler", grad_scaler);
  field("workers", workers);
  field("compiled", compiled);
  field("channels_last", channels_last);
  field("checkpointing", checkpointing);
  field("cuda_graphs", cuda_graphs);
  field("world_size", world_size);
  field("parallel", parallel);
  field("parameters", parameters);
  field("trainable", trainable);
  field("peak_bytes", peak);
  field("predicted", predicted);
  field("not_predicted", not_predicted);
}

struct ToldWriter {
  json::Writer& writer;

  void operator()(const char* key, const std::string& text) const {
    // In the store what is not known is not written.
    if (text.empty() && writer.style() == json::Style::kBrief) return;
    writer.TextOrNull(key, text);
  }
  void operator()(const char* key, const std::optional<core::Needs>& needs) const {
    if (!needs) return writer.Null(key);
    writer.Key(key);
    json::WriteNeeds(writer, *needs);
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) const {
    writer.Field(key, value);
  }
};

struct ToldReader {
  json::Reader& reader;

  void operator()(const char* key, std::string& text) const {
    reader.Text(key, text, kLongestWord);
  }
  void operator()(const char* key, std::optional<bool>& flag) const {
    const json::Value member = reader.Member(key);
    if (!member.is_null()) flag = reader.FlagOf(key, member);
  }
  void operator()(const char* key, std::optional<core::Needs>& needs) const {
    const json::Value member = reader.Member(key);
    if (member.is_null()) return;
    needs = json::ReadNeeds(member, reader.place() + key + ".", reader.trust(), reader.error());
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& number) const {
    reader.Number(key, number, kNumbers);
  }
};

}  // namespace

void WriteTold(json::Writer& writer, const core::Told& told) {
  writer.Object([&] { EachTold(told, ToldWriter{writer}); });
}

core::Told ReadTold(json::Value json, const std::string& place, json::Trust trust,
                    std::string& error) {
  core::Told told;
  json::Reader reader(json, place, trust, error);
  EachTold(told, ToldReader{reader});
  return told;
}

}  // namespace sharewell::store
