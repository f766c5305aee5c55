#include <cstdlib>
#include <string>

#include "cli/args/store_flag.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "collect/gpu/gpus.h"
#include "core/result.h"
#include "report/measure/health.h"
#include "study/measure/doctor/machine_checks.h"

namespace sharewell::cli {
namespace {

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
    const auto rows = study::Examine(
        {.path = FromEnvironment("PATH"), .nvml_library = collect::GivenNvmlLibrary()},
        StorePlace(store_));
    RETURN_IF_ERROR(WriteOut(json_ ? report::HealthJson(rows) : report::HealthText(rows)));
    return kOk;
  }

 private:
  std::string store_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewDoctorCommand() { return std::make_unique<DoctorCommand>(); }

}  // namespace sharewell::cli
