#include "server/live/step_reader.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <utility>

#include "core/result.h"
#include "platform/files/write_file.h"
#include "server/live/study_worker.h"

namespace sharewell::server {
namespace {

constexpr std::size_t kReadAtOnce = 2;        // processes
constexpr std::size_t kMostToldOfUser = 100;  // that wait
constexpr std::size_t kMostToldWaiting = 400;

}  // namespace

StepReader::StepReader(Learner& learner, const catalogue::GpuCatalogue& catalogue, Options options)
    : learner_(learner),
      catalogue_(catalogue),
      options_(std::move(options)),
      worker_(kReadAtOnce, kMostToldWaiting) {}

void StepReader::Stop() {
  stop_.Ask();
  worker_.Stop();
}

void StepReader::Read(const core::JobRecord& job, std::string document, Answer answer) {
  // Shared: std::function is copied, and the record may be large.
  struct Work {
    core::JobRecord job;
    std::string document;
    Answer answer;
  };
  const auto work = std::make_shared<Work>(Work{job, std::move(document), std::move(answer)});
  const auto taken = worker_.Put(job.user.name, kMostToldOfUser, [this, work] {
    ReadNow(work->job, work->document, work->answer);
  });
  if (taken == api::FairWorker::Taken::kYes) return;
  work->answer(core::FailedError(
      "too many of its user's jobs tell of their steps at once; this one is known as before"));
}

void StepReader::ReadNow(const core::JobRecord& job, const std::string& document,
                         const Answer& answer) {
  core::Result<core::Told> told = core::FailedError("it was read without a result");
  ToldAsk ask;
  ask.gpu = job.gpus.empty() ? options_.usual_gpu : job.gpus.front().model;
  if (job.asked.gpus > 0) ask.gpus = job.asked.gpus;
  try {
    told = ReadToldInWorker(learner_, ask, document, catalogue_, {.stop = stop_});
  } catch (const std::exception& exception) {
    told = core::FailedError("it was read without a result: {}", exception.what());
  }
  const std::string folder = told && options_.folder ? options_.folder(job) : std::string();
  // A job is not worse off without it.
  if (!folder.empty()) (void)platform::WriteFile(folder + "/" + kStepFile, document);
  if (!stop_.asked()) answer(std::move(told));
}

}  // namespace sharewell::server
