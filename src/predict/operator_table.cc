#include "predict/operator_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/parse_number.h"
#include "predict/base.h"
#include "predict/learn/gaussian/cholesky.h"

namespace sharewell::predict {
namespace {

constexpr std::size_t kKinds = 4, kArithmetics = 3;
constexpr double kLaunch = 2e-6;  // seconds that any pass takes at least, about
constexpr double kRidge = 0.02;   // of the plane, a cell
// How far apart cells still speak for each other, by feature: logarithms.
constexpr OperatorTable::Place kReach = {1, 1, 0.7, 1, 0.7, 0.55, 0.4};
constexpr double kPlaneWeight = 0.15;  // how much the plane itself counts, beside a cell just there
constexpr double kTooFar = 9;          // squared, in reaches: nothing nearer, nothing told
constexpr double kEnough = 1;          // weight of cells that makes for half the support
constexpr std::size_t kFewest = 3;     // cells that make a group

double Log(double value) { return std::log(std::max(value, 1.0)); }

bool IsProduct(OpClass of) { return of <= OpClass::kAttention || of == OpClass::kRecurrent; }

// What of a place differs by pass.
void SetPass(const OperatorShape& shape, std::size_t pass, OperatorTable::Place& place) {
  place[0] = Log(shape.flops[pass]);
  place[1] = Log(shape.bytes[pass]);
}

OperatorTable::Place PlaceOf(const OperatorShape& shape, std::size_t pass) {
  OperatorTable::Place place = {0,
                                0,
                                Log(shape.contraction),
                                Log(shape.outputs),
                                Log(shape.channels),
                                Log(shape.window),
                                shape.dilation > 1 ? 1.0 : 0.0};
  SetPass(shape, pass, place);
  return place;
}

// A plain limit that grows smoothly, so that logarithms of ratios to it are smooth.
double Least(const OperatorShape& shape, std::size_t pass, const Roofline& roofline) {
  const double rate = roofline.flops[static_cast<std::size_t>(shape.arithmetic)];
  const double arithmetic = IsProduct(shape.of) && rate > 0 ? shape.flops[pass] / rate : 0;
  const double traffic = shape.bytes[pass] / std::max(roofline.bandwidth, 1e9);
  const double walk = shape.walk[pass];
  return arithmetic + std::sqrt(traffic * traffic + walk * walk) + kLaunch;
}

}  // namespace

int OperatorKind(OpClass of, std::string_view type) {
  const auto has = [&](std::string_view part) { return type.find(part) != std::string_view::npos; };
  switch (of) {
    case OpClass::kNorm:
      return has("atch") ? 0 : has("nstance") || has("roup") ? 2 : 1;
    case OpClass::kPool:
      return has("Max") || has("max") ? 0 : 1;
    case OpClass::kElementwise:
      if (has("Reduce") || has("Arg") || has("Cum") || has("mean") || has("sum")) return 2;
      return type == "Add" || type == "Sub" || type == "Sum" || has("aten.add") || has("aten.sub")
                 ? 0
                 : 1;
    case OpClass::kActivation:
      return has("Relu") || has("relu") || has("Clip") ? 0 : 1;
    case OpClass::kMove:
      return has("Concat") || has("cat") ? 0 : has("Resize") || has("upsample") ? 2 : 1;
    case OpClass::kRecurrent:
      return has("GRU") || has("gru") ? 1 : 0;
    case OpClass::kStem:
    case OpClass::kPointwise:
    case OpClass::kConv:
    case OpClass::kDepthwise:
    case OpClass::kGrouped:
      return has("ranspose") ? 1 : 0;
    case OpClass::kMatMul:
    case OpClass::kAttention:
    case OpClass::kSoftmax:
    case OpClass::kEmbedding:
    case OpClass::kNone:
      break;
  }
  return 0;
}

int ArithmeticOf(OpClass of, graph::Precision precision) {
  if (precision == graph::Precision::kBf16 || precision == graph::Precision::kFp16) return 2;
  return precision == graph::Precision::kTf32 && IsProduct(of) ? 1 : 0;
}

double ChannelsOf(OpClass of, const graph::Dims& output) {
  if (output.empty()) return 1;
  // Batch norms of few channels keep few SMs busy; others of their kind are over the last
  // dimension.
  const bool second = of <= OpClass::kGrouped || of == OpClass::kPool ||
                      (of == OpClass::kNorm && output.size() > 3);
  return static_cast<double>(second && output.size() > 1 ? output[1] : output.back());
}

OperatorShape ShapeOf(const graph::Graph& graph, const graph::Op& op, const graph::OpCost& cost,
                      const graph::Run& run) {
  OperatorShape shape;
  shape.of = ClassOf(graph, op);
  shape.kind = OperatorKind(shape.of, op.type);
  shape.arithmetic = ArithmeticOf(shape.of, run.precision);
  shape.flops = {cost.forward.flops, cost.backward.flops};
  shape.bytes = {cost.forward.bytes, cost.backward.bytes};
  shape.contraction = Contraction(graph, op);
  shape.window = static_cast<double>(op.kernel);
  shape.dilation = static_cast<double>(op.dilation);
  if (!op.outputs.empty() && op.outputs[0] != graph::kAbsent) {
    const graph::Tensor& out = graph.tensors[static_cast<std::size_t>(op.outputs[0])];
    shape.outputs = Elements(out);
    if (out.dims) shape.channels = ChannelsOf(shape.of, *out.dims);
  }
  return shape;
}

Roofline RooflineOf(const core::GpuModel& gpu) {
  return {{PeakFlops(gpu, graph::Precision::kFp32), PeakFlops(gpu, graph::Precision::kTf32),
           PeakFlops(gpu, graph::Precision::kBf16)},
          std::max(gpu.bandwidth.value, 1e9)};
}

OperatorTable::OperatorTable(std::vector<Cell> cells, Roofline roofline)
    : cells_(std::move(cells)), roofline_(roofline) {
  Build();
}

std::size_t OperatorTable::GroupOf(const OperatorShape& shape, std::size_t pass) {
  const auto of = static_cast<std::size_t>(shape.of);
  return ((of * kKinds + static_cast<std::size_t>(shape.kind)) * kArithmetics +
          static_cast<std::size_t>(shape.arithmetic)) *
             2 +
         pass;
}

void OperatorTable::Build() {
  groups_.assign(kOpClasses * kKinds * kArithmetics * 2, {});
  std::vector<std::size_t> sizes(groups_.size(), 0);
  for (const Cell& cell : cells_) {
    if (cell.shape.of == OpClass::kNone) continue;
    for (const std::size_t pass : {kForward, kBackward}) ++sizes[GroupOf(cell.shape, pass)];
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    groups_[g].places.reserve(sizes[g]);
    groups_[g].over.reserve(sizes[g]);
  }
  for (const Cell& cell : cells_) {
    if (cell.shape.of == OpClass::kNone) continue;
    Place place = PlaceOf(cell.shape, kForward);
    for (const std::size_t pass : {kForward, kBackward}) {
      if (pass == kBackward) SetPass(cell.shape, pass, place);
      if (!(cell.seconds[pass] > 0)) continue;
      Group& group = groups_[GroupOf(cell.shape, pass)];
      group.places.push_back(place);
      group.over.push_back(std::log(cell.seconds[pass] / Least(cell.shape, pass, roofline_)));
    }
  }
  for (Group& group : groups_) {
    const auto n = static_cast<double>(group.over.size());
    if (group.over.size() < kFewest) {
      group = {};
      continue;
    }
    for (const double over : group.over) group.level += over / n;
    for (const Place& place : group.places) {
      for (std::size_t i = 0; i < kFeatures; ++i) group.middle[i] += place[i] / n;
    }
    // Ridge: the plane through the middle.
    std::vector<double> squares(kFeatures * kFeatures, 0);
    std::vector<double> slope(kFeatures, 0);
    for (std::size_t k = 0; k < group.over.size(); ++k) {
      for (std::size_t i = 0; i < kFeatures; ++i) {
        const double a = group.places[k][i] - group.middle[i];
        slope[i] += a * (group.over[k] - group.level);
        for (std::size_t j = 0; j <= i; ++j) {
          squares[i * kFeatures + j] += a * (group.places[k][j] - group.middle[j]);
        }
      }
    }
    for (std::size_t i = 0; i < kFeatures; ++i) squares[i * kFeatures + i] += kRidge * n + 1;
    if (!learn::Factorise(squares, kFeatures))
      slope.assign(kFeatures, 0);
    else
      learn::SolveFactored(squares, kFeatures, slope);
    std::copy(slope.begin(), slope.end(), group.slope.begin());
    for (std::size_t k = 0; k < group.over.size(); ++k) {
      group.over[k] -= group.level;
      for (std::size_t i = 0; i < kFeatures; ++i) {
        group.over[k] -= group.slope[i] * (group.places[k][i] - group.middle[i]);
      }
    }
  }
}

OperatorTable OperatorTable::Without(const std::set<std::string>& families) const {
  std::vector<Cell> kept;
  for (const Cell& cell : cells_) {
    const bool alone = !cell.families.empty() &&
                       std::all_of(cell.families.begin(), cell.families.end(),
                                   [&](const std::string& f) { return families.count(f) > 0; });
    if (!alone) kept.push_back(cell);
  }
  return {std::move(kept), roofline_};
}

std::optional<OperatorTable::Told> OperatorTable::Seconds(const OperatorShape& shape,
                                                          std::size_t pass,
                                                          const Roofline& roofline) const {
  if (shape.of == OpClass::kNone || groups_.empty()) return std::nullopt;
  const Group& group = groups_[GroupOf(shape, pass)];
  if (group.over.empty() || !(shape.bytes[pass] > 0)) return std::nullopt;
  const Place place = PlaceOf(shape, pass);
  double weights = kPlaneWeight, sum = 0, nearest = kTooFar;
  for (std::size_t k = 0; k < group.over.size(); ++k) {
    double far = 0;
    for (std::size_t i = 0; i < kFeatures && far < kTooFar; ++i) {
      const double off = (place[i] - group.places[k][i]) / kReach[i];
      far += off * off;
    }
    if (far >= kTooFar) continue;
    nearest = std::min(nearest, far);
    const double weight = std::exp(-far / 2) / (far + 0.1);
    weights += weight;
    sum += weight * group.over[k];
  }
  double over = group.level + sum / weights;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    over += group.slope[i] * (place[i] - group.middle[i]);
  }
  if (nearest >= kTooFar) return std::nullopt;
  const double cells = weights - kPlaneWeight;
  return Told{Least(shape, pass, roofline) * std::exp(std::clamp(over, -3.0, 8.0)),
              cells / (cells + kEnough)};
}

