#include "graph/onnx/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/result.h"
#include "core/text/suggest.h"
#include "graph/onnx/node.h"

namespace sharewell::graph::onnx {
namespace {

bool MeansBatch(std::string_view name) {
  const std::string lower = core::LowerCase(name.substr(0, 64));
  return lower.find("batch") != std::string::npos || lower == "n" || lower == "b" || lower == "bs";
}

bool Open(const wire::Dim& dim) { return !dim.value || *dim.value <= 0; }

const std::int64_t* Named(const Binding& binding, std::string_view name) {
  for (const auto& [key, value] : binding.named) {
    if (key == name) return &value;
  }
  return nullptr;
}

// The file's names for open dimensions, and INPUT.INDEX for those without.
std::string KeyOf(const wire::ValueInfo& input, std::size_t index) {
  const wire::Dim& dim = (*input.dims)[index];
  if (!dim.name.empty()) return std::string(dim.name.substr(0, 256));
  return fmt::format("{}.{}", input.name.substr(0, 256), index);
}

core::Result<void> CheckNames(const std::vector<const wire::ValueInfo*>& inputs,
                              const Binding& binding) {
  std::vector<std::string> known;
  for (const wire::ValueInfo* input : inputs) {
    for (std::size_t i = 0; input->dims && i < input->dims->size(); ++i) {
      if (Open((*input->dims)[i])) known.push_back(KeyOf(*input, i));
    }
  }
  for (const auto& [name, value] : binding.named) {
    if (value < 1 || value > kLargestDim) {
      return core::UsageError("{} is bound to {}; a dimension is at least 1", Quoted(name), value);
    }
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (known.empty()) {
      return core::UsageError(
          "{} is bound, but every dimension of the inputs is fixed in the file: leave it out",
          Quoted(name));
    }
    return core::UsageError("no input has an open dimension {}{}", Quoted(name),
                            core::DidYouMean(name, known));
  }
  return {};
}

}  // namespace

core::Result<BoundInputs> BindInputs(const std::vector<const wire::ValueInfo*>& inputs,
                                     const Binding& binding) {
  RETURN_IF_ERROR(CheckNames(inputs, binding));
  BoundInputs bound;
  // Names first: a name that leads one input is the batch wherever else it stands.
  for (const wire::ValueInfo* input : inputs) {
    if (!input->dims) continue;
    const bool says_so =
        std::any_of(input->dims->begin(), input->dims->end(),
                    [](const wire::Dim& dim) { return Open(dim) && MeansBatch(dim.name); });
    for (std::size_t i = 0; i < input->dims->size(); ++i) {
      const wire::Dim& dim = (*input->dims)[i];
      if (!Open(dim) || dim.name.empty()) continue;
      if (const std::int64_t* value = Named(binding, dim.name)) {
        bound.symbols[dim.name] = *value;
      } else if (MeansBatch(dim.name) || (i == 0 && !says_so)) {
        bound.symbols[dim.name] = binding.batch;
        bound.open_batch = true;
      }
    }
  }
  std::vector<std::string> unbound;
  bool fixed = true;
  for (const wire::ValueInfo* input : inputs) {
    Dims& dims = bound.dims.emplace_back();
    if (!input->dims) continue;
    if (input->dims->size() > kMostDims) {
      return core::UsageError("the input {} has more than {} dimensions", Quoted(input->name),
                              kMostDims);
    }
    for (std::size_t i = 0; i < input->dims->size(); ++i) {
      const wire::Dim& dim = (*input->dims)[i];
      if (!Open(dim)) {
        if (*dim.value > kLargestDim) {
          return core::UsageError("the input {} has a dimension of {}: no tensor is that large",
                                  Quoted(input->name), *dim.value);
        }
        dims.push_back(*dim.value);
        if (i > 0) continue;
        if (!bound.fixed_batch) bound.fixed_batch = *dim.value;
        fixed = fixed && *bound.fixed_batch == *dim.value;
        continue;
      }
      if (i == 0) fixed = false;
      const std::string key = KeyOf(*input, i);
      const auto known = bound.symbols.find(dim.name);
      if (!dim.name.empty() && known != bound.symbols.end()) {
        dims.push_back(known->second);
      } else if (const std::int64_t* value = Named(binding, key)) {
        dims.push_back(*value);
      } else if (i == 0 && dim.name.empty()) {
        dims.push_back(binding.batch);
        bound.open_batch = true;
      } else {
        dims.push_back(1);
        if (std::find(unbound.begin(), unbound.end(), key) == unbound.end()) unbound.push_back(key);
      }
    }
  }
  if (!fixed) bound.fixed_batch.reset();
  if (unbound.empty()) return bound;
  std::string list, example;
  for (std::size_t i = 0; i < std::min<std::size_t>(unbound.size(), 8); ++i) {
    list += (i == 0 ? "" : ", ") + Quoted(unbound[i]);
    example += fmt::format(" --bind {}=128", unbound[i]);
  }
  if (unbound.size() > 8) list += fmt::format(" and {} more", unbound.size() - 8);
  return core::UsageError("the file leaves {} open; give a size, such as{}", list, example);
}

}  // namespace sharewell::graph::onnx
