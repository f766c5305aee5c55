#include "catalogue/gpu_catalogue.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/result.h"
#include "core/text/suggest.h"
#include "platform/files/csv.h"
#include "platform/files/embedded.h"
#include "platform/files/mapped_file.h"
#include "platform/files/text.h"

namespace sharewell::catalogue {
namespace {

using core::FoldedGpuName;
using core::GpuModel;

std::optional<core::Watts> OptionalWatts(platform::CsvReader& csv,
                                         platform::CsvReader::Column column) {
  const auto watts = csv.OptionalNumber(column, {0, 1e5});
  if (!watts) return std::nullopt;
  return core::Watts(*watts);
}

core::Result<std::vector<GpuModel>> ReadModels(std::string_view text, const std::string& name) {
  platform::CsvReader csv(text, name);
  const auto name_column = csv.Require("name");
  const auto memory = csv.Require("memory_gb");
  const auto bandwidth = csv.Require("bandwidth_gbs");
  const auto fp32 = csv.Require("fp32_tflops");
  const auto sms = csv.Require("sms");
  const auto aliases = csv.Find("aliases");
  const auto tf32 = csv.Find("tf32_tflops");
  const auto fp16 = csv.Find("fp16_tflops");
  const auto bf16 = csv.Find("bf16_tflops");
  const auto power_limit = csv.Find("power_limit_w");
  const auto idle_power = csv.Find("idle_power_w");
  constexpr platform::Range kTflops{0, 1e6, true};

  std::vector<GpuModel> models;
  std::unordered_set<std::string> taken;
  while (csv.Next()) {
    GpuModel model;
    model.name = csv.RequiredText(name_column);
    std::unordered_set<std::string> own{FoldedGpuName(model.name)};
    if (taken.contains(FoldedGpuName(model.name))) {
      csv.Fail(name_column, "is already the name or an alias of a row above; remove one");
    }
    for (const auto alias : platform::SplitList(csv.Text(aliases), ';')) {
      const std::string key = FoldedGpuName(alias);
      if (taken.contains(key)) {
        csv.Fail(aliases, "names a model that a row above names too; remove one");
      }
      // Two spellings of one name are one alias.
      if (own.insert(key).second) model.aliases.emplace_back(alias);
    }
    taken.merge(own);
    model.memory = core::GiB(csv.Number(memory, {0, 1e6, true}));
    model.bandwidth = core::GBps(csv.Number(bandwidth, {0, 1e6, true}));
    model.fp32_tflops = csv.Number(fp32, kTflops);
    model.tf32_tflops = csv.OptionalNumber(tf32, kTflops);
    model.fp16_tflops = csv.OptionalNumber(fp16, kTflops);
    model.bf16_tflops = csv.OptionalNumber(bf16, kTflops);
    model.sms = static_cast<int>(csv.Integer(sms, 1, 100000));
    model.power_limit = OptionalWatts(csv, power_limit);
    model.idle_power = OptionalWatts(csv, idle_power);
    models.push_back(std::move(model));
  }
  if (!csv.ok()) return csv.error();
  if (models.empty())
    return core::UsageError("{}: lists no GPU model; add a row or remove the file", name);
  return models;
}

}  // namespace

GpuCatalogue GpuCatalogue::Builtin() {
  GpuCatalogue catalogue;
  const auto read = catalogue.ExtendFrom(platform::EmbeddedGpus(), "the built-in data/gpus.csv");
  SHAREWELL_CHECK(read.has_value());
  return catalogue;
}

core::Result<void> GpuCatalogue::Extend(const std::string& path) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ExtendFrom(file->text(), path);
}

core::Result<void> GpuCatalogue::ExtendFrom(std::string_view text, const std::string& name) {
  auto added = ReadModels(text, name);
  RETURN_IF_ERROR(added);
  std::vector<GpuModel> models = models_;
  for (GpuModel& model : *added) {
    std::unordered_set<std::string> keys{FoldedGpuName(model.name)};
    for (const auto& alias : model.aliases) keys.insert(FoldedGpuName(alias));
    std::optional<std::size_t> replaced;
    for (std::size_t i = 0; i < models.size(); ++i) {
      GpuModel& other = models[i];
      if (FoldedGpuName(other.name) == FoldedGpuName(model.name)) {
        replaced = i;
      } else if (keys.contains(FoldedGpuName(other.name))) {
        return core::UsageError("{}: '{}' is an alias of '{}' there, but the name of another model",
                                name, other.name, model.name);
      } else {
        std::erase_if(other.aliases,
                      [&](const auto& alias) { return keys.contains(FoldedGpuName(alias)); });
      }
    }
    if (replaced) {
      models[*replaced] = std::move(model);
    } else {
      models.push_back(std::move(model));
    }
  }
  models_ = std::move(models);
  by_key_.clear();
  for (std::size_t i = 0; i < models_.size(); ++i) {
    by_key_.emplace(FoldedGpuName(models_[i].name), i);
    for (const auto& alias : models_[i].aliases) by_key_.emplace(FoldedGpuName(alias), i);
  }
  return {};
}

namespace {

constexpr std::size_t kLongestSuggested = 100;

// As it is compared with names that people mistype: O and 0 are one.
std::string TypedGpuName(std::string_view name) {
  std::string key = FoldedGpuName(name);
  std::replace(key.begin(), key.end(), 'o', '0');
  return key;
}

// Its digits, sorted: "RTX 4900" has those of "RTX 4090".
std::string DigitsOf(std::string key) {
  std::erase_if(key, [](char c) { return c < '0' || c > '9'; });
  std::sort(key.begin(), key.end());
  return key;
}

// An RTX 3060 is no mistyped RTX 3080, nor an A16 an A10, but a card that is not in the catalogue.
bool IsAnotherCard(const std::string& key, const std::string& known) {
  const std::string digits = DigitsOf(key), its = DigitsOf(known);
  return digits.size() == its.size() && digits != its;
}

// "; did you mean 'H200'?", or nothing.
std::string DidYouMeanGpu(std::string_view name, const std::vector<GpuModel>& models) {
  const std::string typed = name.size() > kLongestSuggested ? "" : TypedGpuName(name);
  if (typed.size() < 3) return {};               // "H2" is as near to an A2 as to an L2
  std::size_t least = typed.size() < 6 ? 2 : 3;  // a name of a few letters has many neighbours
  std::string nearest;
  const auto look = [&](const std::string& known) {
    const std::string key = TypedGpuName(known);
    if (known.size() > kLongestSuggested || IsAnotherCard(typed, key)) return;
    const std::size_t distance = core::EditDistance(typed, key);
    if (distance >= least) return;
    least = distance;
    nearest = known;
  };
  for (const GpuModel& model : models) {
    look(model.name);
    std::for_each(model.aliases.begin(), model.aliases.end(), look);
  }
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace

const GpuModel* GpuCatalogue::Lookup(std::string_view name) const {
  // The longest name that can be in the catalogue is far below this; do not fold a whole file.
  const auto it = name.size() > 1000 ? by_key_.end() : by_key_.find(FoldedGpuName(name));
  return it == by_key_.end() ? nullptr : &models_[it->second];
}

core::Result<GpuModel> GpuCatalogue::Find(std::string_view name) const {
  if (const GpuModel* known = Lookup(name)) return *known;
  return core::UsageError(
      "unknown GPU model {}{}; to add it, write a CSV file with the columns name, memory_gb, "
      "bandwidth_gbs, fp32_tflops, sms and pass it with --gpu-catalogue FILE",
      core::Quoted(name), DidYouMeanGpu(platform::Trimmed(name), models_));
}

}  // namespace sharewell::catalogue