std::string OperatorTable::Write() const {
  std::string out = fmt::format("{:.6g} {:.6g} {:.6g} {:.6g}", roofline_.flops[0],
                                roofline_.flops[1], roofline_.flops[2], roofline_.bandwidth);
  for (const Cell& cell : cells_) {
    const OperatorShape& s = cell.shape;
    out += fmt::format(
        ";{} {} {} {:.4g} {:.4g} {:.4g} {:.4g} {:.4g} {:.4g} {:.4g} {:.4g} {:.4g} "
        "{:.4g} {:.4g} {:.4g} {:.4g}",
        static_cast<int>(s.of), s.kind, s.arithmetic, s.flops[0], s.flops[1], s.bytes[0],
        s.bytes[1], s.contraction, s.outputs, s.channels, s.window, s.dilation, cell.seconds[0],
        cell.seconds[1], s.walk[0], s.walk[1]);
  }
  return out;
}

namespace {

// Takes the number that `text` begins with, as Write() writes it: "1.179e+06". A table has a
// hundred thousand of them, and whoever predicts reads them each time.
std::optional<double> TakeNumber(std::string_view& text) {
  constexpr std::array<double, 11> kTens = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
  constexpr std::size_t kMostDigits = 9;
  const auto digit = [&](std::size_t at) { return static_cast<unsigned>(text[at] - '0'); };
  const auto ends = [&](std::size_t at) {
    return at == text.size() || text[at] == ' ' || text[at] == ';';
  };
  std::int64_t digits = 0;
  std::size_t at = 0;
  std::size_t point = std::string_view::npos;  // where it is
  for (; at < text.size(); ++at) {
    if (digit(at) <= 9 && at <= kMostDigits) {
      digits = digits * 10 + digit(at);
    } else if (text[at] == '.' && point == std::string_view::npos) {
      point = at;
    } else {
      break;
    }
  }
  const bool pointed = point != std::string_view::npos;
  double value = static_cast<double>(digits) / kTens[pointed ? at - point - 1 : 0];
  bool plain = at > (pointed ? 1U : 0U);
  if (plain && at + 4 <= text.size() && text[at] == 'e' && text[at + 2] == '0' &&
      digit(at + 3) <= 9 && (text[at + 1] == '+' || text[at + 1] == '-')) {
    const double ten = kTens[digit(at + 3)];
    value = text[at + 1] == '+' ? value * ten : value / ten;
    at += 4;
  }
  plain = plain && ends(at);
  if (plain) {
    text.remove_prefix(at);
    return value;
  }
  const std::string_view word = text.substr(0, text.find_first_of(" ;"));
  text.remove_prefix(word.size());
  return core::FiniteNumber(word);
}

}  // namespace

