#include "predict/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "predict/features.h"

namespace sharewell::predict {
namespace {

constexpr std::size_t kNearest = 3;

// How much wider bounds are for a model that nothing learnt from is like: so much that nine in ten
// of the held-out rows lie within whose nearest row of another family is as far (46 to 56 rows of
// 16 families; tools/lab/far_bounds.py). In the order of Figure.
constexpr std::array<double, kFigures> kUnlikeModelWidens = {1.5, 1.5, 1.5, 1.5, 1.75, 1.5,
                                                             1.5, 2,   2.5, 3,   1.5,  1.25};
// And on a GPU model that nothing was learnt on: a guess, as we have measured one model only.
constexpr double kUnknownGpuWidens = 2;

Widening WideningOf(Figure figure, bool model_known, bool gpu_known) {
  const double for_model = model_known ? 1 : kUnlikeModelWidens[Index(figure)];
  const double for_gpu = gpu_known || !DependsOnGpu(figure) ? 1 : kUnknownGpuWidens;
  if (for_model == 1 && for_gpu == 1) return {};
  return for_model >= for_gpu ? Widening{Widening::Cause::kModel, for_model}
                              : Widening{Widening::Cause::kGpu, for_gpu};
}

// Conformal levels, in the order that training asks for them.
constexpr std::size_t kLow = 0, kHigh = 2;

// A pass over the caches moves about half again as much as device memory could: a guess.
constexpr double kL2OverDram = 1.5;
// Reading, cropping, copying and pinning touch each byte of a batch about six times: a guess.
constexpr double kHostPasses = 6;

Value Assumed(double value) { return {{value, value / 2, value * 2}, core::Source::kAssumed}; }

Bound BoundOf(const Base& base, double gpu_seconds) {
  const double load = base.Load();
  if (load >= gpu_seconds && load >= base.host) return Bound::kLoader;
  if (base.host >= gpu_seconds || base.launch >= base.compute + base.bandwidth)
    return Bound::kLaunch;
  return base.compute >= base.bandwidth ? Bound::kCompute : Bound::kMemory;
}

// Where a workload lies among what was learnt from.
std::vector<double> Place(std::vector<double> features, const std::vector<double>& means,
                          const std::vector<double>& factors) {
  for (std::size_t i = 0; i < features.size() && i < means.size(); ++i) {
    features[i] = std::clamp((features[i] - means[i]) * factors[i], -4.0, 4.0);
  }
  return features;
}

// By index into `known`; 1 is as far apart as things are that are still alike. On a GPU model that
// nothing was learnt on (`gpu_known` false), what depends on the GPU says how that differs from the
// known ones and nothing of the graph: it is left out, and the rest stands for all.
std::vector<std::pair<double, std::size_t>> DistancesTo(const std::vector<Known>& known,
                                                        const std::vector<double>& place,
                                                        double far, bool gpu_known) {
  std::vector<std::size_t> columns;
  const std::vector<std::string> names = FeatureNames(Figure::kBusySeconds);
  for (std::size_t i = 0; i < place.size() && i < names.size(); ++i) {
    if (gpu_known || !IsOfGpu(names[i])) columns.push_back(i);
  }
  const double stands_for =
      columns.empty() ? 1 : static_cast<double>(place.size()) / static_cast<double>(columns.size());
  std::vector<std::pair<double, std::size_t>> distances;
  distances.reserve(known.size());
  for (std::size_t k = 0; k < known.size(); ++k) {
    double sum = 0;
    for (const std::size_t i : columns) {
      if (i >= known[k].place.size()) break;
      sum += (place[i] - known[k].place[i]) * (place[i] - known[k].place[i]);
    }
    distances.emplace_back(std::sqrt(sum * stands_for) / far, k);
  }
  return distances;
}

// Learnt one by one, figures may contradict each other or the GPU: what cannot be is not told.
void KeepToWhatCanBe(const Query& query, Prediction& out) {
  // The search for algorithms takes what is free and does with less.
  Value& peak = out.figures[Index(Figure::kReserved)];
  const double card = query.gpu->memory.value;
  peak = core::Changed(peak, [card](double bytes) { return std::min(bytes, card); });
  if (query.gpu->power_limit) {
    Value& power = out.figures[Index(Figure::kPower)];
    const double limit = query.gpu->power_limit->value;
    power = core::Changed(power, [limit](double watts) { return std::min(watts, limit); });
  }
  if (!HasMatrixUnits(*query.gpu, query.run.precision)) {
    Value& tensor = out.figures[Index(Figure::kTensor)];
    tensor = core::Changed(tensor, [](double) { return 0.0; });
  }
  // No SM works while no kernel runs, and no matrix unit while its SM does not.
  const auto within = [&](Figure part, Figure whole) {
    Value& inner = out.figures[Index(part)];
    const Value& outer = out.figures[Index(whole)];
    inner.low = std::min(inner.low, outer.low);
    inner.median = std::min(inner.median, outer.median);
    inner.high = std::min(inner.high, outer.high);
  };
  within(Figure::kSm, Figure::kBusy);
  within(Figure::kTensor, Figure::kSm);
  within(Figure::kBusySeconds, Figure::kStepSeconds);
}

// What is not learnt, but follows from the figures that are, or is assumed.
void AddDerived(const Query& query, const Base& base, double step_seconds, Prediction& out) {
  const double traffic =
      base.cost.forward.bytes + base.cost.backward.bytes + base.cost.update.bytes;
  out.l2 = Assumed(std::min(
      1.0, traffic / step_seconds / (kL2OverDram * std::max(query.gpu->bandwidth.value, 1e9))));
  out.l2.high = std::min(out.l2.high, 1.0);
  out.host_bandwidth = Assumed(kHostPasses * base.cost.input_bytes / step_seconds);
  // Images lie on disk as bytes, other data as it is; compressed files are smaller.
  out.disk = Assumed((base.float_inputs + 8 * base.other_inputs) / step_seconds);
  const Value& power = out[Figure::kPower];
  const Value& step = out[Figure::kStepSeconds];
  out.kernels = base.cost.forward.kernels + base.cost.backward.kernels + base.cost.update.kernels;
  out.energy = {{power.median * step.median, power.low * step.low, power.high * step.high},
                power.source};
}

}  // namespace

std::string_view NameOf(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kLaunch:
      return "launch";
    case Bound::kLoader:
      break;
  }
  return "loader";
}

