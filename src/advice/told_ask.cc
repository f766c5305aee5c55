#include "advice/told_ask.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "graph/step/lower.h"
#include "graph/step/told_step.h"
#include "platform/files/mapped_file.h"

namespace sharewell::advice {
namespace {

core::Result<void> Contradicts(const PredictionAsk& ask, std::string_view what,
                               const std::string& told, const std::string& given) {
  return core::UsageError(
      "{}: was told with {} {}, and {} is asked for; leave it out, or let a run with it tell its "
      "step: sharewell watch -- COMMAND",
      ask.shown.empty() ? ask.model : ask.shown, what, told, given);
}

}  // namespace

core::Result<void> HeedTold(PredictionAsk& ask) {
  std::error_code ignored;
  if (ask.model.empty() || std::filesystem::is_directory(ask.model, ignored)) return {};
  const auto mapped = platform::MappedFile::Open(ask.model, platform::MappedFile::Access::kSparse);
  if (!mapped || !graph::IsToldStep(mapped->text())) return {};  // who reads it says what is wrong
  const auto step = graph::ReadToldStep(mapped->text(), ask.shown.empty() ? ask.model : ask.shown);
  RETURN_IF_ERROR(step);
  const graph::Run run = graph::RunOf(*step);
  const std::string precision(NameOf(run.precision)), optimizer(NameOf(run.optimizer));
  if (step->batch) {
    if (ask.given.batch && ask.batch != *step->batch) {
      return Contradicts(ask, "batch", std::to_string(*step->batch), std::to_string(ask.batch));
    }
    ask.batch = *step->batch;
  }
  if (!step->precision.empty() || !step->autocast.empty()) {
    const auto asked = graph::ParsePrecision(ask.precision);
    if (ask.given.precision && asked && *asked != run.precision) {
      return Contradicts(ask, "precision", precision, ask.precision);
    }
    ask.precision = precision;
  }
  const auto asked = graph::ParseOptimizer(ask.optimizer);
  if (ask.given.optimizer && asked && *asked != run.optimizer) {
    return Contradicts(
        ask, "optimizer",
        step->optimizer.empty() ? optimizer : fmt::format("{} ({})", optimizer, step->optimizer),
        ask.optimizer);
  }
  ask.optimizer = optimizer;
  if (step->workers) {
    if (ask.given.workers && ask.workers != *step->workers) {
      return Contradicts(ask, "loader workers", std::to_string(*step->workers),
                         std::to_string(ask.workers));
    }
    ask.workers = static_cast<int>(*step->workers);
  }
  return {};
}

}  // namespace sharewell::advice
