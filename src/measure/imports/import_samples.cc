#include "measure/imports/import_samples.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "collect/metrics/metrics.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "import/dcgm.h"
#include "import/prometheus_text.h"
#include "platform/clock/wall_clock.h"
#include "platform/files/mapped_file.h"
#include "platform/net/http_client.h"

namespace sharewell::measure {
namespace {

using core::Result;
using core::UsageError;
using std::chrono::steady_clock;

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
        ImportedMetric& row = it->second.row;
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

  ImportedMetrics Take() && {
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
    ImportedMetric row;
    std::set<std::tuple<std::string, std::string, std::string>> series;
  };
  std::map<std::string_view, Sum> metrics_;
  std::set<std::string> nodes_;
  std::map<std::string, std::int64_t> unknown_;
  ImportedMetrics out_;
};

Result<imports::ImportedSamples> Read(std::string_view text, const SampleImport& asked,
                                      const std::string& node, core::UnixMillis time) {
  const auto exposition = imports::ReadPrometheusText(text, asked.from);
  RETURN_IF_ERROR(exposition);
  return imports::FromSamples(*exposition, asked.node.empty() ? node : asked.node, time,
                              collect::AllMetrics());
}

Result<imports::ImportedSamples> Scrape(const SampleImport& asked) {
  if (platform::LooksLikeUrl(asked.from)) {
    const auto body = platform::Fetch(
        {.url = asked.from, .headers = {"Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1"}});
    RETURN_IF_ERROR(body);
    const std::string host = platform::HostOfUrl(asked.from);
    const bool here = host == "localhost" || host == "::1" || host.starts_with("127.");
    return Read(*body, asked, here ? ThisNode() : host, platform::UnixNow());
  }
  const auto file = platform::MappedFile::Open(asked.from);
  RETURN_IF_ERROR(file);
  struct stat status {};
  const bool known = ::stat(asked.from.c_str(), &status) == 0;
  return Read(file->text(), asked, ThisNode(),
              known ? static_cast<core::UnixMillis>(status.st_mtime) * 1000 : platform::UnixNow());
}

tl::unexpected<core::Error> NothingOfOurs(const std::string& from,
                                          const imports::ImportedSamples& samples) {
  if (samples.blank > 0) {
    return UsageError("{}: none of its {} of known metrics has a value", core::Quoted(from),
                      core::Count(static_cast<std::uint64_t>(samples.blank), "sample"));
  }
  return UsageError("{}: has no metric of dcgm-exporter, node_exporter or sharewell ({} others)",
                    core::Quoted(from), samples.unknown.size());
}

}  // namespace

Result<ImportedMetrics> ImportSamples(const SampleImport& asked, const OpenStore& open,
                                      const std::function<void(const core::Error&)>& failed) {
  Tally tally;
  std::unique_ptr<store::Store> store;
  const auto end = steady_clock::now() + std::chrono::duration<double>(asked.duration.value);
  auto next = steady_clock::now();
  for (bool first = true;; first = false) {
    const auto samples = Scrape(asked);
    // What fails at once will fail again; later it may be a restart.
    if (!samples && first) return tl::unexpected(samples.error());
    tally.Scraped(samples.has_value());
    if (samples) {
      if (first && samples->taken == 0) return NothingOfOurs(asked.from, *samples);
      if (!store) {
        auto opened = open();
        RETURN_IF_ERROR(opened);
        store = std::move(*opened);
      }
      for (const auto& [node, batch] : samples->batches) {
        RETURN_IF_ERROR(store->Append(node, batch));
      }
      RETURN_IF_ERROR(store->Sync());
      tally.Add(*samples);
    } else {
      failed(samples.error());
    }
    next += std::chrono::duration_cast<steady_clock::duration>(
        std::chrono::duration<double>(asked.pause.value));
    next = std::max(next, steady_clock::now());  // a slow answer delays, it does not pile up
    if (next >= end) break;
    std::this_thread::sleep_until(next);
  }
  return std::move(tally).Take();
}

}  // namespace sharewell::measure
