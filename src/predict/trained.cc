#include "predict/trained.h"

#include <algorithm>
#include <cmath>

#include "core/result.h"
#include "json/reader.h"
#include "json/writer.h"
#include "predict/colocation/colocation_file.h"
#include "predict/features.h"
#include "predict/learn/damaged.h"
#include "predict/learn/serialize.h"

namespace sharewell::predict {
namespace {

using json::Reader;

constexpr int kVersion = 1;
constexpr int kLocalVersion = 2;  // with corrections by a machine's own runs
constexpr int kRatesVersion = 3;  // with rates, or an operator table, of its own
constexpr std::size_t kMostKnown = 100'000;
constexpr std::string_view kWhat = "trained model";
constexpr json::Within kBounded{-learn::kLargest, learn::kLargest};

Figures FiguresFrom(Reader& in, std::string_view key) {
  Figures out;
  const auto list = in.NeedList(key, kFigures);
  in.Expect(list.size() == kFigures, "{}: has not {} entries", key, kFigures);
  if (!in.ok()) return out;
  for (std::size_t f = 0; f < kFigures; ++f) {
    if (!list[f].is_null()) out[f] = in.NumberOf(key, list[f], kBounded);
  }
  return out;
}

void WriteFigures(json::Writer& out, std::string_view key, const Figures& figures) {
  out.List(key, figures, [&](const auto& figure) { out.Value(figure); });
}

}  // namespace

// Reads and fills predictors.
class PredictorFile {
 public:
  static bool HasRates(const Predictor& predictor) {
    return predictor.rates_.has_value() || predictor.operators_ != nullptr;
  }

  static void Write(json::Writer& out, const Predictor& predictor) {
    out.Field("gpus", predictor.gpus_);
    out.Field("means", predictor.means_);
    out.Field("factors", predictor.factors_);
    out.Field("far", predictor.far_);
    out.Object("figures", [&] {
      for (std::size_t f = 0; f < kFigures; ++f) {
        out.Object(kFigureNames[f], [&] { WriteLearned(out, predictor.learned_[f]); });
      }
    });
    if (predictor.rates_) {
      Rates rates = *predictor.rates_;
      out.Object("rates", [&] {
        for (const Rate& rate : RatesOf(rates)) out.Field(rate.name, *rate.value);
      });
    }
    if (predictor.operators_) out.Field("operators", predictor.operators_->Write());
    out.List("known", predictor.known_, [&](const Known& known) {
      out.Object([&] {
        out.Field("workload", known.workload);
        out.Field("batch", known.batch);
        out.Field("precision", known.precision);
        out.Field("workers", known.workers);
        out.Field("gpu", known.gpu);
        out.Field("family", known.family);
        out.Field("place", known.place);
        WriteFigures(out, "measured", known.measured);
        WriteFigures(out, "held_out", known.held_out);
        if (known.local) out.Field("local", true);
      });
    });
  }

  static core::Result<Predictor> Read(Reader& in) {
    Predictor out;
    const std::size_t places = FeatureNames(Figure::kBusySeconds).size();
    in.Need("gpus");
    in.Texts("gpus", out.gpus_, kMostKnown);
    out.means_ = in.NeedNumbers("means", places, kBounded);
    out.factors_ = in.NeedNumbers("factors", places, kBounded);
    out.far_ = in.NeedNumber("far", {1e-9, 1e9});
    Reader figures = in.Part("figures");
    for (std::size_t f = 0; f < kFigures && in.ok(); ++f) {
      Reader figure = figures.Part(kFigureNames[f]);
      RETURN_IF_ERROR(ReadLearned(figure, static_cast<Figure>(f), out.learned_[f]));
    }
    if (in.Has("rates")) {
      out.rates_ = PlausibleRates();
      const auto all = RatesOf(*out.rates_);
      Reader rates = in.Part("rates");
      for (const Rate& rate : all) {
        *rate.value = rates.NeedNumber(rate.name, {1e-15, rate.most * 1.001});
      }
    }
    if (in.Has("operators")) {
      const std::string text = in.NeedText("operators");
      if (!in.ok()) return learn::Damaged(kWhat, in.error());
      auto read = OperatorTable::Read(text);
      RETURN_IF_ERROR(read);
      out.operators_ = std::make_shared<OperatorTable>(std::move(*read));
    }
    const auto known = in.NeedList("known", kMostKnown);
    out.known_.reserve(known.size());
    for (const json::Value item : known) {
      const std::string place = fmt::format("known[{}].", out.known_.size());
      out.known_.push_back(ReadKnown({item, place, json::Trust::kSent, in.error()}, places));
      if (!in.ok()) break;
    }
    if (!in.ok()) return learn::Damaged(kWhat, in.error());
    return out;
  }

