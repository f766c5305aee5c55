#include "research/train/operator_file.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/parse_number.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "predict/walk.h"

namespace sharewell::research {
namespace {

using platform::CsvReader;
using predict::OpClass;

constexpr platform::Range kAmount{0, 1e25};
constexpr platform::Range kSeconds{0, 1e4};

OpClass ClassNamed(std::string_view word) {
  const auto found = std::find(predict::kOpClassNames.begin(), predict::kOpClassNames.end(), word);
  return static_cast<OpClass>(found - predict::kOpClassNames.begin());
}

// "64x256x14x14"; none where it is anything else.
std::optional<graph::Dims> DimsFrom(std::string_view text) {
  graph::Dims out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('x'));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto number = core::FiniteNumber(word);
    if (!number || *number < 0 || *number > 1e12 || out.size() == graph::kMostDims) return {};
    out.push_back(static_cast<std::int64_t>(*number));
  }
  return out;
}

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!word.empty()) out.emplace_back(word);
  }
  return out;
}

// Of "64x256x14x14:2g 256:4gw", the first operand counts; weights are not walked.
predict::Walked WalkedOf(std::string_view operands, std::string_view type,
                         const predict::OperatorShape& shape, const graph::Dims& output) {
  predict::Walked out;
  const std::string_view first = operands.substr(0, operands.find(' '));
  const std::string_view dims = first.substr(0, first.find(':'));
  const auto input = DimsFrom(dims);
  if (!input || first.substr(dims.size()).find('w') != std::string_view::npos) return out;
  out.of = shape.of;
  out.batch_norm = type.find("atch") != std::string_view::npos;
  out.transposed = type.find("ranspose") != std::string_view::npos;
  const std::string_view rest = operands.substr(std::min(first.size() + 1, operands.size()));
  out.weighted = rest.substr(0, rest.find(' ')).find('w') != std::string_view::npos;
  out.half = shape.arithmetic == 2;
  out.input = *input;
  out.output = output;
  out.window = shape.window;
  return out;
}

}  // namespace

core::Result<predict::OperatorTable> ReadOperatorText(std::string_view text,
                                                      const std::string& name,
                                                      const catalogue::GpuCatalogue& catalogue) {
  CsvReader csv(text, name);
  const auto of = csv.Require("class"), type = csv.Require("type");
  const auto precision = csv.Require("precision"), output = csv.Require("output");
  const auto window = csv.Require("window"), dilation = csv.Require("dilation");
  const auto flops_forward = csv.Require("flops_forward");
  const auto flops_backward = csv.Require("flops_backward");
  const auto bytes_forward = csv.Require("traffic_forward_bytes");
  const auto bytes_backward = csv.Require("traffic_backward_bytes");
  const auto contraction = csv.Require("contraction"), gpu = csv.Require("gpu");
  const auto forward = csv.Require("forward_seconds"), backward = csv.Require("backward_seconds");
  const auto families = csv.Find("families"), failure = csv.Find("failure");
  const auto operands = csv.Find("operands");
  std::vector<predict::OperatorTable::Cell> cells;
  std::vector<predict::Walked> walked;
  std::string measured_on;
  while (csv.Next()) {
    if (!csv.Text(failure).empty()) continue;
    predict::OperatorTable::Cell cell;
    cell.shape.of = ClassNamed(csv.Text(of));
    if (cell.shape.of == OpClass::kNone) continue;  // passes of an optimizer, or of a later version
    if (measured_on.empty()) measured_on = std::string(csv.RequiredText(gpu));
    if (csv.Text(gpu) != measured_on) csv.Fail(gpu, "is another GPU model than in the rows before");
    const auto word = graph::ParsePrecision(csv.Text(precision));
    const auto dims = DimsFrom(csv.Text(output));
    if (!word) csv.Fail(precision, "is no precision");
    if (!dims) csv.Fail(output, "are no dimensions; they look like 64x256x14x14");
    cell.shape.window = csv.Number(window, kAmount);
    cell.shape.dilation = csv.Number(dilation, kAmount);
    cell.shape.flops = {csv.Number(flops_forward, kAmount), csv.Number(flops_backward, kAmount)};
    cell.shape.bytes = {csv.Number(bytes_forward, kAmount), csv.Number(bytes_backward, kAmount)};
    cell.shape.contraction = csv.Number(contraction, kAmount);
    cell.seconds = {csv.Number(forward, kSeconds), csv.Number(backward, kSeconds)};
    if (!csv.ok()) return csv.error();
    cell.shape.kind = predict::OperatorKind(cell.shape.of, csv.Text(type));
    cell.shape.arithmetic = predict::ArithmeticOf(cell.shape.of, *word);
    cell.shape.outputs = 1;
    for (const std::int64_t dim : *dims) cell.shape.outputs *= static_cast<double>(dim);
    cell.shape.channels = predict::ChannelsOf(cell.shape.of, *dims);
    cell.families = Words(csv.Text(families));
    walked.push_back(WalkedOf(csv.Text(operands), csv.Text(type), cell.shape, *dims));
    cells.push_back(std::move(cell));
  }
  if (!csv.ok()) return csv.error();
  if (cells.empty()) {
    return core::UsageError("{}: no operator was measured; `sharewell measure operators` makes it",
                            name);
  }
  const auto model = catalogue.Find(measured_on);
  if (!model) return tl::unexpected(core::Error(model.error()).Within(name));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].shape.walk = predict::WalkOf(walked[i], model->fp32_tflops);
    if (!(cells[i].seconds[1] > 0)) cells[i].shape.walk[1] = 0;
  }
  return predict::OperatorTable(std::move(cells), predict::RooflineOf(*model));
}

core::Result<predict::OperatorTable> ReadOperatorFiles(const std::vector<std::string>& paths,
                                                       const catalogue::GpuCatalogue& catalogue) {
  std::vector<predict::OperatorTable::Cell> cells;
  std::optional<predict::Roofline> roofline;
  for (const std::string& path : paths) {
    const auto mapped = platform::MappedFile::Open(path);
    RETURN_IF_ERROR(mapped);
    const auto table = ReadOperatorText(mapped->text(), path, catalogue);
    RETURN_IF_ERROR(table);
    if (roofline && *roofline != table->roofline()) {
      return core::UsageError("{}: it is of another GPU model than {}; a table is of one", path,
                              paths[0]);
    }
    roofline = table->roofline();
    cells.insert(cells.end(), table->cells().begin(), table->cells().end());
  }
  return predict::OperatorTable(std::move(cells), roofline.value_or(predict::Roofline{}));
}

}  // namespace sharewell::research
