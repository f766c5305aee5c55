#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "cli/args/store_flag.h"
#include "cli/args/values.h"
#include "cli/args/when.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "collect/metrics/metrics.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "import/dcgm.h"
#include "import/kernel_table.h"
#include "import/kineto.h"
#include "import/ncu.h"
#include "import/prometheus_text.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/mapped_file.h"
#include "platform/net/http_client.h"
#include "report/measure/kernels.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::ProfileRecord;
using core::Result;
using core::UsageError;
using std::chrono::steady_clock;

constexpr std::array<const char*, 3> kImportFormats = {"ncu", "kineto", "dcgm"};
constexpr double kLeastPause = 0.1;
constexpr int kMostImportDays = 30;
constexpr std::uint64_t kMostKernels = 100000;

std::string ThisNode() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

// What is summed up over all scrapes.
class Tally {
 public:
  void Add(const imports::ImportedSamples& samples) {
    for (const auto& [node, batch] : samples.batches) {
      nodes_.insert(node);
      for (const core::Reading& reading : batch.readings) {
        auto [it, first] = metrics_.try_emplace(reading.metric->name);
        report::ImportedMetric& row = it->second.row;
        if (first) {
          row.metric = reading.metric->name;
          row.unit = reading.metric->unit;
          row.least = row.most = reading.value;
        }
        row.least = std::min(row.least, reading.value);
        row.most = std::max(row.most, reading.value);
        row.mean += (reading.value - row.mean) / static_cast<double>(++row.samples);
        it->second.series.emplace(node, reading.instance, reading.job);
      }
    }
    out_.samples += samples.taken;
    out_.blank += samples.blank;
    out_.repeated += samples.repeated;
    for (const auto& [name, count] : samples.unknown) unknown_[name] += count;
  }
  void Scraped(bool well) {
    ++out_.scrapes;
    if (!well) ++out_.failed;
  }

  report::ImportedMetrics Take() && {
    for (auto& [name, sum] : metrics_) {
      sum.row.series = static_cast<std::int64_t>(sum.series.size());
      out_.metrics.push_back(std::move(sum.row));
    }
    out_.nodes.assign(nodes_.begin(), nodes_.end());
    out_.unknown.assign(unknown_.begin(), unknown_.end());
    return std::move(out_);
  }

 private:
  struct Sum {
    report::ImportedMetric row;
    std::set<std::tuple<std::string, std::string, std::string>> series;
  };
  std::map<std::string_view, Sum> metrics_;
  std::set<std::string> nodes_;
  std::map<std::string, std::int64_t> unknown_;
  report::ImportedMetrics out_;
};

class ImportCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    app.add_option("format", format_, "whose it is: Nsight Compute, PyTorch profiler, an exporter")
        ->type_name(fmt::format("{}", fmt::join(kImportFormats, "|")))
        ->required();
    app.add_option("from", from_, "a file; dcgm: or http://HOST:9400/metrics")
        ->type_name("FILE")
        ->required();
    app.add_option("--name", name_, "ncu, kineto: the profile's name (default: the file's)")
        ->type_name("NAME");
    app.add_option("--into", into_, "ncu, kineto: put the kernels into this profile of the store")
        ->type_name("ID|NAME");
    app.add_option("--gpu", gpu_, "ncu, kineto: the GPU model, where the file does not say")
        ->type_name("GPU");
    app.add_option("--top", top_, "ncu, kineto: so many kernels are shown (default 20)")
        ->type_name("N");
    app.add_option("--for", for_, "dcgm: ask again and again for so long (default once)")
        ->type_name("TIME");
    app.add_option("--interval", interval_, "dcgm: with --for, how often (default 1s)")
        ->type_name("TIME");
    app.add_option("--node", node_, "dcgm: whose samples they are where no label says it")
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

  Result<std::string> Kernels() {
    const auto file = platform::MappedFile::Open(from_);
    RETURN_IF_ERROR(file);
    auto read = format_ == "ncu" ? imports::ReadNcuText(file->text(), from_)
                                 : imports::ReadKinetoText(file->text(), from_);
    RETURN_IF_ERROR(read);
    read->created = platform::UnixNow();
    read->source = "import " + format_;
    read->name = name_.empty() ? std::filesystem::path(from_).stem().string() : name_;
    read->profile.workload.name = read->name;
    if (!gpu_.empty()) read->profile.gpu = gpu_;
    auto opened = into_.empty() ? store::Open(StorePlace(store_)) : OpenStoreThatIsThere(store_);
    RETURN_IF_ERROR(opened);
    ProfileRecord record = std::move(*read);
    if (!into_.empty()) {
      auto merged = Merged(**opened, std::move(record));
      RETURN_IF_ERROR(merged);
      record = std::move(*merged);
    }
    const auto id = (*opened)->Save(record);
    RETURN_IF_ERROR(id);
    record.id = *id;
    const core::KernelFigure whole = imports::WholeOf(record.kernels);
    if (json_) return report::KernelsJson(record, whole);
    return report::KernelsText(record, whole, most_) +
           fmt::format("\nstored as profile {} in {}\n", *id,
                       store::WithoutPassword(StorePlace(store_)));
  }

  // The stored profile with the new kernels and figures. What was measured without a profiler
  // stays.
  Result<ProfileRecord> Merged(store::Store& opened, ProfileRecord fresh) {
    store::ProfileFilter filter;
    std::int64_t id = 0;
    const char* end = into_.data() + into_.size();
    const auto [rest, error] = std::from_chars(into_.data(), end, id);
    if (error == std::errc() && rest == end) {
      filter.id = id;
    } else {
      filter.name = into_;
    }
    auto found = opened.Profiles(filter);
    RETURN_IF_ERROR(found);
    if (found->empty()) {
      return UsageError("--into: there is no profile {}; `sharewell profiles list` shows them",
                        core::Quoted(into_));
    }
    if (found->size() > 1) {
      return UsageError("--into: {} profiles are named {}; give the id of one ({} ...)",
                        found->size(), core::Quoted(into_), found->front().id);
    }
    ProfileRecord record = std::move(found->front());
    record.kernels = std::move(fresh.kernels);
    std::erase_if(record.figures, [&](const core::Figure& old) {
      return std::any_of(fresh.figures.begin(), fresh.figures.end(),
                         [&](const core::Figure& figure) { return figure.metric == old.metric; });
    });
    for (core::Figure& figure : fresh.figures) record.figures.push_back(std::move(figure));
    std::stable_sort(record.figures.begin(), record.figures.end(),
                     [](const core::Figure& a, const core::Figure& b) {
                       return std::tie(a.metric, a.instance) < std::tie(b.metric, b.instance);
                     });
    if (record.profile.gpu.empty()) record.profile.gpu = fresh.profile.gpu;
    for (const std::string& note : fresh.notes) {
      const std::string full = fresh.source + ": " + note;
      if (std::find(record.notes.begin(), record.notes.end(), full) == record.notes.end()) {
        record.notes.push_back(full);
      }
    }
    return record;
  }

  Result<std::string> Samples() {
    Tally tally;
    const auto end = steady_clock::now() + std::chrono::duration<double>(time_.value);
    auto next = steady_clock::now();
    for (bool first = true;; first = false) {
      auto samples = Scrape();
      // What fails at once will fail again; later it may be a restart.
      if (!samples && first) return tl::unexpected(samples.error());
      tally.Scraped(samples.has_value());
      if (samples) {
        if (first && samples->taken == 0) return NothingOfOurs(*samples);
        RETURN_IF_ERROR(Keep(*samples));
        tally.Add(*samples);
      } else {
        WriteErr(fmt::format("sharewell: {}\n", samples.error().message));
      }
      next += std::chrono::duration_cast<steady_clock::duration>(
          std::chrono::duration<double>(pause_.value));
      next = std::max(next, steady_clock::now());  // a slow answer delays, it does not pile up
      if (next >= end) break;
      std::this_thread::sleep_until(next);
    }
    const auto imported = std::move(tally).Take();
    if (json_) return report::ImportedJson(imported);
    return report::ImportedText(imported) +
           fmt::format("stored in {}\n", store::WithoutPassword(StorePlace(store_)));
  }

  Result<std::string> NothingOfOurs(const imports::ImportedSamples& samples) const {
    if (samples.blank > 0) {
      return UsageError("{}: all {} samples that we know have no value", core::Quoted(from_),
                        samples.blank);
    }
    return UsageError("{}: has no metric of dcgm-exporter, node_exporter or sharewell ({} others)",
                      core::Quoted(from_), samples.unknown.size());
  }

  Result<imports::ImportedSamples> Scrape() const {
    const auto parse = [this](std::string_view text, const std::string& node,
                              core::UnixMillis time) -> Result<imports::ImportedSamples> {
      const auto exposition = imports::ReadPrometheusText(text, from_);
      RETURN_IF_ERROR(exposition);
      return imports::FromSamples(*exposition, node_.empty() ? node : node_, time,
                                  collect::AllMetrics());
    };
    if (platform::LooksLikeUrl(from_)) {
      const auto body = platform::Fetch(
          {.url = from_, .headers = {"Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1"}});
      RETURN_IF_ERROR(body);
      const std::string host = platform::HostOfUrl(from_);
      const bool here = host == "localhost" || host == "::1" || host.starts_with("127.");
      return parse(*body, here ? ThisNode() : host, platform::UnixNow());
    }
    const auto file = platform::MappedFile::Open(from_);
    RETURN_IF_ERROR(file);
    struct stat status {};
    const bool known = ::stat(from_.c_str(), &status) == 0;
    return parse(
        file->text(), ThisNode(),
        known ? static_cast<core::UnixMillis>(status.st_mtime) * 1000 : platform::UnixNow());
  }

  Result<void> Keep(const imports::ImportedSamples& samples) {
    if (!opened_) {
      auto opened = store::Open(StorePlace(store_));
      RETURN_IF_ERROR(opened);
      opened_ = std::move(*opened);
    }
    for (const auto& [node, batch] : samples.batches) {
      if (auto ok = opened_->Append(node, batch); !ok) return ok;
    }
    return opened_->Sync();
  }

  std::string format_, from_, name_, into_, gpu_, for_, interval_, node_, store_;
  std::string top_ = "20";
  std::size_t most_ = 20;
  core::Seconds time_{0}, pause_{1};
  bool json_ = false;
  std::unique_ptr<store::Store> opened_;
};

}  // namespace

std::unique_ptr<Command> NewImportCommand() { return std::make_unique<ImportCommand>(); }

}  // namespace sharewell::cli
