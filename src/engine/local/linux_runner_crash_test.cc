// Many short runs, and servers that are killed at any moment: each run's end is known once, no
// command runs twice, and nothing is left over.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "engine/local/linux_runner.h"
#include "engine/local/run/job_folder.h"
#include "platform/files/test_folder.h"
#include "platform/process/descendants.h"
#include "testing/sanitized.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;
using core::Seconds;
using Clock = std::chrono::steady_clock;

// More for a person who looks for rare races: SHAREWELL_TEST_JOBS=10000.
int Many(int usual) {
  const char* set = std::getenv("SHAREWELL_TEST_JOBS");
  return set != nullptr ? std::max(1, std::atoi(set)) : usual;
}

constexpr std::size_t kAtOnce = 32;

LinuxRunnerOptions OptionsIn(const platform::TestFolder& folder) {
  LinuxRunnerOptions options;
  options.state = folder.Path("state");
  options.cpus = CpuRoom::LayoutHere({});
  return options;
}

RunRequest RequestFor(const platform::TestFolder& folder, std::int64_t job, int attempt,
                      std::string script) {
  RunRequest request;
  request.id = {job, attempt};
  request.user = {.name = "me", .uid = ::geteuid(), .gid = ::getegid(), .admin = false};
  request.asked.command = {"sh", "-c", std::move(script)};
  request.asked.folder = folder.path();
  request.asked.environment = {{"PATH", "/usr/bin:/bin"}};
  request.asked.gpus = 0;
  return request;
}

// Files open, and children that live or wait to be reaped.
std::pair<int, int> CountLeftovers() {
  int files = 0, children = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    files += entry.path().empty() ? 0 : 1;
  }
  for (const auto& entry : fs::directory_iterator("/proc")) {
    platform::ProcessStat stat;
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid > 0 && platform::ReadProcessStat(pid, stat) && stat.parent == ::getpid()) ++children;
  }
  return {files, children};
}

TEST(LinuxRunnerCrash, ManyShortRunsLeaveNothing) {
  const platform::TestFolder folder;
  const auto before = CountLeftovers();
  std::set<std::string> groups;
  const int jobs = Many(120);
  const std::vector<std::pair<std::string, int>> kinds{
      {"true", 0}, {"exit 1", 1}, {"sleep 0.05", 0}, {"kill -9 $$", 137}};
  {
    auto opened = LinuxRunner::Open(OptionsIn(folder));
    ASSERT_TRUE(opened) << opened.error().message;
    LinuxRunner& runner = **opened;
    std::map<RunId, int> ends;
    std::map<RunId, Clock::time_point> begun;
    std::vector<double> latencies;
    int started = 0, running = 0;
    const auto zero = Clock::now();
    while (static_cast<int>(ends.size()) < jobs) {
      for (; started < jobs && running < static_cast<int>(kAtOnce); ++started, ++running) {
        const auto& kind = kinds[static_cast<std::size_t>(started) % kinds.size()];
        begun[{started + 1, 1}] = Clock::now();
        runner.Start(RequestFor(folder, started + 1, 1, kind.first));
        const std::string run = folder.Path("state/jobs/") + std::to_string(started + 1) + ".1";
        if (const auto spec = engine::ReadSpec(run)) {
          for (const auto procs : spec->All("enter")) groups.emplace(procs);
        }
      }
      std::vector<RunEvent> events;
      runner.Wait(runner.Now() + Seconds(30), events);
      ASSERT_FALSE(events.empty());
      for (const RunEvent& event : events) {
        if (const auto* start = std::get_if<RunStarted>(&event)) {
          const std::chrono::duration<double> took = Clock::now() - begun[start->id];
          latencies.push_back(took.count());
        }
        const auto* ended = std::get_if<RunEnded>(&event);
        if (ended == nullptr) continue;
        const auto& [id, end] = *ended;
        EXPECT_EQ(ends.count(id), 0U) << id.job;
        ends[id] = end.exit_code;
        const auto index = static_cast<std::size_t>(id.job - 1) % kinds.size();
        EXPECT_EQ(end.exit_code, kinds[index].second) << id.job << end.message;
        runner.Forget(id);
        --running;
      }
    }
    const std::chrono::duration<double> took = Clock::now() - zero;
    std::sort(latencies.begin(), latencies.end());
    EXPECT_EQ(latencies.size(), static_cast<std::size_t>(jobs));
    std::cout << jobs << " jobs, " << kAtOnce << " at once: " << jobs / took.count()
              << " a second; start to running: median " << latencies[latencies.size() / 2] * 1e3
              << " ms, worst " << latencies.back() * 1e3 << " ms\n";
    const RunId alone{jobs + 1, 1};
    const auto from = Clock::now();
    runner.Start(RequestFor(folder, alone.job, 1, "true"));
    std::vector<RunEvent> events;
    runner.Wait(runner.Now() + Seconds(30), events);
    const std::chrono::duration<double> idle = Clock::now() - from;
    std::cout << "on an idle machine: " << idle.count() * 1e3 << " ms\n";
    while (!std::holds_alternative<RunEnded>(events.back()))
      runner.Wait(runner.Now() + Seconds(30), events);
    runner.Forget(alone);
    // Groups that were busy a moment longer go with the next look.
    events.clear();
    runner.Wait(runner.Now() + Seconds(1.2), events);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.Path("state/jobs")), {}), 1);  // the lock
  }
  EXPECT_EQ(CountLeftovers(), before);
  for (const std::string& procs : groups) EXPECT_FALSE(fs::exists(procs)) << procs;
}

