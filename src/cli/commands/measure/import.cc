#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/args/when.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "measure/imports/import_kernels.h"
#include "measure/imports/import_samples.h"
#include "platform/net/http_client.h"
#include "report/measure/kernels.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::array<const char*, 3> kImportFormats = {"ncu", "kineto", "dcgm"};
constexpr double kLeastPause = 0.1;
constexpr int kMostImportDays = 30;
constexpr std::uint64_t kMostKernels = 100000;

class ImportCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("format", format_, "source: Nsight Compute, PyTorch's profiler, or an exporter")
        ->type_name(fmt::format("{}", fmt::join(kImportFormats, "|")))
        ->required();
    app.add_option("from", from_, "a file, or for dcgm http://HOST:9400/metrics")
        ->type_name("FILE")
        ->required();
    app.add_option("--name", name_, "ncu, kineto: the profile's name (default: the file's)")
        ->type_name("NAME");
    app.add_option("--into", into_, "ncu, kineto: put the kernels into this profile of the store")
        ->type_name("ID|NAME");
    app.add_option("--gpu", gpu_, "ncu, kineto: the GPU model, where the file does not say")
        ->type_name("GPU");
    app.add_option("--top", top_, "ncu, kineto: number of kernels to show (default 20)")
        ->type_name("N");
    app.add_option("--for", for_, "dcgm: how long to go on asking (default: ask once)")
        ->type_name("TIME");
    app.add_option("--interval", interval_, "dcgm: with --for, time between questions (default 1s)")
        ->type_name("TIME");
    app.add_option("--node", node_, "dcgm: node that the samples belong to where no label says it")
        ->type_name("NODE");
    app.add_option("--store", store_, "a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("FILE");
    app.add_flag("--json", json_, "print JSON")->disable_flag_override();
  }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(CheckFlags());
    const auto text = format_ == "dcgm" ? Samples() : Kernels();
    RETURN_IF_ERROR(text);
    RETURN_IF_ERROR(WriteOut(*text));
    return kOk;
  }

 private:
  Result<void> CheckFlags() {
    if (std::find(kImportFormats.begin(), kImportFormats.end(), format_) == kImportFormats.end()) {
      const std::vector<std::string> known(kImportFormats.begin(), kImportFormats.end());
      return UsageError("import: {} is not allowed; give ncu, kineto or dcgm{}",
                        core::Quoted(format_), core::DidYouMean(format_, known));
    }
    const bool samples = format_ == "dcgm";
    if (samples && !(name_.empty() && into_.empty() && gpu_.empty())) {
      return UsageError("import: --name, --into and --gpu are for ncu and kineto");
    }
    if (!samples && !(for_.empty() && interval_.empty() && node_.empty())) {
      return UsageError("import: --for, --interval and --node are for dcgm");
    }
    if (!name_.empty() && !into_.empty()) {
      return UsageError("import: --name makes a profile, --into changes one; give one of them");
    }
    const bool url = platform::LooksLikeUrl(from_);
    if (url && !samples) {
      return UsageError("import: {} reads a file; fetch it first: curl -O {}", format_,
                        core::Quoted(from_));
    }
    if (!url && !for_.empty()) return UsageError("import: --for needs a URL, not a file");
    if (for_.empty() && !interval_.empty()) return UsageError("import: --interval needs --for");
    const auto most = ParseWhole("--top", top_, 0, kMostKernels);
    RETURN_IF_ERROR(most);
    most_ = static_cast<std::size_t>(*most);
    if (!for_.empty()) {
      const auto time = ParseTime("--for", for_, kMostImportDays);
      RETURN_IF_ERROR(time);
      time_ = *time;
    }
    if (!interval_.empty()) {
      const auto interval = ParseTime("--interval", interval_, 1);
      RETURN_IF_ERROR(interval);
      if (interval->value < kLeastPause) {
        return UsageError("--interval: {} is less than 0.1s", core::Quoted(interval_));
      }
      pause_ = *interval;
    }
    return {};
  }

  Result<std::string> Kernels() const {
    const auto imported =
        measure::ImportKernels({format_, from_, name_, into_, gpu_}, [this] { return OpenHere(); });
    RETURN_IF_ERROR(imported);
    if (json_) return report::KernelsJson(imported->record, imported->whole);
    return report::KernelsText(imported->record, imported->whole, most_) +
           fmt::format("\nstored as profile {} in {}\n", imported->record.id,
                       store::WithoutPassword(StorePlace(store_)));
  }

  Result<std::string> Samples() const {
    const auto imported = measure::ImportSamples(
        {from_, node_, time_, pause_}, [this] { return OpenHere(); },
        [](const core::Error& error) { WriteError(error.message); });
    RETURN_IF_ERROR(imported);
    if (json_) return report::ImportedJson(*imported);
    return report::ImportedText(*imported) +
           fmt::format("stored in {}\n", store::WithoutPassword(StorePlace(store_)));
  }

  // A profile that is to be changed is in a store that is there already.
  Result<std::unique_ptr<store::Store>> OpenHere() const {
    return into_.empty() ? store::Open(StorePlace(store_)) : OpenStoreThatIsThere(store_);
  }

  std::string format_, from_, name_, into_, gpu_, for_, interval_, node_, store_;
  std::string top_ = "20";
  std::size_t most_ = 20;
  core::Seconds time_{0}, pause_{1};
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace sharewell::cli
