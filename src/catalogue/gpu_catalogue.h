// GPU models by name: the built-in catalogue (data/gpus.csv), extended by the user's own files.
// Format: docs/formats/gpu-catalogue.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/gpu_model.h"
#include "core/result.h"

namespace sharewell::catalogue {

class GpuCatalogue {
 public:
  GpuCatalogue() = default;  // knows no model
  static GpuCatalogue Builtin();

  // Adds the file's rows. A row with the name of a known model replaces it; a name or alias that
  // another model had as an alias now means the new one. Unchanged on failure.
  core::Result<void> Extend(const std::string& path);
  core::Result<void> ExtendFrom(std::string_view text, const std::string& name);

  // By name or alias, however it is written (core::FoldedGpuName). Unknown: a usage error that
  // names the nearest model and says how to add one.
  core::Result<core::GpuModel> Find(std::string_view name) const;
  // The same for who has no use for the error: null where it is unknown. Valid until it is
  // extended.
  const core::GpuModel* Lookup(std::string_view name) const;

  const std::vector<core::GpuModel>& models() const& { return models_; }  // in the files' order

 private:
  std::vector<core::GpuModel> models_;
  std::unordered_map<std::string, std::size_t> by_key_;  // folded name or alias -> models_
};

}  // namespace sharewell::catalogue
