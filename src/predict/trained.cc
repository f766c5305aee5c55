#include "predict/trained.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/result.h"
#include "predict/colocation/colocation_file.h"
#include "predict/features.h"
#include "predict/learn/json_reading.h"
#include "predict/learn/json_value.h"
#include "predict/learn/serialize.h"

namespace sharewell::predict {
namespace {

using Json = nlohmann::ordered_json;
using learn::JsonValue;

constexpr int kVersion = 1;
constexpr int kLocalVersion = 2;  // with corrections by a machine's own runs
constexpr int kRatesVersion = 3;  // with rates, or an operator table, of its own
constexpr std::size_t kMostKnown = 100'000;

Json Numbers(const Figures& figures) {
  Json out = Json::array();
  for (const auto& value : figures) out.push_back(value ? Json(*value) : Json(nullptr));
  return out;
}

Figures FiguresFrom(learn::Reader& reader, const JsonValue& value, std::string_view key) {
  Figures out;
  const auto list = reader.List(value, key, kFigures);
  reader.Expect(list.size() == kFigures, "\"{}\" has not {} numbers", key, kFigures);
  if (reader.failed()) return out;
  for (std::size_t f = 0; f < kFigures; ++f) {
    if (list[f].is_null()) continue;
    out[f] = list[f].Number();
    reader.Expect(out[f] && std::abs(*out[f]) < learn::kLargest,
                  "\"{}\" holds something that is no number", key);
  }
  return out;
}

}  // namespace

// Reads and fills predictors.
class PredictorFile {
 public:
  static bool HasRates(const Predictor& predictor) {
    return predictor.rates_.has_value() || predictor.operators_ != nullptr;
  }

  static void Put(Json& out, const Predictor& predictor) {
    out["gpus"] = predictor.gpus_;
    out["means"] = predictor.means_;
    out["factors"] = predictor.factors_;
    out["far"] = predictor.far_;
    for (std::size_t f = 0; f < kFigures; ++f) {
      const auto& learned = predictor.learned_[f];
      Json& figure = out["figures"][std::string(kFigureNames[f])];
      figure["residual"] =
          learned.residual ? Json::parse(learn::Write(*learned.residual)) : Json(nullptr);
      figure["interval"] = learned.interval.levels.empty()
                               ? Json(nullptr)
                               : Json::parse(learn::Write(learned.interval));
      // Only where a machine's own runs were learnt from: older programs read what has none.
      if (learned.local) figure["local"] = Json::parse(learn::Write(*learned.local));
    }
    if (predictor.rates_) {
      Rates rates = *predictor.rates_;
      for (const Rate& rate : RatesOf(rates)) out["rates"][rate.name] = *rate.value;
    }
    if (predictor.operators_) out["operators"] = predictor.operators_->Write();
    out["known"] = Json::array();
    for (const Known& known : predictor.known_) {
      out["known"].push_back({{"workload", known.workload},
                              {"batch", known.batch},
                              {"precision", known.precision},
                              {"workers", known.workers},
                              {"gpu", known.gpu},
                              {"family", known.family},
                              {"place", known.place},
                              {"measured", Numbers(known.measured)},
                              {"held_out", Numbers(known.held_out)}});
      if (known.local) out["known"].back()["local"] = true;
    }
  }

