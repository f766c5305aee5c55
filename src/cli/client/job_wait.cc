#include "cli/client/job_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "cli/args/command.h"
#include "cli/terminal.h"
#include "core/result.h"

namespace sharewell::cli {
namespace {

using core::JobRecord;
using core::Result;
using std::chrono::steady_clock;

constexpr auto kPatienceWithServer = std::chrono::minutes(5);
constexpr auto kTryAgain = std::chrono::seconds(1);
// A short job is over before a stream of events would be open.
constexpr int kFirstLooks = 6;
constexpr auto kFirstLook = std::chrono::milliseconds(20);
constexpr auto kOpened = std::chrono::seconds(1);
constexpr std::size_t kFew = 8;
constexpr std::size_t kMostLive = 100'000;
constexpr core::Seconds kOneStream{60};  // then we look whether an event was missed

class JobWaiter {
 public:
  JobWaiter(const ServerClient& client, const std::vector<std::int64_t>& numbers)
      : client_(client), left_(numbers.begin(), numbers.end()) {}

  Result<void> Wait() {
    auto heard = steady_clock::now();
    bool told = false;
    for (int look = 0; !left_.empty(); ++look) {
      auto ok = LookAtAll();
      if (left_.empty()) break;
      if (ok && look < kFirstLooks && left_.size() <= kFew) {
        std::this_thread::sleep_for(kFirstLook * (1 << look));
        continue;
      }
      if (ok) ok = Listen();
      if (ok) {
        heard = steady_clock::now();
        told = false;
        continue;
      }
      if (ok.error().kind == core::ErrorKind::kUsage) return ok;
      if (steady_clock::now() - heard > kPatienceWithServer) return ok;
      if (!told) WriteErr("the server does not answer; waiting for it (the job keeps running)\n");
      told = true;
      std::this_thread::sleep_for(kTryAgain);
    }
    return {};
  }

  std::map<std::int64_t, JobRecord> over;

 private:
  Result<void> Look(std::int64_t number) {
    auto job = client_.Job(number);
    RETURN_IF_ERROR(job);
    if (!core::IsOver(job->phase)) return {};
    left_.erase(number);
    over.insert_or_assign(number, std::move(*job));
    return {};
  }

  Result<void> LookAtAll() {
    std::set<std::int64_t> ended = left_;
    if (left_.size() > kFew) {  // of a sweep only those are asked for that are no longer live
      const auto live = client_.Jobs("live=1", kMostLive);
      RETURN_IF_ERROR(live);
      for (const JobRecord& job : live->jobs) ended.erase(job.number);
    }
    for (const std::int64_t number : ended) {
      if (auto ok = Look(number); !ok) return ok;
    }
    return {};
  }

  // Until all are over, or it is time to look again.
  Result<void> Listen() {
    Result<void> looked;
    const auto begun = steady_clock::now();
    bool look = true;  // at what ended before the stream was open, or fell into a gap of it
    const auto go_on = [&] { return looked && !left_.empty(); };
    const auto streamed = client_.Events(
        left_.size() == 1 ? *left_.begin() : 0, kOneStream,
        [&](const core::Event& event) {
          look = look || event.kind == "gap";
          if (left_.contains(event.job)) looked = Look(event.job);
          return go_on();
        },
        [&] {
          if (look && steady_clock::now() - begun > kOpened) {
            look = false;
            looked = LookAtAll();
          }
          return go_on();
        });
    if (!looked) return looked;
    const bool time_is_up = !streamed && streamed.error().cause == core::ErrorCause::kTooSlow;
    return time_is_up ? Result<void>() : streamed;
  }

  const ServerClient& client_;
  std::set<std::int64_t> left_;
};

}  // namespace

Result<std::vector<JobRecord>> WaitForJobs(const ServerClient& client,
                                           const std::vector<std::int64_t>& numbers) {
  SayOnInterrupt(
      numbers.size() == 1
          ? fmt::format("\njob {0} keeps running: `sharewell logs -f {0}` shows its output, "
                        "`sharewell cancel {0}` stops it\n",
                        numbers[0])
          : fmt::format("\n{} jobs keep running: `sharewell jobs` lists them\n", numbers.size()));
  JobWaiter waiter(client, numbers);
  RETURN_IF_ERROR(waiter.Wait());
  std::vector<JobRecord> jobs;
  for (const std::int64_t number : numbers) jobs.push_back(std::move(waiter.over.at(number)));
  return jobs;
}

int ExitCodeOf(const std::vector<JobRecord>& jobs) {
  for (const JobRecord& job : jobs) {
    if (job.phase == core::Phase::kFinished) continue;
    const int code = job.exit_code.value_or(kFailed);
    return code == 0 ? kFailed : code;  // cancelled, or ended by us, after all was done
  }
  return kOk;
}

}  // namespace sharewell::cli