core::Result<OperatorTable> OperatorTable::Read(std::string_view text) {
  constexpr std::size_t kNumbers = 16, kMostCells = 200'000;
  std::vector<Cell> cells;
  // No cell is shorter than this; what is reserved in vain is never touched.
  cells.reserve(std::min(text.size() / (2 * kNumbers), kMostCells));
  Roofline roofline;
  bool first = true;
  while (!text.empty()) {
    std::array<double, kNumbers> numbers{};
    std::size_t count = 0;
    bool good = true, more = true;
    while (more && good) {
      const auto number = TakeNumber(text);
      good = number && *number >= 0 && *number < 1e30 && count < kNumbers;
      if (good) numbers[count++] = *number;
      more = text.starts_with(' ');
      if (!text.empty()) text.remove_prefix(1);
    }
    good = good && count == (first ? 4 : kNumbers) && cells.size() < kMostCells;
    if (good && first) {
      roofline = {{numbers[0], numbers[1], numbers[2]}, numbers[3]};
    } else if (good) {
      Cell cell;
      good = numbers[0] < kOpClasses && numbers[1] < kKinds && numbers[2] < kArithmetics;
      cell.shape.of = static_cast<OpClass>(static_cast<int>(good ? numbers[0] : 0));
      cell.shape.kind = static_cast<int>(good ? numbers[1] : 0);
      cell.shape.arithmetic = static_cast<int>(good ? numbers[2] : 0);
      cell.shape.flops = {numbers[3], numbers[4]};
      cell.shape.bytes = {numbers[5], numbers[6]};
      cell.shape.contraction = numbers[7];
      cell.shape.outputs = numbers[8];
      cell.shape.channels = numbers[9];
      cell.shape.window = numbers[10];
      cell.shape.dilation = numbers[11];
      cell.seconds = {numbers[12], numbers[13]};
      cell.shape.walk = {numbers[14], numbers[15]};
      cells.push_back(std::move(cell));
    }
    if (!good) {
      return core::UsageError(
          "operator {} of the trained model is damaged: `sharewell-lab train` makes "
          "a new one",
          cells.size());
    }
    first = false;
  }
  return OperatorTable(std::move(cells), roofline);
}

}  // namespace sharewell::predict
