#include "cli/args/model_flags.h"

#include "cli/args/values.h"
#include "core/result.h"
#include "platform/files/text.h"

namespace sharewell::cli {
namespace {

constexpr std::uint64_t kMostBatch = 1 << 24;
constexpr std::uint64_t kMostBound = std::uint64_t{1} << 32;

}  // namespace

void ModelFlags::Add(CLI::App& app) {
  batch_option_ = app.add_option("--batch", batch, "samples in a step (default 1)")->type_name("N");
  app.add_option("--bind", bind,
                 "set a dimension that the file leaves open, as in seq=128; may be repeated")
      ->type_name("NAME=N");
  precision_option_ =
      app.add_option(
             "--precision", precision,
             "precision of the arithmetic (default fp32); bf16 and fp16 mean mixed precision")
          ->type_name("fp32|tf32|bf16|fp16");
  optimizer_option_ =
      app.add_option("--optimizer", optimizer,
                     "optimizer that updates the weights (default sgd, with momentum)")
          ->type_name("sgd|plain-sgd|adamw");
}

core::Result<graph::Binding> ModelFlags::Binding() const {
  graph::Binding binding;
  const auto samples = ParseWhole("--batch", batch, 1, kMostBatch);
  RETURN_IF_ERROR(samples);
  binding.batch = static_cast<std::int64_t>(*samples);
  for (const std::string& pair : bind) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return core::UsageError("--bind: {} is not allowed; give a name and a number, as seq=128",
                              platform::Quoted(pair));
    }
    const auto value =
        ParseWhole("--bind " + pair.substr(0, equals), pair.substr(equals + 1), 1, kMostBound);
    RETURN_IF_ERROR(value);
    binding.named.emplace_back(pair.substr(0, equals), static_cast<std::int64_t>(*value));
  }
  return binding;
}

core::Result<graph::Run> ModelFlags::Run() const {
  graph::Run run;
  const auto chosen = graph::ParsePrecision(precision);
  if (!chosen) return tl::unexpected(core::Error(chosen.error()).Within("--precision"));
  run.precision = *chosen;
  const auto update = graph::ParseOptimizer(optimizer);
  if (!update) return tl::unexpected(core::Error(update.error()).Within("--optimizer"));
  run.optimizer = *update;
  return run;
}

advice::PredictionGiven ModelFlags::Given() const {
  const auto given = [](const CLI::Option* option) {
    return option != nullptr && option->count() > 0;
  };
  return {.batch = given(batch_option_),
          .precision = given(precision_option_),
          .optimizer = given(optimizer_option_)};
}

core::Result<catalogue::GpuCatalogue> CatalogueWith(const std::string& file) {
  auto catalogue = catalogue::GpuCatalogue::Builtin();
  if (!file.empty()) RETURN_IF_ERROR(catalogue.Extend(file));
  return catalogue;
}

}  // namespace sharewell::cli
