// Every command of `sharewell`. Each is a class of its own in the file that is named after it;
// commands.cc has the table that help, completion and the shell's first word are looked up in.
#pragma once

#include <memory>

#include "cli/args/command.h"

namespace sharewell::cli {

// jobs/
std::unique_ptr<Command> NewRunCommand();
std::unique_ptr<Command> NewSubmitCommand();
std::unique_ptr<Command> NewJobsCommand();
std::unique_ptr<Command> NewJobCommand();
std::unique_ptr<Command> NewWhyCommand();
std::unique_ptr<Command> NewLogsCommand();
std::unique_ptr<Command> NewCancelCommand();
std::unique_ptr<Command> NewHoldCommand();
std::unique_ptr<Command> NewReleaseCommand();
std::unique_ptr<Command> NewPauseCommand();
std::unique_ptr<Command> NewResumeCommand();
std::unique_ptr<Command> NewTopCommand();
std::unique_ptr<Command> NewDrainCommand();
std::unique_ptr<Command> NewDashboardCommand();
std::unique_ptr<Command> NewDemoCommand();
std::unique_ptr<Command> NewStandInCommand();
std::unique_ptr<Command> NewServeCommand();
std::unique_ptr<Command> NewSbatchCommand();
std::unique_ptr<Command> NewLimitsCommand();
std::unique_ptr<Command> NewTokenCommand();
std::unique_ptr<Command> NewUsageCommand();

// measure/
std::unique_ptr<Command> NewDoctorCommand();
std::unique_ptr<Command> NewProfileCommand();
std::unique_ptr<Command> NewProfilesCommand();
std::unique_ptr<Command> NewSweepCommand();
std::unique_ptr<Command> NewColocateCommand();
std::unique_ptr<Command> NewSensitivityCommand();
std::unique_ptr<Command> NewMeasureCommand();
std::unique_ptr<Command> NewMonitorCommand();
std::unique_ptr<Command> NewSamplesCommand();
std::unique_ptr<Command> NewImportCommand();
std::unique_ptr<Command> NewStressCommand();

// predict/
std::unique_ptr<Command> NewPredictCommand();
std::unique_ptr<Command> NewRecommendCommand();
std::unique_ptr<Command> NewInspectCommand();
std::unique_ptr<Command> NewWatchCommand();
std::unique_ptr<Command> NewPredictorCommand();

// simulate/
std::unique_ptr<Command> NewSimulateCommand();
std::unique_ptr<Command> NewWhatIfCommand();
std::unique_ptr<Command> NewTraceCommand();
std::unique_ptr<Command> NewPoliciesCommand();
std::unique_ptr<Command> NewGpusCommand();

// report/
std::unique_ptr<Command> NewReportCommand();

// kubernetes/
std::unique_ptr<Command> NewKubernetesCommand();

// slurm/
std::unique_ptr<Command> NewSlurmCommand();

// args/completion_command.cc
std::unique_ptr<Command> NewCompletionCommand();

// `sharewell` itself (commands.cc).
const Program& SharewellProgram();

}  // namespace sharewell::cli