 private:
  static void WriteLearned(json::Writer& out, const Predictor::Learned& learned) {
    out.Key("residual");
    learn::WriteInto(out, learned.residual ? learn::Write(*learned.residual) : "null");
    out.Key("interval");
    learn::WriteInto(out,
                     learned.interval.levels.empty() ? "null" : learn::Write(learned.interval));
    // Only where a machine's own runs were learnt from: older programs read what has none.
    if (!learned.local) return;
    out.Key("local");
    learn::WriteInto(out, learn::Write(*learned.local));
  }

  static core::Result<void> ReadLearned(Reader& in, Figure figure, Predictor::Learned& out) {
    in.NeedOrNull("residual");
    const json::Value bounds = in.NeedOrNull("interval");
    if (!in.ok()) return learn::Damaged(kWhat, in.error());
    const auto read = [&](std::string_view key, auto& into) -> core::Result<void> {
      if (!in.Has(key)) return {};
      auto regressor =
          learn::RegressorFromJson(in.Member(key), fmt::format("{}{}.", in.place(), key));
      RETURN_IF_ERROR(regressor);
      if (regressor->features() != FeatureNames(figure)) {
        return learn::Damaged(kWhat,
                              fmt::format("{} was learnt from other features than this version has",
                                          kFigureNames[static_cast<std::size_t>(figure)]));
      }
      into = std::move(*regressor);
      return {};
    };
    RETURN_IF_ERROR(read("residual", out.residual));
    RETURN_IF_ERROR(read("local", out.local));
    if (bounds.is_null()) return {};
    auto interval = learn::ConformalFromJson(bounds, in.place() + "interval.");
    RETURN_IF_ERROR(interval);
    out.interval = std::move(*interval);
    return {};
  }

  static Known ReadKnown(Reader in, std::size_t places) {
    Known row;
    row.workload = in.NeedText("workload");
    row.batch = in.NeedWhole("batch", {0, 1'000'000'000'000});
    row.precision = in.NeedText("precision");
    row.workers = static_cast<int>(in.NeedWhole("workers", {0, 1'000'000}));
    row.gpu = in.NeedText("gpu");
    row.family = in.NeedText("family");
    row.place = in.NeedNumbers("place", places, kBounded);
    row.measured = FiguresFrom(in, "measured");
    row.held_out = FiguresFrom(in, "held_out");
    in.Flag("local", row.local);
    return row;
  }
};

std::string Write(const Trained& trained) {
  return json::Write(json::Style::kFile, [&](json::Writer& out) {
    out.Object([&] {
      out.Field("format", "sharewell-model");
      out.Field("version", PredictorFile::HasRates(trained.predictor) ? kRatesVersion
                           : trained.predictor.AnyLocal()             ? kLocalVersion
                                                                      : kVersion);
      PredictorFile::Write(out, trained.predictor);
      out.Key("together");
      if (!trained.together) return out.Null();
      std::string together = Write(*trained.together);
      together.pop_back();  // its line break
      out.Raw(together);
    });
  });
}

namespace {

core::Result<Predictor> PredictorFrom(json::Value value) {
  std::string error;
  Reader in(value, "", json::Trust::kSent, error);
  const std::string format = in.NeedText("format");
  in.Expect(format == "sharewell-model", "its format is \"{}\", not \"sharewell-model\"", format);
  const std::int64_t version = in.NeedWhole("version", {0, 1'000'000});
  in.Expect(version >= kVersion && version <= kRatesVersion,
            "it is of version {}, this program reads versions {} to {}", version, kVersion,
            kRatesVersion);
  if (!in.ok()) return learn::Damaged(kWhat, error);
  return PredictorFile::Read(in);
}

}  // namespace

core::Result<Predictor> ReadPredictor(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return learn::Damaged(kWhat, parsed.error().message);
  return PredictorFrom(parsed->root());
}

core::Result<Trained> ReadTrained(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return learn::Damaged(kWhat, parsed.error().message);
  auto predictor = PredictorFrom(parsed->root());
  RETURN_IF_ERROR(predictor);
  Trained out{std::move(*predictor), std::nullopt};
  if (!parsed->root().Has("together")) return learn::Damaged(kWhat, "together: is missing");
  if (const json::Value together = parsed->root()["together"]; !together.is_null()) {
    auto read = ColocationFromJson(together, "together.");
    RETURN_IF_ERROR(read);
    out.together = std::move(*read);
  }
  return out;
}

}  // namespace sharewell::predict
