// Runs tests/scenarios/*.scn and compares schedules. Format: README.md beside this file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/projects.h"
#include "core/result.h"
#include "simulation/simulate.h"
#include "testing/builders.h"

namespace sharewell {
namespace {

using core::Result;
using core::UsageError;
using Keys = std::map<std::string, std::string>;

struct Story {
  simulation::Scenario scenario;
  std::string policy = "slot";
  simulation::SimulateOptions options;
  std::vector<std::string> expected;
};

// Runs of blanks count as one.
std::string Squeezed(const std::string& line) {
  std::istringstream words(line);
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

double Number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

class Reader {
 public:
  Result<Story> Read(std::istream& in) {
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      line = Squeezed(line.substr(0, line.find('#')));
      if (line.empty()) continue;
      if (in_schedule_) {
        story_.expected.push_back(line);
        continue;
      }
      if (auto ok = Statement(line); !ok)
        return tl::unexpected(std::move(ok.error()).Within(fmt::format("line {}", number)));
    }
    return Take();
  }

 private:
  Result<void> Statement(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    std::vector<std::string> plain;
    Keys keys;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) {
        plain.push_back(word);
      } else {
        keys[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    if (what == "expect") {
      in_schedule_ = true;
    } else if (what == "policy" && plain.size() == 1) {
      story_.policy = plain[0];
    } else if (what == "model" && !plain.empty()) {
      models_.push_back(plain[0]);
      cluster_.Model(plain[0], plain.size() > 1 ? Number(plain[1]) : 16);
    } else if (what == "node" && !plain.empty()) {
      return Node(plain, keys);
    } else if (what == "job" && plain.size() == 1) {
      return Job(plain[0], keys);
    } else if (what == "pair" && plain.size() >= 3) {
      pairs_.push_back(plain);
    } else if (what == "project" && plain.size() == 1) {
      return Project(plain[0], keys);
    } else if (what == "option") {
      return Option(keys);
    } else {
      return UsageError("not understood: {}", line);
    }
    return {};
  }

  Result<std::size_t> ModelNamed(const std::string& name) const {
    const auto it = std::find(models_.begin(), models_.end(), name);
    if (it == models_.end()) return UsageError("no model {}", name);
    return static_cast<std::size_t>(it - models_.begin());
  }

  Result<void> Node(const std::vector<std::string>& plain, const Keys& keys) {
    std::size_t model = 0;
    if (plain.size() > 1) {
      const auto found = ModelNamed(plain[1]);
      if (!found) return tl::unexpected(found.error());
      model = *found;
    }
    cluster_.Node(static_cast<int>(Number(plain[0])), model);
    for (const auto& [key, value] : keys) {
      if (key == "cores") {
        cluster_.Cores(Number(value));
      } else if (key == "bandwidth") {
        cluster_.MemoryBandwidth(Number(value));
      } else if (key == "pcie") {
        cluster_.Pcie(Number(value));
      } else if (key == "network") {
        cluster_.Network(Number(value));
      } else {
        return UsageError("a node has no {}", key);
      }
    }
    return {};
  }

  Result<void> Job(const std::string& name, const Keys& keys) {
    fixtures::JobSpec job;
    job.name = name;
    const std::map<std::string, double*> numbers{
        {"seconds", &job.seconds}, {"submit", &job.submit}, {"busy", &job.busy},
        {"dram", &job.dram},       {"gib", &job.gib},       {"wants", &job.wants_cores},
        {"host", &job.host_gbps},  {"pcie", &job.pcie_gbps}};
    for (const auto& [key, value] : keys) {
      if (const auto it = numbers.find(key); it != numbers.end()) {
        *it->second = Number(value);
      } else if (key == "gpus") {
        job.gpus = static_cast<int>(Number(value));
      } else if (key == "sm") {
        job.sm = Number(value);
      } else if (key == "cores") {
        job.cores = Number(value);
      } else if (key == "restart") {
        job.restart_cost = Number(value);
      } else if (key == "exclusive") {
        job.exclusive = value == "1";
      } else if (key == "priority") {
        job.priority = static_cast<int>(Number(value));
      } else if (key == "user") {
        job.user = static_cast<std::size_t>(Number(value));
      } else if (key == "workload") {
        job.workload = static_cast<std::size_t>(Number(value));
      } else if (key == "rates") {
        std::istringstream all(value);
        for (std::string rate; std::getline(all, rate, ',');) job.rates.push_back(Number(rate));
      } else if (key == "only") {
        const auto model = ModelNamed(value);
        if (!model) return tl::unexpected(model.error());
        job.only.push_back(*model);
      } else {
        return UsageError("a job has no {}", key);
      }
    }
    if (!jobs_.empty() && job.submit < jobs_.back().submit)
      return UsageError("job {} is submitted before the one above it", name);
    jobs_.push_back(job);
    return {};
  }

  Result<void> Project(const std::string& name, const Keys& keys) {
    core::Project project{name, 0, {}};
    for (const auto& [key, value] : keys) {
      if (key == "share") {
        project.share = Number(value);
      } else if (key == "users") {
        std::istringstream all(value);
        for (std::string user; std::getline(all, user, ',');) {
          project.users.push_back("user" + user);
        }
      } else {
        return UsageError("a project has no {}", key);
      }
    }
    projects_.push_back(std::move(project));
    return {};
  }

  Result<void> Option(const Keys& keys) {
    auto& options = story_.options;
    for (const auto& [key, value] : keys) {
      if (key == "restart") {
        options.restart_cost = core::Seconds(Number(value));
      } else if (key == "max_slowdown") {
        options.policy.max_slowdown = Number(value);
      } else if (key == "max_jobs") {
        options.policy.max_jobs_on_gpu = static_cast<int>(Number(value));
      } else if (key == "patience") {
        options.policy.match_patience = Number(value);
      } else if (key == "figures") {
        figures_ = Number(value);
      } else if (key == "durations") {
        durations_ = value == "unknown" ? std::nullopt : std::optional(Number(value));
      } else if (key == "guard") {
        options.guard = value == "on";
      } else if (key == "reclaim") {
        reclaim_ = value == "on";
      } else if (key == "known") {
        options.known = Number(value);
      } else if (key == "unknown") {
        options.unknown_alone = value == "alone";
      } else if (key == "seed") {
        seed_ = static_cast<std::uint64_t>(Number(value));
      } else {
        return UsageError("there is no option {}", key);
      }
    }
    return {};
  }

  Result<Story> Take() {
    if (!in_schedule_) return UsageError("there is no schedule: end the file with 'expect'");
    auto& s = story_.scenario;
    s.cluster = cluster_.Build();
    std::size_t users = 0;
    std::size_t workloads = 0;
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      s.jobs.push_back(fixtures::JobOf(jobs_[j], j));
      s.truth.push_back(fixtures::TruthOf(jobs_[j], s.cluster));
      users = std::max(users, jobs_[j].user + 1);
      workloads = std::max(workloads, jobs_[j].workload.value_or(0) + 1);
    }
    for (std::size_t u = 0; u < users; ++u) s.users.push_back(fmt::format("user{}", u));
    for (core::Project& project : projects_) project.reclaims = reclaim_;
    simulation::CountToProjects(core::WithDefault(projects_), s);
    interference::PairTable pairs(s.cluster.models().size(), workloads);
    for (const auto& pair : pairs_) {
      const core::WorkloadId a(static_cast<std::size_t>(Number(pair[0])));
      const core::WorkloadId b(static_cast<std::size_t>(Number(pair[1])));
      if (a.index() >= workloads || b.index() >= workloads)
        return UsageError("pair {} {}: no job is of that workload", pair[0], pair[1]);
      if (pair[2] == "unfit") {
        pairs.AddUnfit(core::GpuModelId(0), a, b);
      } else if (pair.size() == 4) {
        pairs.Add(core::GpuModelId(0), a, b, Number(pair[2]), Number(pair[3]));
      } else {
        return UsageError("pair {} {}: give both speeds, or unfit", pair[0], pair[1]);
      }
    }
    s.interference = fixtures::WithoutResidual(std::move(pairs));
    story_.options.belief = {figures_, durations_, seed_};
    story_.options.keep_decisions = true;
    return std::move(story_);
  }

  Story story_;
  bool in_schedule_ = false;
  std::vector<std::string> models_;
  fixtures::ClusterBuilder cluster_;
  std::vector<fixtures::JobSpec> jobs_;
  std::vector<core::Project> projects_;
  bool reclaim_ = false;
  std::vector<std::vector<std::string>> pairs_;
  double figures_ = 0;
  std::optional<double> durations_ = 0;
  std::uint64_t seed_ = 1;
};

std::string Tenths(double x) {
  std::string text = fmt::format("{:.1f}", std::round(x * 10) / 10);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string Where(const core::Allocation& to) {
  std::string text = to.gpus.empty() ? fmt::format(" on node {}", to.node.value) : " on gpu";
  for (core::GpuId gpu : to.gpus) text += fmt::format(" {}", gpu.value);
  if (to.cores > 0) text += " cores " + Tenths(to.cores);
  return text;
}

std::vector<std::string> ScheduleOf(const simulation::Scenario& scenario,
                                    const simulation::Simulation& run) {
  // (time, ends before decisions, number): what happens at one instant is told in that order.
  std::map<std::tuple<double, int, std::size_t>, std::string> lines;
  const auto name = [&](core::JobId id) {
    return id.valid() ? scenario.jobs[id.index()].name : std::string();
  };
  for (std::size_t k = 0; k < run.decisions.size(); ++k) {
    const auto& row = run.decisions[k];
    const std::string what = row.what;
    std::string text = fmt::format("{} {} {}", Tenths(row.time.value), what, name(row.job));
    if (what == "start" || what == "move") text += Where(row.where);
    if (what == "resize") text += " cores " + Tenths(row.where.cores);
    if (what == "throttle") {
      const auto* slowed = std::get_if<core::reason::GivesWay>(&row.reason);
      text += fmt::format(" to {} %", Tenths((slowed != nullptr ? slowed->share : 1) * 100));
    }
    text += ": " + core::InWords(row.reason, name(core::OtherJob(row.reason)));
    lines[{row.time.value, 1, k}] = Squeezed(text);
  }
  using End = sim::JobOutcome::End;
  for (std::size_t j = 0; j < run.outcomes.size(); ++j) {
    const auto& outcome = run.outcomes[j];
    if (outcome.end != End::kFinished && outcome.end != End::kFailed) continue;
    std::string text =
        fmt::format("{} {} {}", Tenths(outcome.finish.value),
                    outcome.end == End::kFinished ? "finish" : "fail", scenario.jobs[j].name);
    if (outcome.ooms > 0) text += fmt::format(", ran out of memory {}x", outcome.ooms);
    lines[{outcome.finish.value, 0, j}] = std::move(text);
  }
  std::vector<std::string> schedule;
  for (auto& [key, line] : lines) schedule.push_back(std::move(line));
  return schedule;
}

// Longest common lines kept, the rest marked.
void PrintDifference(const std::vector<std::string>& expected,
                     const std::vector<std::string>& happened) {
  const std::size_t n = expected.size();
  const std::size_t m = happened.size();
  std::vector<std::vector<int>> common(n + 1, std::vector<int>(m + 1, 0));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      common[i][j] = expected[i] == happened[j] ? common[i + 1][j + 1] + 1
                                                : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && expected[i] == happened[j]) {
      fmt::print("    {}\n", expected[i]);
      ++i;
      ++j;
    } else if (j == m || (i < n && common[i + 1][j] >= common[i][j + 1])) {
      fmt::print("  - {}\n", expected[i++]);
    } else {
      fmt::print("  + {}\n", happened[j++]);
    }
  }
}

bool RunFile(const std::filesystem::path& path, bool print) {
  std::ifstream in(path);
  auto story = Reader().Read(in);
  if (!in.eof() || !story) {
    fmt::print("{}: {}\n", path.string(), story ? "cannot be read" : story.error().message);
    return false;
  }
  const auto run = simulation::Simulate(story->scenario, story->policy, story->options);
  if (!run) {
    fmt::print("{}: {}\n", path.string(), run.error().message);
    return false;
  }
  const auto happened = ScheduleOf(story->scenario, *run);
  if (print) {
    for (const auto& line : happened) fmt::print("{}\n", line);
    return true;
  }
  const bool same = happened == story->expected;
  fmt::print("{} {} ({})\n", same ? "ok    " : "DIFFERS", path.stem().string(), story->policy);
  if (!same) PrintDifference(story->expected, happened);
  return same;
}

int Main(std::vector<std::string> args) {
  const bool print = !args.empty() && args.front() == "--print";
  if (print) args.erase(args.begin());
  std::vector<std::filesystem::path> files;
  for (const auto& arg : args) {
    if (!std::filesystem::is_directory(arg)) {
      files.emplace_back(arg);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arg)) {
      if (entry.path().extension() == ".scn") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    fmt::print(stderr, "usage: scenario_runner [--print] FOLDER or FILE.scn ...\n");
    return 2;
  }
  int failed = 0;
  for (const auto& file : files) failed += RunFile(file, print) ? 0 : 1;
  if (!print) fmt::print("{} scenarios, {} differ\n", files.size(), failed);
  return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace sharewell

int main(int argc, char** argv) { return sharewell::Main({argv + 1, argv + argc}); }
