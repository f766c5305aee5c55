#include "report/simulation/whatif.h"

#include "cli/args/values.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/commands/simulate/switch_over_run.h"
#include "cli/simulate/simulate_request.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "json/writer.h"
#include "platform/files/text.h"
#include "report/simulation/switch_over.h"
#include "report/text/json.h"

namespace sharewell::cli {
namespace {

constexpr double kMostHistory = 3650;

class WhatIfCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--policy", policies_, "policies to simulate; `sharewell policies` lists them")
        ->type_name("POLICY,...")
        ->capture_default_str();
    app.add_option("--days", days_, "days of the server's history (default 7)")->type_name("DAYS");
    app.add_option("--trace", trace_.trace,
                   "simulate this history instead of the server's (`sharewell trace import`)")
        ->type_name("FILE");
    app.add_option("--cluster", trace_.cluster,
                   "with --trace, the machines: a file, or nodes x GPUs x model (64x8xV100)")
        ->type_name("FILE|SPEC");
    app.add_option("--profiles", trace_.profiles,
                   "with --trace: what workloads need alone, instead of our measurements")
        ->type_name("FILE");
    app.add_option("--mix", trace_.mix,
                   "with --trace: what jobs are that name no workload (default catalogue)")
        ->type_name("catalogue|busy:X|FILE");
    app.add_option("--gpu-catalogue", trace_.gpu_catalogue,
                   "with --trace: GPU models of your own, added to ours")
        ->type_name("FILE");
    app.add_option("--max-slowdown", trace_.max_slowdown,
                   "with --trace: maximum slowdown by neighbours (default 1.25)")
        ->type_name("X");
    app.add_option("--patience", trace_.patience,
                   "with --trace: how long match waits for the better GPU model, in durations")
        ->type_name("X|forever");
    app.add_option("--seed", trace_.seed, "with --trace: random seed (default 1)")->type_name("N");
    flags_.Add(app);
  }

  core::Result<ExitCode> Run() override {
    const bool other =
        trace_.profiles || trace_.gpu_catalogue || trace_.mix != SimulateFlags().mix ||
        trace_.max_slowdown != SimulateFlags().max_slowdown ||
        trace_.patience != SimulateFlags().patience || trace_.seed != SimulateFlags().seed;
    if (trace_.trace.empty()) {
      if (!trace_.cluster.empty() || other) {
        return core::UsageError(
            "whatif: --cluster, --profiles, --mix, --gpu-catalogue, --max-slowdown, --patience and "
            "--seed need --trace");
      }
      return OfServer();
    }
    if (trace_.cluster.empty()) {
      return core::UsageError(
          "whatif: --trace needs --cluster: the machines that the jobs ran on, such as 4x8xV100");
    }
    if (!days_.empty()) return core::UsageError("whatif: --days is for a server's history");
    return OfTrace();
  }

 private:
  core::Result<ExitCode> OfServer() {
    const auto days = ParseNumber("--days", days_.empty() ? "7" : days_, 0.001, kMostHistory);
    RETURN_IF_ERROR(days);
    const auto names = platform::SplitList(policies_, ',');
    if (names.empty()) return core::UsageError("--policy: give at least one");
    const auto client = flags_.Find();
    RETURN_IF_ERROR(client);
    const auto body = client->Post("/whatif", json::ObjectLine([&](json::Writer& out) {
                                     out.Field("policies", names);
                                     out.Field("days", *days);
                                   }));
    RETURN_IF_ERROR(body);
    if (flags_.json) return PrintOut(JsonText(*body));
    const auto result = WhatIfFromAnswer(*body);
    RETURN_IF_ERROR(result);
    return PrintOut(report::WhatIfTable(*result, OutWidth().value_or(100)));
  }

  core::Result<ExitCode> OfTrace() {
    trace_.policies = {policies_};
    const auto run = RunSwitchOver(trace_);
    RETURN_IF_ERROR(run);
    RETURN_IF_ERROR(WriteOut(
        flags_.json ? report::SwitchOverJson(run->report, run->result)
                    : report::SwitchOverText(run->report, run->result, OutWidth().value_or(100))));
    return run->ExitCodeOf();
  }

  std::string policies_ = "slot,sharewell";
  std::string days_;
  SimulateFlags trace_;
  ServerFlags flags_;
};

}  // namespace

std::unique_ptr<Command> NewWhatIfCommand() { return std::make_unique<WhatIfCommand>(); }

}  // namespace sharewell::cli