// What a server is to its store, in little: what it does is written first, and known ends are not
// written again. Runs until all `jobs` have ended, or it is killed.
void Serve(const platform::TestFolder& folder, int jobs) {
  auto opened = LinuxRunner::Open(OptionsIn(folder));
  if (!opened) ::_exit(2);
  LinuxRunner& runner = **opened;
  std::map<std::int64_t, int> ends, attempts;
  const auto read = [&](const std::string& name, std::map<std::int64_t, int>& into) {
    std::ifstream in(folder.Path(name));
    for (std::int64_t job = 0, value = 0; in >> job >> value;) into[job] = static_cast<int>(value);
  };
  read("ends", ends);
  read("starts", attempts);
  const auto append = [&](const std::string& name, std::int64_t job, int value) {
    const std::string line = std::to_string(job) + " " + std::to_string(value) + "\n";
    std::ofstream(folder.Path(name), std::ios::app) << line;
  };
  std::set<std::int64_t> running;
  for (const RunRequest& request : runner.Recover()) running.insert(request.id.job);
  std::int64_t next = 1;
  while (static_cast<int>(ends.size()) < jobs) {
    for (; next <= jobs && running.size() < kAtOnce; ++next) {
      if (ends.contains(next) || running.contains(next)) continue;
      append("starts", next, ++attempts[next]);
      running.insert(next);
      runner.Start(
          RequestFor(folder, next, attempts[next],
                     "echo $SHAREWELL_JOB >> ran; sleep 0.03; exit " + std::to_string(next % 7)));
    }
    std::vector<RunEvent> events;
    runner.Wait(runner.Now() + Seconds(30), events);
    if (events.empty()) ::_exit(3);
    for (const RunEvent& event : events) {
      const auto* ended = std::get_if<RunEnded>(&event);
      if (ended == nullptr) continue;
      const std::int64_t job = ended->id.job;
      const bool known = ends.contains(job);
      if (!known) append("ends", job, ended->end.lost ? -1 : ended->end.exit_code);
      ends[job] = ended->end.exit_code;
      running.erase(job);
      runner.Forget(ended->id);
    }
  }
  opened->reset();  // groups that were busy a moment longer go
  ::_exit(0);
}

TEST(LinuxRunnerCrash, AServerKilledAtAnyMomentLosesAndDoublesNothing) {
  const platform::TestFolder folder;
  const int jobs = Many(fixtures::kSanitized ? 40 : 120);
  std::mt19937 chance(5);
  int kills = 0;
  const auto zero = Clock::now();
  for (bool done = false; !done;) {
    const pid_t server = ::fork();
    if (server == 0) Serve(folder, jobs);
    ASSERT_GT(server, 0);
    const auto until = Clock::now() + std::chrono::milliseconds(20 + chance() % 250);
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ended = ::waitpid(server, &status, WNOHANG);
    }
    if (ended == 0) {
      ::kill(server, SIGKILL);
      ::waitpid(server, &status, 0);
      ++kills;
    } else {
      ASSERT_EQ(status, 0);
      done = true;
    }
    ASSERT_LT(Clock::now() - zero, std::chrono::seconds(120));
  }
  const std::chrono::duration<double> took = Clock::now() - zero;
  std::cout << jobs << " jobs and " << kills << " killed servers in " << took.count() << " s\n";
  std::map<std::int64_t, int> ran, ends;
  std::ifstream in(folder.Path("ran"));
  for (std::int64_t job = 0; in >> job;) ++ran[job];
  std::ifstream told(folder.Path("ends"));
  for (std::int64_t job = 0, code = 0; told >> job >> code;) {
    EXPECT_TRUE(ends.emplace(job, static_cast<int>(code)).second) << job << " ended twice";
  }
  EXPECT_GT(kills, 1);
  for (std::int64_t job = 1; job <= jobs; ++job) {
    EXPECT_EQ(ran[job], 1) << job;
    EXPECT_EQ(ends[job], job % 7) << job;
  }
}

}  // namespace
}  // namespace sharewell::engine