  static core::Result<Predictor> Take(const JsonValue& value) {
    learn::Reader reader("trained model");
    Predictor out;
    const std::size_t places = FeatureNames(Figure::kBusySeconds).size();
    const auto gpus = reader.List(value, "gpus", kMostKnown);
    out.means_ = reader.Numbers(value, "means", places, -learn::kLargest, learn::kLargest);
    out.factors_ = reader.Numbers(value, "factors", places, -learn::kLargest, learn::kLargest);
    out.far_ = reader.Bounded(value, "far", 1e-9, 1e9);
    const JsonValue figures = reader.At(value, "figures");
    const auto known = reader.List(value, "known", kMostKnown);
    for (const JsonValue& gpu : gpus) {
      const auto name = gpu.Text();
      reader.Expect(name.has_value(), "\"gpus\" holds something that is no name");
      out.gpus_.emplace_back(name.value_or(""));
    }
    if (reader.failed()) return reader.Error();
    for (std::size_t f = 0; f < kFigures; ++f) {
      const std::string name(kFigureNames[f]);
      const JsonValue figure = reader.At(figures, name);
      const JsonValue residual = reader.At(figure, "residual");
      const JsonValue interval = reader.At(figure, "interval");
      if (reader.failed()) return reader.Error();
      if (!residual.is_null()) {
        auto read = learn::RegressorFromJson(residual);
        RETURN_IF_ERROR(read);
        reader.Expect(read->features() == FeatureNames(static_cast<Figure>(f)),
                      "{} was learnt from other features than this version has", name);
        if (reader.failed()) return reader.Error();
        out.learned_[f].residual = std::move(*read);
      }
      if (!interval.is_null()) {
        auto read = learn::ConformalFromJson(interval);
        RETURN_IF_ERROR(read);
        out.learned_[f].interval = std::move(*read);
      }
      if (const auto local = figure.Find("local")) {
        auto read = learn::RegressorFromJson(*local);
        RETURN_IF_ERROR(read);
        reader.Expect(read->features() == FeatureNames(static_cast<Figure>(f)),
                      "{} was learnt from other features than this version has", name);
        if (reader.failed()) return reader.Error();
        out.learned_[f].local = std::move(*read);
      }
    }
    if (const auto rates = value.Find("rates")) {
      out.rates_ = PlausibleRates();
      for (const Rate& rate : RatesOf(*out.rates_)) {
        *rate.value = reader.Bounded(*rates, rate.name, 1e-15, rate.most * 1.001);
      }
      if (reader.failed()) return reader.Error();
    }
    if (value.Has("operators")) {
      auto read = OperatorTable::Read(reader.Text(value, "operators"));
      if (reader.failed()) return reader.Error();
      RETURN_IF_ERROR(read);
      out.operators_ = std::make_shared<OperatorTable>(std::move(*read));
    }
    out.known_.reserve(known.size());
    for (const JsonValue& item : known) {
      Known row;
      row.workload = reader.Text(item, "workload");
      row.batch = static_cast<std::int64_t>(reader.Bounded(item, "batch", 0, 1e12));
      row.precision = reader.Text(item, "precision");
      row.workers = static_cast<int>(reader.Bounded(item, "workers", 0, 1e6));
      row.gpu = reader.Text(item, "gpu");
      row.family = reader.Text(item, "family");
      row.place = reader.Numbers(item, "place", places, -learn::kLargest, learn::kLargest);
      row.measured = FiguresFrom(reader, item, "measured");
      row.held_out = FiguresFrom(reader, item, "held_out");
      row.local = item.Find("local").value_or(JsonValue()).is_true();
      if (reader.failed()) return reader.Error();
      out.known_.push_back(std::move(row));
    }
    return out;
  }
};

std::string Write(const Trained& trained) {
  Json out;
  out["format"] = "sharewell-model";
  out["version"] = PredictorFile::HasRates(trained.predictor) ? kRatesVersion
                   : trained.predictor.AnyLocal()             ? kLocalVersion
                                                              : kVersion;
  PredictorFile::Put(out, trained.predictor);
  out["together"] = trained.together ? Json::parse(Write(*trained.together)) : Json(nullptr);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

core::Result<Predictor> PredictorFrom(const JsonValue& value) {
  learn::Reader reader("trained model");
  reader.Expect(value.is_object(), "it is no JSON object");
  if (reader.failed()) return reader.Error();
  const std::string_view format = reader.Text(value, "format");
  reader.Expect(format == "sharewell-model", "its format is \"{}\", not \"sharewell-model\"",
                format);
  const double version = reader.Bounded(value, "version", 0, 1e6);
  reader.Expect(version == kVersion || version == kLocalVersion || version == kRatesVersion,
                "it is of version {}, this program reads versions {} to {}", version, kVersion,
                kRatesVersion);
  if (reader.failed()) return reader.Error();
  return PredictorFile::Take(value);
}

}  // namespace

core::Result<Predictor> ReadPredictor(std::string_view text) {
  return PredictorFrom(learn::ParsedJson(text).value());
}

core::Result<Trained> ReadTrained(std::string_view text) {
  const learn::ParsedJson parsed(text);
  auto predictor = PredictorFrom(parsed.value());
  RETURN_IF_ERROR(predictor);
  Trained out{std::move(*predictor), std::nullopt};
  learn::Reader reader("trained model");
  const JsonValue together = reader.At(parsed.value(), "together");
  if (reader.failed()) return reader.Error();
  if (!together.is_null()) {
    auto read = ColocationFromJson(together);
    RETURN_IF_ERROR(read);
    out.together = std::move(*read);
  }
  return out;
}

}  // namespace sharewell::predict
