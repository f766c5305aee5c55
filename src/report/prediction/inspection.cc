#include "report/prediction/inspection.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using study::Inspection;
using study::LayerRow;

// "4.09 G", "1.8 T", "64 k": a count with a power of a thousand.
std::string ScaledCount(double value) {
  constexpr const char* kSuffix[] = {"", " k", " M", " G", " T", " P"};
  std::size_t power = 0;
  while (value >= 999.5 && power + 1 < std::size(kSuffix)) {
    value /= 1000;
    ++power;
  }
  const int digits = power == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return Number(value, digits) + kSuffix[power];
}

std::string Bytes(double bytes) { return Size(core::Bytes(bytes)); }

double WorkOf(const LayerRow& row) { return row.flops_forward + row.flops_backward; }

std::string Totals(const Inspection& in) {
  Table table({{"", Align::kLeft}, {"FLOPs", Align::kRight}, {"memory traffic", Align::kRight}});
  table.Row({"forward", ScaledCount(in.flops_forward), Bytes(in.bytes_forward)});
  if (!in.optimizer.empty()) {
    table.Row({"backward", ScaledCount(in.flops_backward), Bytes(in.bytes_backward)});
    table.Row(
        {"optimizer (" + in.optimizer + ")", ScaledCount(in.flops_update), Bytes(in.bytes_update)});
    table.Row({"a step", ScaledCount(in.flops_forward + in.flops_backward + in.flops_update),
               Bytes(in.bytes_forward + in.bytes_backward + in.bytes_update)});
  }
  return table.Text();
}

std::string MemoryOf(const Inspection& in) {
  Table table({{"GPU memory", Align::kLeft}, {"", Align::kRight}});
  table.Row({"weights", Bytes(in.weights)});
  if (!in.optimizer.empty()) {
    table.Row({"gradients", Bytes(in.gradients)});
    table.Row({"optimizer", Bytes(in.optimizer_states)});
    table.Row({"saved activations", Bytes(in.saved)});
  }
  table.Row({"transient", Bytes(in.transient)});
  table.Row({"workspace", Bytes(in.workspace)});
  table.Row({"peak", Bytes(in.peak)});
  return table.Text();
}

std::string Costliest(const Inspection& in, std::size_t most) {
  std::vector<const LayerRow*> rows;
  double total = 0;
  for (const LayerRow& row : in.layers) {
    rows.push_back(&row);
    total += WorkOf(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LayerRow* a, const LayerRow* b) { return WorkOf(*a) > WorkOf(*b); });
  rows.resize(std::min(rows.size(), most));
  if (rows.empty() || total <= 0) return "";
  Table table({{"costliest layers", Align::kLeft},
               {"type", Align::kLeft},
               {"output", Align::kLeft},
               {"FLOPs", Align::kRight},
               {"share", Align::kRight},
               {"traffic", Align::kRight},
               {"params", Align::kRight}});
  for (const LayerRow* row : rows) {
    table.Row({row->name.empty() ? kUnknown : row->name, row->type,
               row->shape.empty() ? kUnknown : row->shape, ScaledCount(WorkOf(*row)),
               Percent(WorkOf(*row) / total), Bytes(row->bytes_forward + row->bytes_backward),
               row->params > 0 ? ScaledCount(row->params) : ""});
  }
  return table.Text();
}

}  // namespace

