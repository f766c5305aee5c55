#include "cli/commands/jobs/submit_request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "advice/model_file.h"
#include "advice/predicted_needs.h"
#include "advice/told_ask.h"
#include "catalogue/gpu_catalogue.h"
#include "cli/args/values.h"
#include "cli/client/job_names.h"
#include "cli/commands/jobs/script_digest.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "graph/graph_file.h"
#include "json/needs_json.h"
#include "json/value.h"
#include "platform/files/text.h"
#include "platform/process/find_program.h"

namespace sharewell::cli {
namespace {

using core::Result;
using core::UsageError;

constexpr std::uint64_t kMostGpusAsked = 64;
constexpr std::uint64_t kMostLoaders = 1024;
constexpr double kMostCores = 4096;
constexpr double kMostSlowdown = 100;
constexpr double kMostPriority = 1e6;
constexpr int kMostDaysOfJob = 365;

constexpr std::array<std::string_view, 13> kShared = {
    "PATH",           "HOME",    "USER",        "LOGNAME",    "SHELL",
    "LANG",           "TZ",      "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH",
    "XDG_CACHE_HOME", "HF_HOME", "TORCH_HOME"};
constexpr std::array<std::string_view, 2> kSharedPrefixes = {"LC_", "CONDA_"};

bool IsShared(std::string_view name) {
  return std::find(kShared.begin(), kShared.end(), name) != kShared.end() ||
         std::any_of(kSharedPrefixes.begin(), kSharedPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

void PutVariable(core::Submission& to, const std::string& name, const std::string& value) {
  const auto it = std::find_if(to.environment.begin(), to.environment.end(),
                               [&](const auto& variable) { return variable.first == name; });
  if (it == to.environment.end()) {
    to.environment.emplace_back(name, value);
  } else {
    it->second = value;
  }
}

Result<void> PutGiven(core::Submission& to, const std::vector<std::string>& given) {
  for (const std::string& pair : given) {
    const auto equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    if (name.empty()) {
      return UsageError("--env: {} is not allowed; give NAME=VALUE, or NAME for what it is here",
                        core::Quoted(pair));
    }
    if (equals != std::string::npos) {
      PutVariable(to, name, pair.substr(equals + 1));
      continue;
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      return UsageError("--env: {} is not set here; give NAME=VALUE", core::Quoted(name));
    }
    PutVariable(to, name, value);
  }
  return {};
}

// The value of a flag that may be left out.
template <class T, class Parse>
Result<void> Put(std::optional<T>& to, const std::string& text, Parse parse) {
  if (text.empty()) return {};
  auto value = parse(text);
  RETURN_IF_ERROR(value);
  to = T(*value);
  return {};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> SharedEnvironment(const char* const* all) {
  std::vector<std::pair<std::string, std::string>> out;
  for (; all != nullptr && *all != nullptr; ++all) {
    const std::string_view entry = *all;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || !IsShared(entry.substr(0, equals))) continue;
    out.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::sort(out.begin(), out.end());
  return out;
}

void SubmitRequest::AddNeeds(CLI::App& app) {
  const auto text = [&](const char* flag, std::string& to, const char* type, const char* help) {
    return app.add_option(flag, to, help)->type_name(type);
  };
  const auto many = [&](const char* flag, std::vector<std::string>& to, const char* type,
                        const char* help) {
    app.add_option(flag, to, help)->type_name(type)->allow_extra_args(false);
  };
  const auto yes = [&](const char* flag, bool& to, const char* help) {
    app.add_flag(flag, to, help)->disable_flag_override();
  };
  text("--name", name, "NAME", "set the job's name (default: the command's first words)");
  text("--gpus", gpus, "N", "number of GPUs it runs on; 0: CPUs alone (default 1)");
  auto* file = text("--model", model, "FILE", "predict what it needs from this model file");
  model_flags.Add(app);
  workers_option =
      text("--workers", workers, "N", "with --model: data-loader processes (default 4)");
  text("--trained", trained, "FILE",
       "with --model: predict by a model of your own, made by `sharewell-lab train` (default: the "
       "server's)")
      ->needs(file);
  text("--profile", profile, "NAME", "take what it needs from this profile in the server's store")
      ->excludes(file);
  text("--gpu-memory", gpu_memory, "SIZE", "GPU memory that it may use on each GPU: 10GB");
  text("--memory", memory, "SIZE", "host memory that it may use, above which it is stopped: 32GB");
  text("--cpus", cpus, "N|auto", "number of CPU cores (default auto: as many as it needs)");
  text("--gpu-model", gpu_models, "M,...", "run it only on GPUs of these models");
  yes("--exclusive", exclusive, "share its GPUs with nobody");
  text("--max-slowdown", max_slowdown, "X", "maximum slowdown by neighbours: 1.25");
  text("--sm-share", sm_share, "P%",
       "use at most this share of its GPU's SMs, at its own cost: 60% (default: as the policy "
       "decides)");
  yes("--latency-sensitive", latency_sensitive,
      "let its kernels go before those of its neighbours");
  yes("--no-guests", no_guests, "let no job start beside it of which nothing is known");
  text("--priority", priority, "N",
       "above 0 it starts before others (for admins), below 0 after them (default 0)");
  text("--project", project, "NAME",
       "project whose share of the GPUs it counts to, where you are in several");
  text("--time", time, "TIME", "time limit, after which it is stopped: 90s, 15m, 2h, 00:30:00");
  many("--env", env, "K=V|K",
       "set a variable for it; K alone takes the value of this shell; may be repeated");
  yes("--no-watch", no_watch, "put nothing into it that counts its steps and tells what it trains");
  text("--image", image, "REF", "run it in this container image");
}

void SubmitRequest::Add(CLI::App& app) {
  AddNeeds(app);
  app.add_option("--after", after, "start it once these jobs have finished without failure")
      ->type_name("JOB,...");
  app.add_flag("--hold", held, "hold it until `sharewell release`")->disable_flag_override();
  app.add_option("--array", array,
                 "submit one job for each value: 0-9 replaces {index}, lr=0.1,0.01 replaces {lr}; "
                 "repeated: a grid; 0-99%4: at most four run at once")
      ->type_name("RANGE|NAME=V,...")
      ->allow_extra_args(false);
  app.add_flag("--no-requeue", no_requeue,
               "let it fail after a reboot or a lost GPU, instead of starting it again")
      ->disable_flag_override();
}

std::vector<std::string> SubmitRequest::GivenNames() const {
  std::vector<std::string> names;
  for (const std::string& pair : env) names.push_back(pair.substr(0, pair.find('=')));
  return names;
}

Result<core::Submission> SubmitRequest::One() const {
  core::Submission one;
  if (command.empty() || command.front().empty()) {
    return UsageError(
        "{0}: no command is given; write it after --: sharewell {0} -- python3 train.py", verb);
  }
  one.name = name;
  one.command = command;
  std::error_code failed;
  one.folder = std::filesystem::current_path(failed).string();
  if (failed) return UsageError("{}: this folder no longer exists; change to one that does", verb);
  one.environment = SharedEnvironment(::environ);
  one.umask = ::umask(0);  // it can be read by setting it alone
  ::umask(*one.umask);
  RETURN_IF_ERROR(PutGiven(one, env));
  const auto asked = ParseWhole("--gpus", gpus, 0, kMostGpusAsked);
  RETURN_IF_ERROR(asked);
  one.gpus = static_cast<int>(*asked);
  const auto order = ParseNumber("--priority", priority, -kMostPriority, kMostPriority);
  RETURN_IF_ERROR(order);
  if (*order != std::floor(*order)) {
    return UsageError("--priority: {} is not allowed; give a whole number", core::Quoted(priority));
  }
  one.priority = static_cast<int>(*order);
  for (const auto& done :
       {Put(one.cores, cpus == "auto" ? "" : cpus,
            [](auto& t) { return ParseNumber("--cpus (or auto)", t, 0.01, kMostCores); }),
        Put(one.gpu_memory, gpu_memory, [](auto& t) { return ParseBytes("--gpu-memory", t); }),
        Put(one.memory, memory, [](auto& t) { return ParseBytes("--memory", t); }),
        Put(one.max_slowdown, max_slowdown,
            [](auto& t) { return ParseNumber("--max-slowdown", t, 1, kMostSlowdown); }),
        Put(one.sm_share, sm_share, [](auto& t) { return ParseShare("--sm-share", t); }),
        Put(one.time_limit, time,
            [](auto& t) { return ParseTimeWithUnit("--time", t, kMostDaysOfJob); })}) {
    RETURN_IF_ERROR(done);
  }
  if (one.time_limit && one.time_limit->value < 1) {
    return UsageError("--time: {} is not allowed; give 1s or more", core::Quoted(time));
  }
  const auto known = catalogue::GpuCatalogue::Builtin();
  for (const auto gpu : platform::SplitList(gpu_models, ',')) {
    const core::GpuModel* known_model = known.Lookup(gpu);
    one.gpu_models.emplace_back(known_model != nullptr ? known_model->name : gpu);
  }
  for (const auto job : platform::SplitList(after, ',')) {
    const auto number = ParseJob(job);
    if (!number) return tl::unexpected(core::Error(number.error()).Within("--after"));
    one.after.push_back(*number);
  }
  const bool no_model = model.empty() && (model_flags.batch != "1" || workers != "4" ||
                                          model_flags.precision != "fp32");
  if (no_model) {
    return UsageError(
        "{}: --batch, --precision and --workers say how --model FILE is run; give it too", verb);
  }
  if (!model.empty() && one.gpus == 0) {
    return UsageError("{}: --model is for jobs with a GPU, but --gpus is 0", verb);
  }
  if (one.sm_share && (one.gpus != 1 || exclusive)) {
    return UsageError("{}: --sm-share is for a job that may share its one GPU; leave it out, or {}",
                      verb, exclusive ? "leave --exclusive out" : "give --gpus 1");
  }
  one.exclusive = exclusive;
  one.latency_sensitive = latency_sensitive;
  one.no_guests = no_guests;
  one.image = image;
  one.watch = !no_watch;
  one.script = ScriptDigest(one.command, one.folder);
  one.held = held;
  one.requeue = !no_requeue;
  one.profile = profile;
  one.project = project;
  return one;
}

namespace {

// The server predicts from the graph, which is small, and keeps it to learn from. Absent: it
// cannot.
std::optional<core::Needs> PredictedThere(const ServerClient& client,
                                          const advice::PredictionAsk& ask) {
  const auto graph = advice::ReadModel(ask.model, {.batch = ask.batch, .named = ask.bind});
  if (!graph) return std::nullopt;  // predicting it here says why
  const std::string query = fmt::format(
      "/predictions?name={}&batch={}&precision={}&workers={}&gpu={}&optimizer={}&gpus={}",
      QueryText(std::filesystem::path(ask.model).filename().string()), ask.batch,
      QueryText(ask.precision), ask.workers, QueryText(ask.gpu), QueryText(ask.optimizer),
      ask.gpus);
  const auto answer = client.Post(query, graph::WriteGraph(*graph));
  if (!answer) return std::nullopt;
  const auto parsed = json::Document::Parse(*answer);
  auto needs = json::NeedsFromJson(json::RootOf(parsed)["needs"]);
  return needs ? std::optional(std::move(*needs)) : std::nullopt;
}

}  // namespace

Result<void> SubmitRequest::PutPrediction(const ServerClient& client,
                                          const std::vector<report::GpuNow>& all,
                                          core::Submission& one) const {
  const auto fits = [&](const report::GpuNow& gpu) {
    const auto& models = one.gpu_models;
    return models.empty() || std::find(models.begin(), models.end(), gpu.gpu.model) != models.end();
  };
  const auto gpu = std::find_if(all.begin(), all.end(), fits);
  if (gpu == all.end()) {
    return UsageError(
        "{}: the server has no {}GPU to predict for; leave --model out, or give --gpu-memory", verb,
        all.empty() ? "" : "such ");
  }
  const auto binding = model_flags.Binding();
  RETURN_IF_ERROR(binding);
  RETURN_IF_ERROR(model_flags.Run());
  const auto loaders = ParseWhole("--workers", workers, 0, kMostLoaders);
  RETURN_IF_ERROR(loaders);
  advice::PredictionAsk ask;
  ask.model = model;
  ask.batch = binding->batch;
  ask.bind = binding->named;
  ask.precision = model_flags.precision;
  ask.optimizer = model_flags.optimizer;
  ask.workers = static_cast<int>(*loaders);
  ask.gpus = std::atoi(gpus.c_str());  // One() has looked at it
  ask.gpu = gpu->gpu.model;
  ask.given = model_flags.Given();
  ask.given.workers = workers_option != nullptr && workers_option->count() > 0;
  RETURN_IF_ERROR(advice::HeedTold(ask));
  if (trained.empty()) {
    if (auto there = PredictedThere(client, ask)) {
      one.needs = *std::move(there);
      return {};
    }
  }
  const auto by = advice::PredictorOrBuiltin(trained);
  RETURN_IF_ERROR(by);
  auto needs = advice::PredictNeedsBy(*by, ask, catalogue::GpuCatalogue::Builtin());
  RETURN_IF_ERROR(needs);
  one.needs = std::move(*needs);
  return {};
}

Result<void> CheckCommand(const core::Submission& submission) {
  std::string path;
  for (const auto& [name, value] : submission.environment) {
    if (name == "PATH") path = value;
  }
  const auto found = platform::FindProgram(submission.command.front(), path);
  RETURN_IF_ERROR(found);
  return {};
}

}  // namespace sharewell::cli
