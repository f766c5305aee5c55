#include "server/learn/learning_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/job/most_lose.h"
#include "estimate/seen_needs.h"
#include "graph/graph_file.h"
#include "graph/run.h"
#include "server/learn/run_memory.h"

namespace sharewell::server {
namespace {

using predict::Figure;

constexpr const char* kOptimizerFact = "optimizer";

predict::Figures MeasuredOf(const core::Profile& profile) {
  predict::Figures out;
  const auto put = [&](Figure figure, std::optional<double> value) {
    const bool share = predict::IsShare(figure);
    if (value && std::isfinite(*value) && (share ? *value >= 0 && *value <= 1 : *value > 0)) {
      out[predict::Index(figure)] = *value;
    }
  };
  const auto plain = [](const auto& figure) {
    return figure ? std::optional<double>(figure->value) : std::nullopt;
  };
  put(Figure::kBusy, profile.busy);
  put(Figure::kSm, profile.sm);
  put(Figure::kDram, profile.dram);
  put(Figure::kMemory, plain(profile.gpu_memory));
  put(Figure::kPcie, plain(profile.pcie));
  put(Figure::kCores, profile.cpu_cores);
  put(Figure::kHostMemory, plain(profile.host_memory));
  put(Figure::kPower, plain(profile.power));
  if (profile.steps_per_second && *profile.steps_per_second > 0) {
    put(Figure::kStepSeconds, 1 / *profile.steps_per_second);
    if (profile.busy) put(Figure::kBusySeconds, *profile.busy / *profile.steps_per_second);
  }
  return out;
}

}  // namespace

std::optional<store::KeptRun> RunToKeep(const core::JobRecord& record, const core::Profile& seen) {
  // The model that it brought, or the step that it told: the latter is what really ran.
  const bool told = record.told && record.told->predicted && !record.told->predicted->graph.empty();
  const auto& needs = told ? record.told->predicted : record.asked.needs;
  const bool named = needs && !needs->graph.empty() && needs->profile.workload.batch > 0;
  const bool whole = !record.asked.sm_share || *record.asked.sm_share >= 1;
  if (!named || !whole || record.asked.gpus != 1 || record.gpus.size() != 1) return std::nullopt;
  store::KeptRun run;
  run.job = record.number;
  run.graph = needs->graph;
  core::ProfileRecord& kept = run.record;
  kept.name = core::DisplayName(record.asked);
  kept.created = record.ended.value_or(record.submitted);
  kept.source = "run";
  kept.user = record.user.name;
  kept.by_admin = record.user.admin;
  kept.profile = seen;
  kept.profile.workload = needs->profile.workload;
  kept.profile.gpu = record.gpus.front().model;
  kept.profile.cpu_curve.clear();
  // Of one that used all it was given nobody knows what it needs.
  if (seen.cpu_cores &&
      estimate::CoresNeeded(*seen.cpu_cores, record.cores, record.asked.gpus) > *seen.cpu_cores) {
    kept.profile.cpu_cores.reset();
  }
  kept.environment = {{kOptimizerFact, needs->optimizer.empty() ? "sgd" : needs->optimizer}};
  kept.exit_code = record.exit_code;
  kept.window = seen.steps_per_second && record.alone ? record.alone->over : record.run_time;
  const predict::Figures figures = MeasuredOf(kept.profile);
  bool any = false;
  for (const auto& figure : figures) any = any || figure.has_value();
  if (!any) return std::nullopt;
  return run;
}

namespace {

// The newest of each user's, so many at most.
std::vector<store::KeptRun> NewestOfEach(const std::vector<store::KeptRun>& runs,
                                         std::map<std::string, std::size_t> keep) {
  std::vector<store::KeptRun> out;
  for (auto it = runs.rbegin(); it != runs.rend(); ++it) {
    std::size_t& left = keep[it->record.user];
    if (left == 0) continue;
    --left;
    out.push_back(*it);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

Teachers ChooseTeachers(const std::vector<store::KeptRun>& runs, std::size_t least,
                        std::size_t most) {
  std::map<std::string, std::size_t> all, by_admins;
  for (const store::KeptRun& run : runs) {
    ++all[run.record.user];
    if (run.record.by_admin) ++by_admins[run.record.user];
  }
  Teachers teachers;
  // As many of each as the last of three users has, so that nobody weighs more than two others.
  constexpr std::size_t kUsers = kCorroborating + 1;
  std::vector<std::size_t> counts;
  for (const auto& [user, count] : all) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  if (counts.size() >= kUsers) {
    const std::size_t each =
        std::min(counts[kUsers - 1], std::max<std::size_t>(most / counts.size(), 1));
    std::map<std::string, std::size_t> keep;
    std::size_t left = 0;
    for (const auto& [user, count] : all) left += keep[user] = std::min(count, each);
    if (left >= least) {
      teachers.runs = NewestOfEach(runs, std::move(keep));
      teachers.several = true;
    }
  }
  if (teachers.runs.empty()) {
    for (const auto& [user, lose] : core::MostLose(by_admins, most)) by_admins[user] -= lose;
    std::vector<store::KeptRun> theirs;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(theirs),
                 [](const store::KeptRun& run) { return run.record.by_admin; });
    teachers.runs = NewestOfEach(theirs, std::move(by_admins));
  }
  std::set<std::string> users;
  for (const store::KeptRun& run : teachers.runs) users.insert(run.record.user);
  teachers.users.assign(users.begin(), users.end());
  return teachers;
}

const graph::Graph* GraphCache::Find(store::LearningStore& store, const std::string& digest,
                                     std::int64_t batch) {
  auto found = graphs_.find(digest);
  if (found == graphs_.end()) {
    std::optional<graph::Graph> graph;
    const auto text = store.Graph(digest);
    if (text && *text) {
      auto read = graph::ReadGraphFile(**text, "graph " + digest, {.batch = batch, .named = {}});
      if (read) graph = *std::move(read);
    }
    found = graphs_.emplace(digest, std::move(graph)).first;
  }
  return found->second ? &*found->second : nullptr;
}

void GraphCache::Trim(std::size_t most) {
  if (graphs_.size() > most) graphs_.clear();
}

LearningRows RowsOf(std::span<const store::KeptRun> runs, GraphCache& graphs,
                    store::LearningStore& store, const catalogue::GpuCatalogue& catalogue) {
  LearningRows out;
  std::map<std::string, const core::GpuModel*> models;
  for (const store::KeptRun& run : runs) {
    const core::Profile& profile = run.record.profile;
    auto [model, fresh] = models.try_emplace(profile.gpu, nullptr);
    if (fresh) {
      if (const auto found = catalogue.Find(profile.gpu)) {
        out.gpus.push_back(*found);
        model->second = &out.gpus.back();
      }
    }
    const graph::Graph* graph = graphs.Find(store, run.graph, profile.workload.batch);
    const auto precision = graph::ParsePrecision(profile.workload.precision);
    if (graph == nullptr || model->second == nullptr || !precision) {
      ++out.without_graph;
      continue;
    }
    predict::Row row;
    row.workload = run.graph;  // a name is the user's to choose, the graph is not
    row.family = profile.workload.name;
    row.precision_word = profile.workload.precision;
    row.query.graph = graph;
    row.query.gpu = model->second;
    row.query.workers = profile.workload.workers;
    row.query.run.precision = *precision;
    for (const auto& [fact, value] : run.record.environment) {
      if (fact != kOptimizerFact) continue;
      if (const auto optimizer = graph::ParseOptimizer(value)) row.query.run.optimizer = *optimizer;
    }
    row.measured = MeasuredOf(profile);
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace sharewell::server
