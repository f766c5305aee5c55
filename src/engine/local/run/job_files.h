// Names that the server and sharewell-supervise share: the files of a job's folder
// (docs/formats/jobs.md). Plain constants: the supervisor has nothing but libc.
#pragma once

namespace sharewell::engine {

// <state>/jobs/17.1/: job 17, attempt 1.
constexpr char kSpecFile[] = "spec";    // what to run; "key=value" records, each with a NUL
constexpr char kLockFile[] = "lock";    // flocked by the supervisor as long as it lives; its pid
constexpr char kVoidFile[] = "void";    // no supervisor may begin any more
constexpr char kBegunFile[] = "begun";  // the command may have been started
constexpr char kStartedFile[] = "started";    // it was; "pid N"
constexpr char kLimitFile[] = "limit";        // its time limit as it is now; "limit_ms N"
constexpr char kEndingFile[] = "ending";      // its time limit is over: it was told to end
constexpr char kExitFile[] = "exit";          // how it ended; "key value" lines
constexpr char kProgressFile[] = "progress";  // a FIFO: the job tells of its steps there
constexpr char kWatchFile[] = "watch";        // a FIFO: the watcher inside the job speaks there
constexpr char kMetricsFile[] = "metrics";    // a FIFO: the job tells its metrics there
constexpr char kTerminalFile[] = "terminal";  // socket, until its client is there
constexpr char kStepsFile[] = "steps";        // how many; "N N", each of 19 digits
constexpr char kMetricsToldFile[] = "metrics_told";  // the last of each; below
constexpr char kToldFile[] = "told";                 // what the watcher told, but for its counts
constexpr char kPauseFile[] = "pause";  // its pauses (pause_file.h); not there: never paused
constexpr char kPauseLockFile[] = "pause.lock";  // flocked by who pauses or resumes it just now

constexpr unsigned kStepsBytes = 19 + 1 + 19 + 1;
// "NAME TIME VALUE STEP", STEP -1 where none was told, each with a newline, and blanks up to so
// many bytes; the same once more.
constexpr unsigned kMetricsBytes = 384;
// A told step has at most 256 KiB; the rest is for the heads of its pieces and a few other lines.
constexpr unsigned kMostToldBytes = 288 << 10;
constexpr char kReportsLine[] = "by report_step\n";  // the job counts its steps itself

// First and last record of a spec, first and last line of an exit: a part of one is none.
constexpr char kSpecHead[] = "sharewell-job 1";
constexpr char kSpecEnd[] = "end";
constexpr char kExitHead[] = "sharewell-exit 1";

// Where a start failed, as `exit` says it ("failed folder 2": and errno).
constexpr char kFailedFork[] = "fork";
constexpr char kFailedGroup[] = "group";
constexpr char kFailedCpus[] = "cpus";
constexpr char kFailedUser[] = "user";
constexpr char kFailedFolder[] = "folder";
constexpr char kFailedFiles[] = "files";
constexpr char kFailedExec[] = "exec";
constexpr char kFailedTerminal[] = "pty";

// What became of a terminal, as `exit` says it.
constexpr char kTerminalClosed[] = "closed";  // its client went away
constexpr char kTerminalUnused[] = "unused";  // no client came within this time
constexpr int kTerminalPatienceMs = 30'000;

}  // namespace sharewell::engine