std::string InspectionTable(const Inspection& in, std::size_t costliest) {
  std::string text =
      fmt::format("{}: {}{}\nbatch {}, {}, {}\n\n", in.file, in.format,
                  in.producer.empty() ? "" : ", written by " + in.producer, in.batch, in.precision,
                  in.optimizer.empty() ? "inference" : "training with " + in.optimizer);
  text += fmt::format(
      "{} parameters, {} MACs a sample forward, {} operators, about {} kernels a step\n",
      ScaledCount(in.params), ScaledCount(in.macs_per_sample),
      ScaledCount(static_cast<double>(in.nodes)), ScaledCount(in.kernels));
  text +=
      fmt::format("{} FLOPs a byte of memory traffic; {} of activations, {} of input a batch\n\n",
                  Number(in.intensity, 1), Bytes(in.activations), Bytes(in.input_bytes));
  text +=
      Totals(in) + "\n" + MemoryOf(in) +
      "The framework's context and cached blocks come on top: `sharewell predict` adds them.\n\n";
  std::string kinds;
  for (const auto& [kind, count] : in.counts) {
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
  }
  text += Wrapped("operators: " + kinds, 100, 2) + "\n\n" + Costliest(in, costliest);
  if (in.uncosted.empty()) return text + "\nEvery operator was costed.\n";
  const bool one = in.uncosted.size() == 1;
  text += fmt::format("\n{} operator{} could not be costed and count{} as nothing:\n",
                      in.uncosted.size(), one ? "" : "s", one ? "s" : "");
  for (const study::UncostedRow& row : in.uncosted) {
    text += fmt::format("  {} {}: {}\n", row.type, row.name, row.why);
  }
  return text;
}

std::string InspectionJson(const Inspection& in) {
  Json json;
  json["schema"] = kSchema;
  json["file"] = in.file;
  json["format"] = in.format;
  json["producer"] = in.producer.empty() ? Json(nullptr) : Json(in.producer);
  json["batch"] = in.batch;
  json["precision"] = in.precision;
  json["optimizer"] = in.optimizer.empty() ? Json(nullptr) : Json(in.optimizer);
  json["macs_forward_per_sample"] = in.macs_per_sample;
  json["params"] = in.params;
  json["nodes"] = in.nodes;
  json["kernels_per_step"] = in.kernels;
  json["kernels_forward"] = in.kernels_forward;
  json["kernels_backward"] = in.kernels_backward;
  json["kernels_optimizer"] = in.kernels_update;
  json["view_calls"] = in.view_calls;
  json["weight_tensors"] = in.weight_tensors;
  json["input_elements"] = {{"float", in.float_inputs}, {"other", in.other_inputs}};
  json["flops_forward"] = in.flops_forward;
  json["flops_backward"] = in.flops_backward;
  json["flops_optimizer"] = in.flops_update;
  json["traffic_forward_bytes"] = in.bytes_forward;
  json["traffic_backward_bytes"] = in.bytes_backward;
  json["traffic_optimizer_bytes"] = in.bytes_update;
  json["flops_per_byte"] = in.intensity;
  json["activation_bytes"] = in.activations;
  json["input_bytes"] = in.input_bytes;
  json["peak_memory_bytes"] = in.peak;
  json["memory"] = {{"weights_bytes", in.weights},
                    {"gradients_bytes", in.gradients},
                    {"optimizer_bytes", in.optimizer_states},
                    {"saved_activations_bytes", in.saved},
                    {"transient_bytes", in.transient},
                    {"workspace_bytes", in.workspace}};
  json["operators"] = Json::object();
  for (const auto& [kind, count] : in.counts) json["operators"][kind] = count;
  json["uncosted_nodes"] = Json::array();
  for (const study::UncostedRow& row : in.uncosted) {
    json["uncosted_nodes"].push_back({{"name", row.name}, {"type", row.type}, {"why", row.why}});
  }
  json["layers"] = Json::array();
  for (const LayerRow& row : in.layers) {
    json["layers"].push_back(
        {{"name", row.name},
         {"type", row.type},
         {"kind", row.kind},
         {"output", row.shape.empty() ? Json(nullptr) : Json(row.shape)},
         {"macs_forward", row.macs},
         {"flops_forward", row.flops_forward},
         {"flops_backward", row.flops_backward},
         {"traffic_forward_bytes", row.bytes_forward},
         {"traffic_backward_bytes", row.bytes_backward},
         {"kernels_forward", row.kernels_forward},
         {"kernels_backward", row.kernels_backward},
         {"calls_forward", row.calls_forward},
         {"calls_backward", row.calls_backward},
         {"rate_class", row.rate_class.empty() ? Json(nullptr) : Json(row.rate_class)},
         {"groups", row.groups},
         {"window", row.window},
         {"steps", row.steps},
         {"contraction", row.contraction},
         {"params", row.params},
         {"restored", row.restored},
         {"dilation", row.dilation},
         {"operands", row.operands}});
  }
  return Document(json);
}

}  // namespace sharewell::report
