// What sweep and colocate have in common at the command line: the machine, the store, the progress
// on stderr, and the way to say how to go on after an interrupt.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/args/command.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "measure/grid/sweep.h"
#include "measure/watch_world.h"
#include "store/store.h"

namespace sharewell::cli {

class GridRun {
 public:
  // spec, --out, --retry, --store, --dry-run, --json.
  void AddFlags(CLI::App& app);

  // Once the spec is read: the folder (by default NAME-ENDING), the store and this machine.
  core::Result<void> Prepare(const std::string& name, const char* ending);
  // After the run: what to type to go on.
  void TellHowToResume(const char* command) const;
  // Printed as it should be, and the exit code that goes with it.
  core::Result<ExitCode> Finish(const std::string& text, bool interrupted, bool failures) const;

  const std::string& spec() const { return spec_; }
  const std::string& folder() const { return folder_; }
  bool json() const { return json_; }
  bool dry_run() const { return dry_run_; }
  measure::GridOptions& options() { return options_; }

 private:
  void Show(const measure::GridProgress& progress);

  std::string spec_, folder_, store_;
  bool retry_ = false, json_ = false, dry_run_ = false;
  std::unique_ptr<store::Store> opened_;
  std::unique_ptr<measure::WatchWorld> world_;
  std::unique_ptr<ProgressBar> bar_;
  measure::GridOptions options_;
};

}  // namespace sharewell::cli