double Predictor::Corrected(Figure figure, const Query& query, const Base& base, double gpu_seconds,
                            double step_seconds) const {
  const double scaled = ToScale(figure, BaseFigure(figure, query, base, gpu_seconds, step_seconds));
  const Learned& learned = learned_[Index(figure)];
  if (!learned.residual) return scaled;
  return scaled + learned.residual->Predict(FeaturesOf(figure, query, base, gpu_seconds));
}

Query Predictor::Own(Query query) const {
  query.rates = rates_ ? &*rates_ : nullptr;
  query.operators = operators_.get();
  return query;
}

Prediction Predictor::Predict(const Query& asked) const {
  Prediction out;
  const Query query = Own(asked);
  const Base base = BaseOf(query);
  out.precision_native = Computes(*query.gpu, query.run.precision);
  out.gpu_known = std::find(gpus_.begin(), gpus_.end(), query.gpu->name) != gpus_.end();

  std::vector<std::pair<double, std::size_t>> near = DistancesTo(
      known_, Place(FeaturesOf(Figure::kBusySeconds, query, base, base.gpu), means_, factors_),
      far_, out.gpu_known);
  const std::size_t shown = std::min(kNearest, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(shown), near.end());
  for (std::size_t i = 0; i < shown; ++i) {
    const Known& k = known_[near[i].second];
    out.nearest.push_back(
        {fmt::format("{} batch {} {}", k.workload, k.batch, k.precision), near[i].first});
  }
  out.model_known = near.empty() ? false : near[0].first <= 1;

  const double busy_seconds =
      FromScale(Figure::kBusySeconds, Corrected(Figure::kBusySeconds, query, base, base.gpu, 1));
  const double step_seconds =
      std::max(FromScale(Figure::kStepSeconds,
                         Corrected(Figure::kStepSeconds, query, base, busy_seconds, 1)),
               1e-6);
  for (std::size_t f = 0; f < kFigures; ++f) {
    const auto figure = static_cast<Figure>(f);
    double scaled = 0;
    switch (figure) {
      case Figure::kBusySeconds:
        scaled = ToScale(figure, busy_seconds);
        break;
      case Figure::kStepSeconds:
        scaled = ToScale(figure, step_seconds);
        break;
      case Figure::kBusy:
        // Learnt directly, and as the ratio of two times: they err differently, so the mean of
        // both.
        scaled = (Corrected(figure, query, base, busy_seconds, base.Step(busy_seconds)) +
                  ToScale(figure, std::min(1.0, busy_seconds / step_seconds))) /
                 2;
        break;
      default:
        scaled = Corrected(figure, query, base, busy_seconds, step_seconds);
    }
    if (const auto& local = learned_[f].local) {
      scaled += local->Predict(FeaturesOf(figure, query, base, busy_seconds));
    }
    const learn::Conformal& interval = learned_[f].interval;
    Value& value = out.figures[f];
    value.median = FromScale(figure, scaled);
    value.low = value.high = value.median;
    value.source = known_.empty() ? core::Source::kAssumed : core::Source::kPredicted;
    if (interval.levels.size() > kHigh) {
      out.widened[f] = WideningOf(figure, out.model_known, out.gpu_known);
      const double widen = out.widened[f].factor;
      const double low = std::min(0.0, interval.Offset(kLow, "") * widen);
      const double high = std::max(0.0, interval.Offset(kHigh, "") * widen);
      value.low = FromScale(figure, scaled + low);
      value.high = FromScale(figure, scaled + high);
    }
  }
  KeepToWhatCanBe(query, out);
  out.unlearnt_busy_seconds = busy_seconds;
  const auto learnt = [&](Figure figure, double before) {
    return IsLocal(figure) ? std::max(out[figure].median, 1e-6) : before;
  };
  out.cpu_seconds = base.host + base.pin + base.worker * query.workers + base.inline_load;
  AddDerived(query, base, learnt(Figure::kStepSeconds, step_seconds), out);
  out.bound = BoundOf(base, learnt(Figure::kBusySeconds, busy_seconds));
  return out;
}

bool Predictor::AnyLocal() const {
  return std::any_of(learned_.begin(), learned_.end(),
                     [](const Learned& learned) { return learned.local.has_value(); });
}

double Prediction::Stretch(double cores) const {
  const double step = (*this)[Figure::kStepSeconds].median;
  return step > 0 && cores > 0 ? Overlapping(step, cpu_seconds / cores) / step : 1;
}

core::Seconds Prediction::KernelTime() const {
  return core::Seconds(kernels > 0 ? (*this)[Figure::kBusySeconds].median / kernels : 0);
}

double Predictor::UpperOverMedian(Figure figure) const {
  const learn::Conformal& interval = learned_[Index(figure)].interval;
  return interval.levels.size() > kHigh ? std::exp(std::max(0.0, interval.Offset(kHigh, ""))) : 1;
}

const Known* Predictor::Find(std::string_view workload, std::int64_t batch,
                             std::string_view precision, int workers) const {
  for (const Known& known : known_) {
    if (known.workload == workload && known.batch == batch && known.precision == precision &&
        known.workers == workers) {
      return &known;
    }
  }
  return nullptr;
}

}  // namespace sharewell::predict
