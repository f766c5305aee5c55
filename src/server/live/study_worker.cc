#include "server/live/study_worker.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "advice/model_file.h"
#include "advice/predicted_needs.h"
#include "core/text/quoted.h"
#include "graph/step/told_step.h"
#include "json/needs_json.h"
#include "json/value.h"
#include "json/writer.h"
#include "report/text/format.h"
#include "store/jobs/told_json.h"

namespace sharewell::server {
namespace {

using core::Result;
using platform::WorkDone;
using SteadyClock = std::chrono::steady_clock;

constexpr double kGiB = double{1 << 30};
constexpr auto kTellEvery = std::chrono::milliseconds(50);

core::Bytes PartOfMachine(double part, double least, double most) {
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return core::Bytes(std::clamp(all * part, least, most));
}

// Texts as one, and again as they were.
std::string Packed(const std::vector<std::string_view>& texts) {
  std::string all;
  for (const std::string_view text : texts) {
    const std::uint64_t size = text.size();
    all.append(reinterpret_cast<const char*>(&size), sizeof size);
    all.append(text);
  }
  return all;
}

std::vector<std::string> Unpacked(std::string_view all) {
  std::vector<std::string> texts;
  std::uint64_t size = 0;
  while (all.size() >= sizeof size) {
    std::memcpy(&size, all.data(), sizeof size);
    all.remove_prefix(sizeof size);
    if (size > all.size()) break;
    texts.emplace_back(all.substr(0, size));
    all.remove_prefix(size);
  }
  return texts;
}

// An answer or an error, as it comes from the other process.
std::string Told(const Result<std::string>& result) {
  if (result) return "+" + *result;
  return fmt::format("{}{}", static_cast<int>(result.error().kind), result.error().message);
}

Result<std::string> Heard(std::string text) {
  if (text.empty()) return core::FailedError("the study ended without a result");
  const char first = text.front();
  text.erase(0, 1);
  if (first == '+') return text;
  if (first == '0' + static_cast<int>(core::ErrorKind::kUsage)) {
    return core::UsageError("{}", text);
  }
  auto error = core::FailedError("{}", text);
  if (first == '0' + static_cast<int>(core::ErrorKind::kAbsent)) {
    error.value().kind = core::ErrorKind::kAbsent;
  }
  return error;
}

tl::unexpected<core::Error> BeyondBounds(const StudyKind& kind, const WorkDone& done) {
  const auto beyond = [&](const std::string& bound) {
    return core::UsageError(
        "{} needs more than {}, which is all that one study may have on the server, so that nobody "
        "else's has to wait for it: run it yourself with {}, which has no such bound",
        kind.what, bound, kind.instead);
  };
  switch (done.end) {
    case WorkDone::End::kMemory:
      return beyond(fmt::format("{} of memory", report::Size(kind.bounds.memory)));
    case WorkDone::End::kCpu:
      return beyond(fmt::format("{:.0f} seconds of CPU time", kind.bounds.cpu.value));
    case WorkDone::End::kWall:
      return beyond(fmt::format("{:.0f} seconds", kind.bounds.wall.value));
    case WorkDone::End::kStopped:
      return core::FailedError("{} was ended, because its client left or the server stops",
                               kind.what);
    case WorkDone::End::kAnswered:
    case WorkDone::End::kFailed:
      break;
  }
  return core::FailedError("{} ended without a result: {}; run it yourself with {} to see more",
                           kind.what, done.why, kind.instead);
}

// Few enough that they cost nothing, however many jobs end.
api::WhatIfProgress TellingNowAndThen(const platform::TellWork& tell) {
  return [tell, last = SteadyClock::time_point()](std::size_t policy, std::size_t done,
                                                  std::size_t of) mutable {
    const auto now = SteadyClock::now();
    if (now - last < kTellEvery) return;
    last = now;
    const std::array<std::uint64_t, 3> numbers{policy, done, of};
    tell({reinterpret_cast<const char*>(numbers.data()), sizeof numbers});
  };
}

// Pairs of cores and the share of its speed that a job has with them.
void WriteCoreCurve(json::Writer& writer, const predict::Prediction& prediction) {
  writer.Key("core_curve");
  writer.List([&] {
    for (const double cores : {0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0}) {
      writer.Raw(fmt::format("[{},{:.6g}]", cores, 1 / std::max(1.0, prediction.Stretch(cores))));
    }
  });
}

std::string PredictionJson(const core::Needs& needs, const predict::Prediction& prediction) {
  std::string json;
  json::Writer writer(json);
  writer.Object([&] {
    writer.Field("schema", 1);
    writer.Key("needs");
    json::WriteNeeds(writer, needs);
    WriteCoreCurve(writer, prediction);
  });
  return json;
}

// The answer where the graph is kept, the one where it is not, and the graph's digest and text;
// the last two are absent where it cannot be kept.
Result<std::string> PredictHere(const predict::Predictor& predictor, bool retrained,
                                const advice::PredictionAsk& ask,
                                const catalogue::GpuCatalogue& catalogue, const std::string& name) {
  auto row = advice::PredictOne(ask, predictor, catalogue);
  RETURN_IF_ERROR(row);
  row->ask.model = name;
  core::Needs needs = advice::NeedsFrom(*row);
  const std::string without = PredictionJson(needs, row->prediction);
  const auto graph = advice::ReadModel(ask.model, {.batch = row->ask.batch, .named = ask.bind});
  const auto kept = graph ? GraphToKeep(*graph) : std::nullopt;
  if (!kept) return Packed({without, without});
  needs.graph = kept->digest;
  needs.optimizer = row->ask.optimizer;
  needs.retrained = retrained;
  if (retrained) needs.from += ", learnt from runs here";
  return Packed({PredictionJson(needs, row->prediction), without, kept->digest, kept->text});
}

}  // namespace

ModelInMemory::ModelInMemory(std::string_view bytes)
    : fd(::memfd_create("sharewell-model", MFD_CLOEXEC)) {
  while (fd >= 0 && !bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      ::close(fd);
      fd = -1;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

ModelInMemory::~ModelInMemory() {
  if (fd >= 0) ::close(fd);
}

StudyKind PredictionKind() {
  return {"the prediction",
          "`sharewell predict`",
          {.memory = PartOfMachine(1.0 / 16, kGiB / 2, kGiB * 1.5),
           .cpu = core::Seconds(30),
           .wall = core::Seconds(60)}};
}

// Nobody waits for it, and any job can ask for it.
StudyKind ToldKind() {
  StudyKind kind = PredictionKind();
  kind.what = "what a job told of its step";
  kind.instead = "`sharewell predict step.json`";
  kind.bounds.cpu = core::Seconds(10);
  return kind;
}

StudyKind ForecastKind() {
  return {"the forecast",
          "`sharewell simulate` on a trace of these jobs",
          {.memory = PartOfMachine(1.0 / 16, kGiB / 2, kGiB),
           .cpu = core::Seconds(30),
           .wall = core::Seconds(60)}};
}

StudyKind SimulationKind() {
  return {"the simulation",
          "`sharewell simulate`",
          {.memory = PartOfMachine(1.0 / 8, kGiB / 2, kGiB * 2),
           .cpu = core::Seconds(300),
           .wall = core::Seconds(600)}};
}

Result<std::string> InWorker(const StudyKind& kind, const api::StudyRun& run, const StudyWork& work,
                             const api::WhatIfProgress& progress, std::span<const int> files) {
  const auto told = [&](std::string_view bytes) {
    std::array<std::uint64_t, 3> numbers{};
    if (!progress || bytes.size() != sizeof numbers) return;
    std::memcpy(numbers.data(), bytes.data(), sizeof numbers);
    progress(numbers[0], numbers[1], numbers[2]);
  };
  const auto work_there = [&](const platform::TellWork& tell) {
    try {
      return Told(work(progress ? TellingNowAndThen(tell) : api::WhatIfProgress()));
    } catch (const std::bad_alloc&) {
      throw;  // of that the bounds tell
    } catch (const std::exception& exception) {
      return Told(core::FailedError("the study ended without a result: {}", exception.what()));
    }
  };
  WorkDone done = platform::DoBounded(kind.bounds, run.stop, work_there, told, files);
  if (run.charge) run.charge(done.cpu);
  if (done.end != WorkDone::End::kAnswered) return BeyondBounds(kind, done);
  return Heard(std::move(done.answer));
}

Result<std::string> PredictInWorker(Learner& learner, advice::PredictionAsk ask, int file,
                                    const catalogue::GpuCatalogue& catalogue,
                                    const std::string& name, const api::StudyRun& run) {
  // Asked before it is used: another may take its place meanwhile.
  const bool retrained = learner.IsRetrained();
  const auto model = learner.InUse();
  ask.model = fmt::format("/proc/self/fd/{}", file);
  ask.shown = core::Quoted(name);
  const std::array<int, 1> files{file};
  auto answer = InWorker(
      PredictionKind(), run,
      [&](const api::WhatIfProgress&) {
        return PredictHere(model->predictor, retrained, ask, catalogue, name);
      },
      {}, files);
  RETURN_IF_ERROR(answer);
  std::vector<std::string> parts = Unpacked(*answer);
  if (parts.size() < 2) return core::FailedError("the prediction ended without a result");
  store::KeptGraph graph;
  if (parts.size() == 4) {
    graph.digest = std::move(parts[2]);
    graph.text = std::move(parts[3]);
  }
  const bool kept = parts.size() == 4 && !learner.KeepGraph(std::move(graph)).empty();
  return std::move(parts[kept ? 0 : 1]);
}

namespace {

core::Told FactsOf(const graph::ToldStep& step) {
  const auto number = [](const std::optional<std::int64_t>& whole) {
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
  };
  core::Told told;
  const graph::Fingerprint fingerprint = graph::FingerprintOf(step);
  told.fingerprint = fingerprint.workload;
  told.model_fingerprint = fingerprint.model;
  told.framework = step.framework;
  told.python = step.python;
  told.device = step.device;
  told.modules = step.modules;
  told.optimizer = step.optimizer;
  told.optimizer_style = step.optimizer_style;
  told.precision = step.precision;
  told.autocast = step.autocast;
  told.parallel = step.parallel;
  told.batch = number(step.batch);
  told.accumulation = number(step.accumulation);
  told.optimizers = number(step.optimizers);
  told.workers = number(step.workers);
  told.world_size = number(step.world_size);
  told.parameters = step.parameters;
  told.trainable = step.trainable;
  told.grad_scaler = step.grad_scaler;
  told.compiled = step.compiled;
  told.channels_last = step.channels_last;
  told.checkpointing = step.checkpointing;
  told.cuda_graphs = step.cuda_graphs;
  if (step.memory.peak) told.peak = core::Bytes(*step.memory.peak);
  return told;
}

// What of the step a prediction asks for by name; its operators say the rest.
advice::PredictionAsk AskFor(const core::Told& told, const ToldAsk& on, int file) {
  constexpr double kMostBatch = 1e6, kMostWorkers = 1024;
  advice::PredictionAsk ask;
  ask.model = fmt::format("/proc/self/fd/{}", file);
  ask.shown = "the told step";
  ask.gpu = on.gpu;
  ask.gpus = on.gpus;
  ask.batch = static_cast<std::int64_t>(std::clamp(told.batch.value_or(1), 1.0, kMostBatch));
  ask.workers = static_cast<int>(std::clamp(told.workers.value_or(0), 0.0, kMostWorkers));
  // As `predict --precision` has them: what autocast computes in, else what the weights are in.
  const std::string& words = told.autocast.empty() ? told.precision : told.autocast;
  for (const char* known : {"fp32", "tf32", "bf16", "fp16"}) {
    if (words == known) ask.precision = known;
  }
  std::string optimizer = told.optimizer;
  std::transform(optimizer.begin(), optimizer.end(), optimizer.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (graph::ParseOptimizer(optimizer)) ask.optimizer = optimizer;
  return ask;
}

std::string ToldText(const core::Told& told) {
  std::string json;
  json::Writer writer(json);
  store::WriteTold(writer, told);
  return json;
}

// What was told, with what is predicted where the graph is kept, and where it is not; then the
// graph, where it can be kept.
Result<std::string> ReadToldHere(const predict::Predictor& predictor, bool retrained,
                                 const ToldAsk& on, const std::string& document, int file,
                                 const catalogue::GpuCatalogue& catalogue) {
  const auto step = graph::ReadToldStep(document);
  RETURN_IF_ERROR(step);
  core::Told told = FactsOf(*step);
  const advice::PredictionAsk ask = AskFor(told, on, file);
  const std::string name = told.modules.empty() ? "its step" : told.modules.substr(0, 60);
  const auto answer = PredictHere(predictor, retrained, ask, catalogue, name);
  if (!answer) {
    told.not_predicted = answer.error().message.substr(0, 300);
    return Packed({ToldText(told)});
  }
  const std::vector<std::string> parts = Unpacked(*answer);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 2 && i < parts.size(); ++i) {
    auto needs = NeedsIn(parts[i]);
    RETURN_IF_ERROR(needs);
    needs->from = fmt::format("the step that it told, {} at batch {}", name, ask.batch);
    if (needs->retrained) needs->from += ", learnt from runs here";
    needs->profile.workload.name = name;
    told.predicted = std::move(*needs);
    texts.push_back(ToldText(told));
  }
  for (std::size_t i = 2; i < parts.size(); ++i) texts.push_back(parts[i]);
  return Packed({texts.begin(), texts.end()});
}

}  // namespace

Result<core::Told> ReadToldInWorker(Learner& learner, const ToldAsk& ask,
                                    const std::string& document,
                                    const catalogue::GpuCatalogue& catalogue,
                                    const api::StudyRun& run) {
  const bool retrained = learner.IsRetrained();
  const auto model = learner.InUse();
  const ModelInMemory file(document);
  if (file.fd < 0) {
    return core::FailedError("there is no memory for the told step: {}", std::strerror(errno));
  }
  const std::array<int, 1> files{file.fd};
  const auto answer = InWorker(
      ToldKind(), run,
      [&](const api::WhatIfProgress&) {
        return ReadToldHere(model->predictor, retrained, ask, document, file.fd, catalogue);
      },
      {}, files);
  RETURN_IF_ERROR(answer);
  std::vector<std::string> parts = Unpacked(*answer);
  if (parts.empty()) return core::FailedError("the told step was read without a result");
  bool kept = true;
  if (parts.size() == 4) {
    store::KeptGraph graph;
    graph.digest = std::move(parts[2]);
    graph.text = std::move(parts[3]);
    kept = !learner.KeepGraph(std::move(graph)).empty();
  }
  const std::string& text = kept || parts.size() < 2 ? parts[0] : parts[1];
  const auto parsed = json::Document::Parse(text);
  RETURN_IF_ERROR(parsed);
  std::string error;
  core::Told told = store::ReadTold(parsed->root(), "", json::Trust::kSent, error);
  if (!error.empty()) return core::FailedError("the told step was read as nonsense: {}", error);
  return told;
}

Result<core::Needs> NeedsIn(const std::string& prediction) {
  const auto parsed = json::Document::Parse(prediction);
  RETURN_IF_ERROR(parsed);
  return json::NeedsFromJson(parsed->root()["needs"]);
}

}  // namespace sharewell::server
