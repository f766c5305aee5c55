#include "report/prediction/told_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "core/text/words.h"
#include "report/text/format.h"
#include "report/text/json.h"

namespace sharewell::report {
namespace {

std::string Millions(double count) {
  return count >= 1e6 ? Number(count / 1e6, 1) + " M" : Number(count, 0);
}

}  // namespace

std::string ToldInWords(const advice::WatchedStep& step) {
  std::vector<std::string> parts;
  std::string what = step.modules.empty() ? "a model" : step.modules;
  if (step.parameters) what += fmt::format(" with {} parameters", Millions(*step.parameters));
  if (step.trainable && step.parameters && *step.trainable < *step.parameters) {
    what += fmt::format(" ({} trained)", Millions(*step.trainable));
  }
  parts.push_back(std::move(what));
  if (step.batch) parts.push_back(fmt::format("batch {}", *step.batch));
  if (step.accumulation.value_or(1) > 1) {
    parts.push_back(fmt::format("{} backward passes a step", *step.accumulation));
  }
  if (!step.optimizer.empty()) parts.push_back(step.optimizer);
  if (!step.autocast.empty()) {
    parts.push_back(step.autocast + " autocast");
  } else if (!step.precision.empty()) {
    parts.push_back(step.precision);
  }
  if (step.workers) {
    parts.push_back(core::Count(static_cast<std::size_t>(*step.workers), "loader worker"));
  }
  if (step.compiled == true) parts.emplace_back("compiled");
  if (step.channels_last == true) parts.emplace_back("channels_last");
  if (step.checkpointing == true) parts.emplace_back("checkpointing");
  if (!step.parallel.empty() && step.world_size) {
    parts.push_back(fmt::format("{} over {} processes", step.parallel, *step.world_size));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string WatchedStepText(const advice::WatchedStep& watched, const std::string& out) {
  std::string text = fmt::format("told: {}\n", ToldInWords(watched));
  text += fmt::format("operators: {} forward, {} backward, {} in the optimizer ({} different)",
                      Number(watched.forward_calls, 0), Number(watched.backward_calls, 0),
                      Number(watched.update_calls, 0), watched.different_operators);
  if (watched.dropped > 0) text += fmt::format("; {} more were not listed", watched.dropped);
  text += fmt::format("\n{} counted", core::Count(static_cast<std::size_t>(watched.steps), "step"));
  if (watched.steps == 0) text += " (the job counts by itself)";
  if (watched.exit_code.value_or(0) != 0) {
    text += fmt::format("; the command ended with exit code {}", *watched.exit_code);
  }
  text += "\n";
  if (!watched.off.empty()) {
    text += fmt::format("the watcher switched itself off in a process: {}\n", watched.off);
  }
  if (!out.empty()) {
    text += fmt::format("written to {}; what it needs: sharewell predict {}\n", out, out);
  }
  return text;
}

std::string WatchedStepJson(const advice::WatchedStep& watched, const std::string& out) {
  const auto word = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
  return JsonReport([&](json::Writer& json) {
    json.Field("file", word(out));
    json.Field("steps", watched.steps);
    json.Field("exit_code", watched.exit_code);
    json.Field("watcher_off", word(watched.off));
    json.Field("workload_fingerprint", watched.workload_fingerprint);
    json.Field("model_fingerprint", watched.model_fingerprint);
    json.Field("framework", word(watched.framework));
    json.Field("device", word(watched.device));
    json.Field("modules", word(watched.modules));
    json.Field("batch", watched.batch);
    json.Field("accumulation", watched.accumulation);
    json.Field("optimizer", word(watched.optimizer));
    json.Field("precision", word(watched.precision));
    json.Field("autocast", word(watched.autocast));
    json.Field("workers", watched.workers);
    json.Field("compiled", watched.compiled);
    json.Field("channels_last", watched.channels_last);
    json.Field("checkpointing", watched.checkpointing);
    json.Field("world_size", watched.world_size);
    json.Field("parallel", word(watched.parallel));
    json.Field("parameters", watched.parameters);
    json.Field("trainable", watched.trainable);
    json.Field("peak_bytes", watched.peak);
    json.Object("calls_per_step", [&] {
      json.Field("forward", watched.forward_calls);
      json.Field("backward", watched.backward_calls);
      json.Field("update", watched.update_calls);
    });
    json.Field("different_operators", watched.different_operators);
    json.Field("dropped", watched.dropped);
  });
}

}  // namespace sharewell::report
