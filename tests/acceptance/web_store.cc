// web_store STORE STATE NODE: fills a new store as a server with a thousand GPUs would have it
// after a day: 3,800 jobs that are over, and samples of every GPU and of each job. For
// tests/web/load.mjs. Everything goes through the program's own store.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/job_metrics.h"
#include "core/job/job_record.h"
#include "core/numbers/random.h"
#include "platform/clock/wall_clock.h"
#include "server/settings/state_folder.h"
#include "store/job_store.h"
#include "store/store.h"

namespace sharewell {
namespace {

using core::UnixMillis;

constexpr int kGpus = 1000, kJobs = 3800;
constexpr UnixMillis kDay = 86'400'000, kEvery = 30'000;
constexpr UnixMillis kSyncs = 20;          // one in so many batches
constexpr int kSlots = kJobs / kGpus + 1;  // one after the other on each GPU

struct Life {
  std::int64_t number = 0;
  int gpu = 0;
  UnixMillis from = 0, to = 0;
};

std::vector<Life> Lives(UnixMillis begin) {
  std::vector<Life> lives;
  for (int i = 0; i < kJobs; ++i) {
    const UnixMillis slot = kDay / kSlots;
    const UnixMillis from =
        begin + (i / kGpus) * slot +
        static_cast<UnixMillis>(core::Mix(static_cast<std::uint64_t>(i)) % 1'000'000);
    lives.push_back({i + 1, i % kGpus, from, from + slot * 3 / 4});
  }
  return lives;
}

core::JobRecord RecordOf(const Life& life, const std::string& user) {
  core::JobRecord job;
  job.number = life.number;
  job.user = {user, ::geteuid(), ::getegid(), false};
  job.asked.name = fmt::format("train-{}", life.number % 40);
  job.asked.command = {"python3", "train.py", "--seed", fmt::format("{}", life.number)};
  job.asked.folder = "/tmp";
  job.phase = life.number % 17 == 0 ? core::Phase::kFailed : core::Phase::kFinished;
  job.submitted = life.from - 60'000;
  job.started = job.resumed = life.from;
  job.ended = life.to;
  job.attempt = 1;
  job.gpus = {{life.gpu, fmt::format("simulated-{}", life.gpu), "H200"}};
  job.cores = 4;
  job.exit_code = job.phase == core::Phase::kFinished ? 0 : 1;
  job.alone_time = job.run_time = core::Seconds(static_cast<double>(life.to - life.from) / 1e3);
  core::Needs& needs = job.believed;
  needs.sources = core::Sources::All(core::Source::kPredicted);
  needs.from = "resnet50.onnx at batch 64";
  needs.profile.gpu = "H200";
  needs.profile.busy = 0.6;
  needs.profile.sm = 0.4;
  needs.profile.dram = 0.3;
  needs.profile.gpu_memory = core::Bytes(2e10);
  needs.gpu_memory_upper = core::Bytes(2.4e10);
  needs.profile.cpu_cores = 3;
  job.seen.cores = 2.8;
  job.seen.gpu_memory = core::Bytes(2.1e10);
  return job;
}

core::Result<void> WriteJobs(const std::string& place, const std::string& key,
                             const std::vector<Life>& lives) {
  auto jobs = store::OpenJobs(place, key);
  RETURN_IF_ERROR(jobs);
  store::JobChanges changes;
  std::int64_t event = 0;
  for (const Life& life : lives) {
    changes.jobs.push_back(RecordOf(life, fmt::format("user{}", life.number % 25)));
    for (const char* kind : {"job.submitted", "job.started", "job.finished"}) {
      changes.events.push_back({++event, life.from, kind, life.number, "of the past day"});
    }
  }
  return (*jobs)->Write(changes);
}

core::Result<void> WriteSamples(const std::string& place, const std::string& node,
                                const std::vector<Life>& lives, UnixMillis begin) {
  auto store = store::Open(place);
  RETURN_IF_ERROR(store);
  std::uint64_t draw = 1;
  std::vector<std::string> names;
  for (int gpu = 0; gpu < kGpus; ++gpu) names.push_back(fmt::format("{}", gpu));
  core::Batch batch;
  for (UnixMillis time = begin; time < begin + kDay; time += kEvery) {
    batch.time = time;
    batch.readings.clear();
    for (const std::string& gpu : names) {
      const auto noise = [&draw] {
        return std::round(core::Uniform(core::Mix(draw++)) * 100) / 100;
      };
      batch.readings.push_back({&collect::kGpuBusy, gpu, {}, noise()});
      batch.readings.push_back({&collect::kGpuSm, gpu, {}, noise() / 2});
      batch.readings.push_back({&collect::kGpuMemoryUsed, gpu, {}, 2e10});
      batch.readings.push_back({&collect::kGpuPower, gpu, {}, std::round(300 + 200 * noise())});
      batch.readings.push_back({&collect::kGpuTemperature, gpu, {}, std::round(50 + 9 * noise())});
    }
    for (const Life& life : lives) {
      if (time < life.from || time >= life.to) continue;
      const std::string name = fmt::format("job {}", life.number);
      batch.readings.push_back({&collect::kJobCores, {}, name, 3});
      batch.readings.push_back({&collect::kJobResidentBytes, {}, name, 4e9});
    }
    RETURN_IF_ERROR((*store)->Append(node, batch));
    if (time / kEvery % kSyncs == 0) RETURN_IF_ERROR((*store)->Sync());
  }
  RETURN_IF_ERROR((*store)->Sync());
  return (*store)->Tidy(begin + kDay, {});
}

core::Result<void> Fill(const std::string& place, const std::string& state,
                        const std::string& node) {
  std::string key;
  if (::geteuid() == 0) {
    auto own = server::SealKey(state);
    RETURN_IF_ERROR(own);
    key = std::move(*own);
  }
  const UnixMillis begin = platform::UnixNow() - kDay - 600'000;
  const std::vector<Life> lives = Lives(begin);
  RETURN_IF_ERROR(WriteJobs(place, key, lives));
  return WriteSamples(place, node, lives, begin);
}

}  // namespace
}  // namespace sharewell

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("web_store STORE STATE NODE\n", stderr);
    return 2;
  }
  const auto done = sharewell::Fill(argv[1], argv[2], argv[3]);
  if (done) return 0;
  std::fprintf(stderr, "web_store: %s\n", done.error().message.c_str());
  return 1;
}
