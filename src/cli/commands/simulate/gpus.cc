#include "catalogue/gpu_catalogue.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "report/text/format.h"
#include "report/text/json.h"
#include "report/text/table.h"

namespace sharewell::cli {
namespace {

using core::GpuModel;
using report::Align;

std::string Tflops(const std::optional<double>& value) {
  return report::Or(value, [](double v) { return report::Number(v, 1); });
}

std::optional<double> Plain(const std::optional<core::Watts>& watts) {
  return watts ? std::optional(watts->value) : std::nullopt;
}

std::string AsTable(const std::vector<GpuModel>& models) {
  report::Table table({{"GPU model", Align::kLeft},
                       {"memory", Align::kRight},
                       {"bandwidth", Align::kRight},
                       {"SMs", Align::kRight},
                       {"FP32", Align::kRight},
                       {"TF32", Align::kRight},
                       {"FP16", Align::kRight},
                       {"BF16", Align::kRight},
                       {"power", Align::kRight}});
  for (const GpuModel& m : models) {
    table.Row({m.name, report::Size(m.memory), report::Rate(m.bandwidth), std::to_string(m.sms),
               report::Number(m.fp32_tflops, 1), Tflops(m.tf32_tflops), Tflops(m.fp16_tflops),
               Tflops(m.bf16_tflops), report::Or(Plain(m.power_limit), [](double w) {
                 return report::Number(w, 0) + " W";
               })});
  }
  return table.Text() +
         "\nRates in TFLOPS: FP32 on plain cores, the others dense on tensor cores.\n";
}

std::string AsJson(const std::vector<GpuModel>& models) {
  return report::JsonReport([&](json::Writer& out) {
    out.List("gpus", models, [&](const GpuModel& m) {
      out.Object([&] {
        out.Field("name", m.name);
        out.Field("aliases", m.aliases);
        out.Field("memory_bytes", m.memory);
        out.Field("bandwidth_bytes_per_second", m.bandwidth);
        out.Field("sms", m.sms);
        out.Field("fp32_tflops", m.fp32_tflops);
        out.Field("tf32_tflops", m.tf32_tflops);
        out.Field("fp16_tflops", m.fp16_tflops);
        out.Field("bf16_tflops", m.bf16_tflops);
        out.Field("power_limit_watts", m.power_limit);
        out.Field("idle_power_watts", m.idle_power);
      });
    });
  });
}

class GpusCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--gpu-catalogue", catalogue_, "GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    auto catalogue = catalogue::GpuCatalogue::Builtin();
    if (catalogue_) {
      RETURN_IF_ERROR(catalogue.Extend(*catalogue_));
    }
    RETURN_IF_ERROR(json_ ? WriteOut(AsJson(catalogue.models()))
                          : WriteText(AsTable(catalogue.models())));
    return kOk;
  }

 private:
  std::optional<std::string> catalogue_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewGpusCommand() { return std::make_unique<GpusCommand>(); }

}  // namespace sharewell::cli
