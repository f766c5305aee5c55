#include <cstdlib>
#include <string>
#include <vector>

#include "cli/args/store_flag.h"
#include "cli/commands/commands.h"
#include "cli/commands/measure/machine_checks.h"
#include "cli/terminal.h"
#include "collect/gpu/gpus.h"
#include "collect/job_sources.h"
#include "collect/registry.h"
#include "core/result.h"
#include "report/measure/health.h"

namespace sharewell::cli {
namespace {

using report::HealthRow;
using report::Soundness;

Soundness SoundnessOf(collect::Health::State state) {
  switch (state) {
    case collect::Health::State::kWorks:
      return Soundness::kWorks;
    case collect::Health::State::kPartly:
      return Soundness::kPartly;
    case collect::Health::State::kAbsent:
      break;
  }
  return Soundness::kAbsent;
}

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class DoctorCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  core::Result<ExitCode> Run() override {
    const MachinePlaces places{.path = FromEnvironment("PATH"),
                               .nvml_library = collect::GivenNvmlLibrary()};
    std::vector<HealthRow> rows = Collectors(places);
    for (auto& part : {CheckGpus(places), CheckMachine(places)}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    rows.push_back(CheckStore(StorePlace(store_)));
    const auto written = WriteOut(json_ ? report::HealthJson(rows) : report::HealthText(rows));
    RETURN_IF_ERROR(written);
    return kOk;
  }

 private:
  static std::vector<HealthRow> Collectors(const MachinePlaces& places) {
    collect::DiscoveredJobs jobs;
    collect::CollectorOptions options;
    options.jobs = &jobs;
    options.nvml_library = places.nvml_library;
    std::vector<HealthRow> rows;
    for (const auto& collector : collect::AllCollectors(options)) {
      const collect::Health health = collector->Probe();
      rows.push_back({"collectors", std::string(collector->Name()), SoundnessOf(health.state),
                      health.what, health.mend});
    }
    return rows;
  }

  std::string store_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace sharewell::cli
