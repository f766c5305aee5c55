#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "advice/prediction.h"
#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/commands/commands.h"
#include "cli/commands/measure/live_line.h"
#include "cli/commands/measure/profile_keeper.h"
#include "cli/terminal.h"
#include "collect/gpu/gpus.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "measure/imports/import_kernels.h"
#include "measure/imports/nsight_run.h"
#include "measure/watch.h"
#include "platform/files/write_file.h"
#include "platform/process/find_program.h"
#include "report/measure/kernels.h"
#include "report/measure/profile_record.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::Seconds;
using core::UsageError;

constexpr int kMostProfileDays = 30;
constexpr Seconds kLeastProfileInterval{0.1};
constexpr Seconds kMostProfileInterval{60};
constexpr std::uint64_t kMostRepeats = 1000;
constexpr std::uint64_t kMostCounted = 100'000;
constexpr std::size_t kShownKernels = 10;
constexpr std::size_t kMostName = 200;

// What the user would call it: the script, not its interpreter.
std::string NameOf(const std::vector<std::string>& command) {
  namespace fs = std::filesystem;
  const std::string program = fs::path(command.front()).filename().string();
  for (std::size_t i = 1; i < command.size(); ++i) {
    const fs::path word(command[i]);
    if (word.extension() == ".py" || word.extension() == ".sh") return word.stem().string();
    if (command[i - 1] == "-m") return command[i];
  }
  return program.empty() ? "job" : program.substr(0, kMostName);
}

class ProfileCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("--name", name_, "name of the profile (default: from the command)")
        ->type_name("NAME");
    CLI::Option* model = app.add_option("--model", model_,
                                        "the model that it trains; the prediction is shown beside")
                             ->type_name("FILE");
    app.add_option("--trained", trained_,
                   "with --model: predict by a model of your own, made by `sharewell-lab train`")
        ->type_name("FILE")
        ->needs(model);
    app.add_option("--batch", batch_, "its batch")->type_name("N");
    app.add_option("--precision", precision_, "precision that it trains in")
        ->type_name("fp32|tf32|bf16|fp16");
    app.add_option("--workers", workers_, "number of its data-loader processes")->type_name("N");
    app.add_option("--interval", interval_, "time between readings, 0.1s or more")
        ->type_name("TIME")
        ->capture_default_str();
    app.add_option("--warmup", warmup_, "time at the start that is not measured")
        ->type_name("auto|TIME")
        ->capture_default_str();
    app.add_option(
           "--for", for_,
           "how long to measure after the warm-up, six readings at least; end: until the job "
           "ends")
        ->type_name("settled|end|TIME")
        ->capture_default_str();
    app.add_option("--repeat", repeat_, "run it N times; figures are means over the runs")
        ->type_name("N");
    auto* steps =
        app.add_option("--progress-regex", steps_regex_,
                       "find the step counter (group 1) in its output; no group: a match is "
                       "a step")
            ->type_name("REGEX");
    app.add_option("--rate-regex", rate_regex_, "find its steps per second (group 1) in its output")
        ->type_name("REGEX")
        ->excludes(steps);
    app.add_option("--kernels", kernels_,
                   "then run it once more under Nsight Compute and count what N kernels do")
        ->type_name("N");
    app.add_option("--store", store_, "a file, postgresql://USER@HOST/DATABASE, or none")
        ->type_name("FILE");
    app.add_option("--out", out_, "write the profile as JSON into FILE")->type_name("FILE");
  }

  std::vector<std::string>* CommandLine() override { return &command_; }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(ReadFlags());
    FindGpu();
    const auto predicted = Predicted();
    RETURN_IF_ERROR(predicted);
    auto keeper = ProfileKeeper::Open(store_);
    RETURN_IF_ERROR(keeper);
    const auto records = Measure(*keeper);
    RETURN_IF_ERROR(records);

    core::ProfileRecord record = measure::MergeRepeats(*records);
    const bool failed = record.exit_code.value_or(0) != 0;
    const std::string kernels = !ncu_.empty() && !failed ? CountKernels(record) : "";
    const HoldInterrupts until_it_is_kept;
    const bool worth_keeping = !record.figures.empty() && (!failed || record.settled);
    const std::string where = worth_keeping ? keeper->Keep(record) : WhyNotKept(record);
    WriteErr("\n" + report::ProfileRecordText(record) + kernels);
    if (*predicted) {
      WriteErr("\n" + report::PredictedBeside(record, **predicted));
    } else if (!model_.empty()) {
      WriteErr("\nnot predicted: this machine has no GPU of a model that we know\n");
    }
    WriteErr(where);
    if (!out_.empty()) {
      RETURN_IF_ERROR(platform::WriteFile(out_, report::ProfileRecordsJson({record})));
    }
    // The job's own, as a shell has it: 0..255.
    return static_cast<ExitCode>(record.exit_code.value_or(0));
  }

 private:
  Result<void> ReadFlags() {
    if (command_.empty()) {
      return UsageError(
          "profile: no command is given; write it after --: sharewell profile -- "
          "python3 train.py");
    }
    if (name_.empty()) name_ = NameOf(command_);
    const bool shown_as_it_is =
        std::none_of(name_.begin(), name_.end(), [](unsigned char c) { return c < 0x20; });
    if (!shown_as_it_is || name_.size() > kMostName) {
      return UsageError("--name: {} is too long or has a control character in it",
                        core::Quoted(name_));
    }
    if (auto ok = ReadTimes(); !ok) return ok;
    const auto repeat = ParseWhole("--repeat", repeat_, 1, kMostRepeats);
    RETURN_IF_ERROR(repeat);
    repeats_ = static_cast<int>(*repeat);
    const auto batch = ParseWhole("--batch", batch_, 0, 1'000'000'000);
    RETURN_IF_ERROR(batch);
    const auto workers = ParseWhole("--workers", workers_, 0, 1024);
    RETURN_IF_ERROR(workers);
    if (!kernels_.empty()) {
      const auto kernels = ParseWhole("--kernels", kernels_, 1, kMostCounted);
      RETURN_IF_ERROR(kernels);
      kernel_count_ = static_cast<int>(*kernels);
      const char* path = std::getenv("PATH");
      auto program = platform::FindProgram("ncu", path != nullptr ? path : "");
      if (!program) {
        return UsageError(
            "--kernels: Nsight Compute's program ncu is not in PATH; it comes with the CUDA "
            "toolkit (/usr/local/cuda/bin/ncu)");
      }
      ncu_ = std::move(*program);
    }
    spec_.name = name_;
    spec_.command = command_;
    spec_.reads_stdin = true;
    spec_.workload = {
        .name = model_.empty() ? name_ : std::filesystem::path(model_).stem().string(),
        .batch = static_cast<int>(*batch),
        .precision = precision_,
        .workers = static_cast<int>(*workers)};
    using Kind = measure::ThroughputSource::Kind;
    if (!steps_regex_.empty()) spec_.throughput = {Kind::kSteps, steps_regex_};
    if (!rate_regex_.empty()) spec_.throughput = {Kind::kRate, rate_regex_};
    if (auto ok = measure::CheckExpression(spec_.throughput); !ok) {
      return tl::unexpected(
          std::move(ok.error()).Within(rate_regex_.empty() ? "--progress-regex" : "--rate-regex"));
    }
    return {};
  }

  Result<void> ReadTimes() {
    const auto interval = ParseTime("--interval", interval_, kMostProfileDays);
    RETURN_IF_ERROR(interval);
    if (*interval < kLeastProfileInterval || *interval > kMostProfileInterval) {
      return UsageError(
          "--interval: {} is not between 0.1s, below which a GPU's figures are not "
          "valid, and 60s",
          core::Quoted(interval_));
    }
    options_.interval = *interval;
    if (warmup_ != "auto") {
      const auto warmup = ParseTime("--warmup", warmup_, kMostProfileDays);
      RETURN_IF_ERROR(warmup);
      options_.warmup = *warmup;
    }
    options_.until = for_ == "end"       ? measure::Until::kEnd
                     : for_ == "settled" ? measure::Until::kSettled
                                         : measure::Until::kFor;
    if (options_.until != measure::Until::kFor) return {};
    const auto window = ParseTime("--for", for_, kMostProfileDays);
    RETURN_IF_ERROR(window);
    if (*window < *interval) {
      return UsageError("--for: {} is shorter than the interval of {}", core::Quoted(for_),
                        interval_);
    }
    options_.window = *window;
    return {};
  }

  // Which GPU the profile is of: the first that the job can see.
  void FindGpu() {
    const auto gpus = collect::FindGpus(collect::GivenNvmlLibrary());
    if (!gpus) return;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible == nullptr) {
      spec_.gpu = gpus->front().name;
      return;
    }
    const std::string all(visible);
    std::size_t begin = 0;
    while (begin < all.size()) {
      const std::size_t end = std::min(all.find(',', begin), all.size());
      const std::string one = all.substr(begin, end - begin);
      for (const collect::GpuFacts& gpu : *gpus) {
        const bool by_uuid = one.size() > 4 && gpu.uuid.rfind(one, 0) == 0;
        if (one != std::to_string(gpu.index) && !by_uuid) continue;
        if (spec_.gpus.empty()) spec_.gpu = gpu.name;
        spec_.gpus.push_back(std::to_string(gpu.index));
      }
      begin = end + 1;
    }
  }

  // Absent: no model was given, or there is no GPU that we know.
  Result<std::optional<advice::PredictionRow>> Predicted() const {
    if (model_.empty()) return std::nullopt;
    std::error_code error;
    if (!std::filesystem::exists(model_, error)) {
      return UsageError("--model: there is no file {}", core::Quoted(model_));
    }
    // First: a file that is no model is said on every machine, and before the job runs.
    const auto predictor = advice::PredictorOrBuiltin(trained_);
    RETURN_IF_ERROR(predictor);
    const auto catalogue = catalogue::GpuCatalogue::Builtin();
    if (spec_.gpu.empty() || !catalogue.Find(spec_.gpu)) return std::nullopt;
    advice::PredictionAsk ask;
    ask.model = model_;
    ask.batch = std::max(1, spec_.workload.batch);
    if (!precision_.empty()) ask.precision = precision_;
    if (spec_.workload.workers > 0) ask.workers = spec_.workload.workers;
    ask.gpu = spec_.gpu;
    auto row = advice::PredictOne(ask, *predictor, catalogue);
    RETURN_IF_ERROR(row);
    return std::move(*row);
  }

  Result<std::vector<core::ProfileRecord>> Measure(ProfileKeeper& keeper) {
    measure::WatchOptions options = measure::WatchHere();
    options.interval = options_.interval;
    options.warmup = options_.warmup;
    options.until = options_.until;
    options.window = options_.window;
    keeper.SetNode(options.environment);
    LiveLine live;
    options.line = [&](const measure::WatchLine& line) { live.Show(line); };
    options.sample = [&](const core::Batch& batch) { keeper.Sample(batch); };
    std::vector<core::ProfileRecord> records;
    while (static_cast<int>(records.size()) < repeats_) {
      auto watched = measure::Watch({&spec_, 1}, options);
      live.Clear();
      RETURN_IF_ERROR(watched);
      records.push_back(std::move(watched->records.front()));
      if (watched->interrupted || records.back().exit_code.value_or(0) != 0) break;
    }
    return records;
  }

  // The table to show. What was measured without them is kept in any case.
  std::string CountKernels(core::ProfileRecord& record) const {
    WriteErr(fmt::format("running it once more to count {} with Nsight Compute ...\n",
                         core::Count(static_cast<std::size_t>(kernel_count_), "kernel")));
    measure::NsightRun run{command_, ncu_, kernel_count_};
    run.warm = std::max(run.warm, record.warmup);
    auto counted = measure::MeasureKernels(run);
    if (!counted) {
      record.notes.push_back("kernels were not counted: " + counted.error().message);
      return {};
    }
    const core::KernelFigure whole = measure::PutKernels(std::move(*counted), record);
    return "\n" + report::KernelsText(record, whole, kShownKernels);
  }

  static std::string WhyNotKept(const core::ProfileRecord& record) {
    if (record.figures.empty()) return "not stored: nothing was measured\n";
    return fmt::format("not stored: the job failed with exit code {} before it had settled\n",
                       record.exit_code.value_or(0));
  }

  std::vector<std::string> command_;
  std::string name_, model_, trained_, precision_, steps_regex_, rate_regex_, store_, out_;
  std::string kernels_, ncu_;  // ncu_: its program; empty: kernels are not asked for
  int kernel_count_ = 0;
  std::string batch_ = "0", workers_ = "0", repeat_ = "1";
  std::string interval_ = "1s", warmup_ = "auto", for_ = "settled";
  int repeats_ = 1;
  measure::RunSpec spec_;
  measure::WatchOptions options_;
};

}  // namespace

std::unique_ptr<Command> NewProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace sharewell::cli
