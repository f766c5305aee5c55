#include "cli/commands/kubernetes/inject.h"

#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "advice/predicted_needs.h"
#include "advice/told_ask.h"
#include "catalogue/gpu_catalogue.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "engine/kubernetes/api/plain_yaml.h"
#include "engine/kubernetes/pods/pod_inject.h"
#include "engine/kubernetes/pods/pod_known.h"
#include "platform/files/watcher_files.h"

namespace sharewell::cli {
namespace {

using core::Result;

// No longer than what is read of it anyway.
std::string ReadPods() {
  std::string text(engine::kMostYaml + 1, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  return text;
}

Result<std::string> PredictedOf(const predict::Predictor& predictor, const std::string& model,
                                const engine::PodWords& words) {
  advice::PredictionAsk ask;
  ask.model = model;
  ask.batch = words.batch.value_or(1);
  ask.given.batch = words.batch.has_value();
  ask.given.precision = !words.precision.empty();
  if (ask.given.precision) ask.precision = words.precision;
  if (!words.gpu_models.empty()) ask.gpu = words.gpu_models.front();
  ask.gpus = words.gpus;
  RETURN_IF_ERROR(advice::HeedTold(ask));
  auto needs = advice::PredictNeedsBy(predictor, ask, catalogue::GpuCatalogue::Builtin());
  RETURN_IF_ERROR(needs);
  engine::PodKnown known;
  known.workload = needs->profile.workload.name;
  known.needs = std::move(*needs);
  return engine::WriteKnown(known);
}

// Empty: nothing is predicted.
Result<engine::KnownOf> KnownBy(const std::string& model) {
  if (model.empty()) return engine::KnownOf();
  auto predictor = advice::PredictorOrBuiltin("");
  RETURN_IF_ERROR(predictor);
  return engine::KnownOf(
      [by = std::make_shared<const predict::Predictor>(std::move(*predictor)),
       model](const engine::PodWords& words) { return PredictedOf(*by, model, words); });
}

}  // namespace

Result<ExitCode> InjectFromInput(const std::string& scheduler, const std::string& model) {
  const auto known = KnownBy(model);
  RETURN_IF_ERROR(known);
  auto pods = engine::InjectPods(ReadPods(), scheduler, platform::WatcherFiles(), *known);
  if (!pods) return tl::unexpected(std::move(pods.error()).Within("kubernetes inject"));
  RETURN_IF_ERROR(WriteOut(*pods));
  return kOk;
}

}  // namespace sharewell::cli
