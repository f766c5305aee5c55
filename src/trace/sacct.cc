#include "trace/sacct.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/text/quoted.h"
#include "core/text/words.h"
#include "platform/files/text.h"
#include "trace/assemble.h"

namespace sharewell::trace {
namespace {

using platform::CsvReader;
using Column = CsvReader::Column;

constexpr double kShardsOfAGpu = 100;
constexpr std::size_t kMostTypesNamed = 8;

template <class T>
std::optional<T> SacctNumber(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// "2026-01-05T10:00:00" as if it were UTC, or seconds since 1970 (SLURM_TIME_FORMAT=%s). From 1970
// to 2286: what lies between two of them is a time that a trace can have.
std::optional<double> SacctTime(std::string_view text) {
  constexpr double kLatest = 9'999'999'999;
  if (const auto seconds = SacctNumber<std::int64_t>(text)) {
    if (*seconds <= 0 || static_cast<double>(*seconds) > kLatest) return std::nullopt;
    return static_cast<double>(*seconds);
  }
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t size) {
    return SacctNumber<unsigned>(text.substr(at, size));
  };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2), hour = part(11, 2),
             minute = part(14, 2), second = part(17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const double days = std::chrono::sys_days(date).time_since_epoch().count();
  const double seconds = days * 86400 + *hour * 3600 + *minute * 60 + *second;
  return seconds > 0 && seconds <= kLatest ? std::optional(seconds) : std::nullopt;
}

// "1500M", "2.5G", "123456K", "4194304": of bytes, where no letter says otherwise.
std::optional<core::Bytes> SacctMemory(std::string_view text) {
  double scale = 1;
  if (!text.empty()) {
    const std::size_t at = std::string_view("KMGTP").find(text.back());
    if (at != std::string_view::npos) {
      for (std::size_t i = 0; i <= at; ++i) scale *= 1024;
      text.remove_suffix(1);
    }
  }
  const auto value = SacctNumber<double>(text);
  if (!value || !(*value >= 0 && *value < 1e15)) return std::nullopt;
  return core::Bytes(*value * scale);
}

// "billing=3,cpu=3,gres/gpu:v100=2,gres/gpu=2,mem=4G,node=1".
struct SacctTres {
  std::optional<double> gpus;  // in all
  double shards = 0;
  std::vector<std::string> types;  // of GPU
  std::optional<core::Bytes> memory;
  bool bad = false;
};

SacctTres ParseTres(std::string_view text) {
  SacctTres out;
  double typed = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      out.bad = true;
      continue;
    }
    const std::string_view key = part.substr(0, equals), value = part.substr(equals + 1);
    const auto count = [&]() {
      const auto number = SacctNumber<std::int64_t>(value);
      if (!number || *number < 0 || *number > kMostGpus * 100) out.bad = true;
      return out.bad ? 0 : static_cast<double>(*number);
    };
    if (key == "gres/gpu") {
      out.gpus = count();
    } else if (key.starts_with("gres/gpu:")) {
      typed += count();
      out.types.emplace_back(key.substr(9));
    } else if (key == "gres/shard") {
      out.shards = count();
    } else if (key == "mem") {
      out.memory = SacctMemory(value);
    }
  }
  if (!out.gpus && typed > 0) out.gpus = typed;
  return out;
}

struct SacctColumns {
  explicit SacctColumns(CsvReader& csv)
      : id(csv.Require("JobID")),
        user(csv.Find("User")),
        partition(csv.Find("Partition")),
        state(csv.Require("State")),
        submit(csv.Require("Submit")),
        start(csv.Require("Start")),
        elapsed(csv.Require("ElapsedRaw")),
        cpus(csv.Find("AllocCPUS")),
        asked(csv.Find("ReqTRES")),
        given(csv.Find("AllocTRES")),
        rss(csv.Find("MaxRSS")) {}
  Column id, user, partition, state, submit, start, elapsed, cpus, asked, given, rss;
};

// A job with all its runs so far.
struct SacctJob {
  TraceJob job;
  bool over = false, ran = false;
  bool by_itself = false;  // its last run was completed
  int runs = 0;
  double lost = 0;  // GPU seconds of runs before the last
  std::vector<std::string> given_types;
  std::optional<core::Bytes> rss;
  bool only_asked = false, shards = false;
};

