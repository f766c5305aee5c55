#include "report/prediction/inspection.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using advice::Inspection;
using advice::LayerRow;

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

void WriteLayer(json::Writer& out, const LayerRow& row) {
  out.Object([&] {
    out.Field("name", row.name);
    out.Field("type", row.type);
    out.Field("kind", row.kind);
    out.TextOrNull("output", row.shape);
    out.Field("macs_forward", row.macs);
    out.Field("flops_forward", row.flops_forward);
    out.Field("flops_backward", row.flops_backward);
    out.Field("traffic_forward_bytes", row.bytes_forward);
    out.Field("traffic_backward_bytes", row.bytes_backward);
    out.Field("kernels_forward", row.kernels_forward);
    out.Field("kernels_backward", row.kernels_backward);
    out.Field("calls_forward", row.calls_forward);
    out.Field("calls_backward", row.calls_backward);
    out.TextOrNull("rate_class", row.rate_class);
    out.Field("groups", row.groups);
    out.Field("window", row.window);
    out.Field("steps", row.steps);
    out.Field("contraction", row.contraction);
    out.Field("params", row.params);
    out.Field("restored", row.restored);
    out.Field("dilation", row.dilation);
    out.Field("operands", row.operands);
  });
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
  text += fmt::format("\n{} operator{} could not be costed and count{} {}:\n", in.uncosted.size(),
                      one ? "" : "s", one ? "s" : "",
                      in.told ? "by the bytes read and written" : "as nothing");
  for (const advice::UncostedRow& row : in.uncosted) {
    text += fmt::format("  {} {}: {}\n", row.type, row.name, row.why);
  }
  return text;
}

std::string InspectionJson(const Inspection& in) {
  return JsonReport([&](json::Writer& out) {
    out.Field("file", in.file);
    out.Field("format", in.format);
    out.TextOrNull("producer", in.producer);
    out.Field("batch", in.batch);
    out.Field("precision", in.precision);
    out.TextOrNull("optimizer", in.optimizer);
    out.Field("macs_forward_per_sample", in.macs_per_sample);
    out.Field("params", in.params);
    out.Field("nodes", in.nodes);
    out.Field("kernels_per_step", in.kernels);
    out.Field("kernels_forward", in.kernels_forward);
    out.Field("kernels_backward", in.kernels_backward);
    out.Field("kernels_optimizer", in.kernels_update);
    out.Field("view_calls", in.view_calls);
    out.Field("weight_tensors", in.weight_tensors);
    out.Object("input_elements", [&] {
      out.Field("float", in.float_inputs);
      out.Field("other", in.other_inputs);
    });
    out.Field("flops_forward", in.flops_forward);
    out.Field("flops_backward", in.flops_backward);
    out.Field("flops_optimizer", in.flops_update);
    out.Field("traffic_forward_bytes", in.bytes_forward);
    out.Field("traffic_backward_bytes", in.bytes_backward);
    out.Field("traffic_optimizer_bytes", in.bytes_update);
    out.Field("flops_per_byte", in.intensity);
    out.Field("activation_bytes", in.activations);
    out.Field("input_bytes", in.input_bytes);
    out.Field("peak_memory_bytes", in.peak);
    out.Object("memory", [&] {
      out.Field("weights_bytes", in.weights);
      out.Field("gradients_bytes", in.gradients);
      out.Field("optimizer_bytes", in.optimizer_states);
      out.Field("saved_activations_bytes", in.saved);
      out.Field("transient_bytes", in.transient);
      out.Field("workspace_bytes", in.workspace);
    });
    out.Object("operators", [&] {
      for (const auto& [kind, count] : in.counts) out.Field(kind, count);
    });
    out.List("uncosted_nodes", in.uncosted, [&](const advice::UncostedRow& row) {
      out.Object([&] {
        out.Field("name", row.name);
        out.Field("type", row.type);
        out.Field("why", row.why);
      });
    });
    out.List("layers", in.layers, [&](const LayerRow& row) { WriteLayer(out, row); });
  });
}

}  // namespace sharewell::report