enum class SacctEnd { kWaits, kRuns, kCompleted, kOther };

SacctEnd EndOf(std::string_view state) {
  state = state.substr(0, state.find(' '));  // "CANCELLED by 1000"
  if (state == "PENDING") return SacctEnd::kWaits;
  for (const std::string_view live :
       {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STAGE_OUT"}) {
    if (state == live) return SacctEnd::kRuns;
  }
  return state == "COMPLETED" ? SacctEnd::kCompleted : SacctEnd::kOther;
}

class SacctReader {
 public:
  SacctReader(std::string_view text, const std::string& name, const std::string& partition)
      : csv_(text, name, {'|', false, {}}), columns_(csv_), name_(name), partition_(partition) {}

  core::Result<Trace> Read() {
    while (csv_.Next()) {
      const std::string id(csv_.RequiredText(columns_.id));
      if (id.find('.') != std::string::npos) {
        TakeStep(id.substr(0, id.find('.')));
      } else {
        TakeRun(id);
      }
    }
    if (!csv_.ok()) return csv_.error();
    Trace trace{"sacct", {}, {}};
    for (SacctJob& job : jobs_) Keep(job, trace);
    Remark(trace);
    if (trace.jobs.empty()) {
      return core::UsageError(
          "{}: no job in it has run to its end{}; ask sacct for a longer time, or for all users "
          "(sacct --allusers)",
          name_, others_ > 0 ? fmt::format(" in the partition {}", core::Quoted(partition_)) : "");
    }
    return Assemble(std::move(trace), name_);
  }

 private:
  void TakeStep(const std::string& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return;  // of a job that was left out
    const auto rss = SacctMemory(csv_.Text(columns_.rss));
    if (!rss || rss->value <= 0) return;
    auto& most = jobs_[found->second].rss;
    most = most ? std::max(*most, *rss) : *rss;
  }

  void TakeRun(const std::string& id) {
    if (!partition_.empty() && csv_.Text(columns_.partition) != partition_) {
      ++others_;
      return;
    }
    const SacctEnd end = EndOf(csv_.RequiredText(columns_.state));
    const auto submit = SacctTime(csv_.Text(columns_.submit));
    if (!submit) {
      csv_.Fail(columns_.submit, "is not a time like 2026-01-05T10:00:00");
      return;
    }
    const auto start = SacctTime(csv_.Text(columns_.start));
    const auto elapsed = csv_.OptionalInteger(columns_.elapsed, 0, 9'999'999'999);
    const auto [at, is_new] = by_id_.emplace(id, jobs_.size());
    if (is_new) {
      SacctJob& made = jobs_.emplace_back();
      made.job.line = csv_.line();
      made.job.id = id;
      made.job.user = csv_.Text(columns_.user);
      made.job.submit = core::Seconds(*submit);
    }
    SacctJob& job = jobs_[at->second];
    job.over = end == SacctEnd::kCompleted || end == SacctEnd::kOther;
    if (!job.over || !start || !elapsed || *elapsed == 0) return;
    if (job.ran) job.lost += job.job.duration->value * job.job.gpus;
    TakeResources(job);
    job.job.duration = core::Seconds(static_cast<double>(*elapsed));
    job.by_itself = end == SacctEnd::kCompleted;
    ++job.runs;
    if (job.ran) return;
    job.ran = true;
    const double waited = *start - job.job.submit.value;
    if (waited < 0) ++negative_;
    job.job.waited = core::Seconds(std::max(0.0, waited));
  }

  void TakeResources(SacctJob& job) {
    const SacctTres given = ParseTres(csv_.Text(columns_.given));
    const SacctTres asked = ParseTres(csv_.Text(columns_.asked));
    if (given.bad) csv_.Fail(columns_.given, "is not like billing=3,cpu=3,gres/gpu=2,mem=4G");
    if (asked.bad) csv_.Fail(columns_.asked, "is not like billing=3,cpu=3,gres/gpu=2,mem=4G");
    double gpus = given.gpus.value_or(0);
    const double shards = std::max(given.shards, asked.shards);
    job.only_asked = gpus == 0 && asked.gpus.value_or(0) > 0;
    if (job.only_asked) gpus = *asked.gpus;
    job.shards = gpus == 0 && shards > 0;
    if (job.shards)
      gpus = static_cast<double>(
          static_cast<std::int64_t>((shards + kShardsOfAGpu - 1) / kShardsOfAGpu));
    if (gpus > kMostGpus) csv_.Fail(columns_.given, "has more GPUs than any cluster");
    job.job.gpus = static_cast<int>(std::min<double>(gpus, kMostGpus));
    if (const auto cpus = csv_.OptionalInteger(columns_.cpus, 0, 100'000'000); cpus && *cpus > 0) {
      job.job.cores = static_cast<double>(*cpus);
    }
    const auto memory = given.memory ? given.memory : asked.memory;
    job.job.host_memory = memory && memory->value > 0 ? memory : std::nullopt;
    job.given_types = given.types;
    job.job.gpu_models.clear();
    for (const std::string& type : asked.types) {
      const std::string& model = ModelOf(type);
      if (model.empty()) {
        ++unknown_types_[type];
      } else if (std::find(job.job.gpu_models.begin(), job.job.gpu_models.end(), model) ==
                 job.job.gpu_models.end()) {
        job.job.gpu_models.push_back(model);
      }
    }
  }

  // The catalogue's name of it; empty: it has none. Each type is looked up once.
  const std::string& ModelOf(const std::string& type) {
    const auto [at, is_new] = models_.emplace(type, "");
    if (is_new) {
      if (!catalogue_) catalogue_ = catalogue::GpuCatalogue::Builtin();
      if (const auto model = catalogue_->Find(type)) at->second = model->name;
    }
    return at->second;
  }

  void Keep(SacctJob& job, Trace& trace) {
    if (!job.over) {
      ++live_;
      return;
    }
    if (!job.ran) {
      ++never_ran_;
      return;
    }
    any_gpu_ = any_gpu_ || job.job.gpus > 0;
    cut_short_ += job.by_itself ? 0 : 1;
    requeued_ += job.runs > 1 ? 1 : 0;
    lost_ += job.lost;
    only_asked_ += job.only_asked ? 1 : 0;
    shards_ += job.shards ? 1 : 0;
    tasks_ += job.job.id.find('_') != std::string::npos ? 1 : 0;
    parts_ += job.job.id.find('+') != std::string::npos ? 1 : 0;
    bound_ += job.job.gpu_models.empty() ? 0 : 1;
    for (const std::string& type : job.given_types) ++ran_on_[type];
    if (job.rss && job.job.host_memory) {
      used_.push_back(*job.rss / *job.job.host_memory);
    } else if (job.rss) {
      job.job.host_memory = job.rss;
      ++by_rss_;
    }
    trace.jobs.push_back(std::move(job.job));
  }

  static std::string TypesText(const std::map<std::string, std::size_t>& types) {
    std::vector<std::pair<std::size_t, std::string>> order;
    for (const auto& [type, jobs] : types) order.emplace_back(jobs, type);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (std::size_t i = 0; i < order.size() && i < kMostTypesNamed; ++i) {
      if (i > 0) text += ", ";
      text +=
          fmt::format("{} ({})", core::Quoted(order[i].second), core::Count(order[i].first, "job"));
    }
    if (order.size() > kMostTypesNamed) text += ", ...";
    return text;
  }

  void Remark(Trace& trace) const {
    const auto say = [&](std::string text) { trace.remarks.push_back(std::move(text)); };
    const auto jobs = [](std::size_t n) { return core::Count(n, "job"); };
    if (never_ran_ > 0) say(fmt::format("left out: {} that never ran", jobs(never_ran_)));
    if (live_ > 0)
      say(fmt::format("left out: {} that still {}", jobs(live_),
                      live_ == 1 ? "waits or runs" : "wait or run"));
    if (others_ > 0) {
      say(fmt::format("left out: {} of other partitions than {}", core::Count(others_, "run"),
                      core::Quoted(partition_)));
    }
    if (cut_short_ > 0) {
      say(
          fmt::format("{} failed, were cancelled or ran into their time limit: each is taken for "
                      "a job that takes as long as it ran",
                      jobs(cut_short_)));
    }
    if (requeued_ > 0) {
      say(
          fmt::format("{} ran more than once (requeued): the last run is taken for the whole of "
                      "the work, and {:.1f} GPU hours of earlier runs for lost",
                      jobs(requeued_), lost_ / 3600));
    }
    if (!any_gpu_) {
      say("no job has a GPU, so that all are taken for CPU-only jobs: Slurm counts GPUs only where "
          "slurm.conf has AccountingStorageTRES=gres/gpu");
    }
    if (only_asked_ > 0) {
      say(fmt::format("of {} AllocTRES tells no GPU: those asked for (ReqTRES) are taken",
                      jobs(only_asked_)));
    }
    if (shards_ > 0) {
      say(
          fmt::format("{} had shards instead of whole GPUs: each hundred, or a part of it, is "
                      "taken for one GPU",
                      jobs(shards_)));
    }
    if (bound_ > 0) {
      say(fmt::format("{} asked for a GPU model by name (ReqTRES) and stay on it", jobs(bound_)));
    }
    if (!unknown_types_.empty()) {
      say(
          fmt::format("types of GPU that are no known model bind nobody: {}; `sharewell gpus` "
                      "lists the models",
                      TypesText(unknown_types_)));
    }
    if (!ran_on_.empty()) {
      say(
          fmt::format("jobs ran on {}; each duration is taken as time on the first GPU model of "
                      "the cluster that is simulated",
                      TypesText(ran_on_)));
    }
    if (tasks_ > 0) say(fmt::format("{} are tasks of arrays, each a job of its own", jobs(tasks_)));
    if (parts_ > 0) {
      say(fmt::format("{} are parts of heterogeneous jobs, each taken for a job of its own",
                      jobs(parts_)));
    }
    if (negative_ > 0) {
      say(
          fmt::format("{} began before they were submitted by the clock on the wall (times have no "
                      "zone; summer time ends): they are taken as not having waited",
                      jobs(negative_)));
    }
    if (!used_.empty()) {
      double sum = 0;
      for (const double share : used_) sum += share;
      say(
          fmt::format("{} tell what host memory they used at most (MaxRSS): {:.0f} % of what they "
                      "asked for, on average; what they asked for is taken",
                      jobs(used_.size()), 100 * sum / static_cast<double>(used_.size())));
    }
    if (by_rss_ > 0) {
      say(fmt::format("of {} host memory is what they used at most (MaxRSS)", jobs(by_rss_)));
    }
    say("Slurm does not know what the jobs train, nor what GPU memory they need");
  }

  CsvReader csv_;
  SacctColumns columns_;
  const std::string& name_;
  const std::string& partition_;
  std::optional<catalogue::GpuCatalogue> catalogue_;  // once a type is asked for
  std::map<std::string, std::string> models_;         // by type
  std::vector<SacctJob> jobs_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::map<std::string, std::size_t> unknown_types_, ran_on_;  // runs, jobs
  std::vector<double> used_;  // of the host memory that was asked for
  double lost_ = 0;           // GPU seconds
  std::size_t others_ = 0, never_ran_ = 0, live_ = 0, cut_short_ = 0, requeued_ = 0,
              only_asked_ = 0, shards_ = 0, tasks_ = 0, parts_ = 0, bound_ = 0, negative_ = 0,
              by_rss_ = 0;
  bool any_gpu_ = false;
};

}  // namespace

bool DetectSacct(std::string_view text) {
  const std::string_view beginning = text.substr(0, 4096);
  const auto columns = platform::SplitList(beginning.substr(0, beginning.find('\n')), '|');
  for (const std::string_view name : {"JobID", "State", "Submit", "Start"}) {
    if (std::find(columns.begin(), columns.end(), name) == columns.end()) return false;
  }
  return true;
}

core::Result<Trace> ReadSacct(std::string_view text, const std::string& name) {
  return ReadSacct(text, name, "");
}

core::Result<Trace> ReadSacct(std::string_view text, const std::string& name,
                              const std::string& partition) {
  return SacctReader(text, name, partition).Read();
}

}  // namespace sharewell::trace
