#include "graph/pt2/pt2.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/result.h"
#include "core/text/quoted.h"
#include "graph/pt2/program.h"
#include "graph/pt2/zip.h"

namespace sharewell::graph {
namespace {

using pt2::Zip;
using pt2::ZipEntry;

constexpr std::uint64_t kLargestJson = std::uint64_t{256} << 20;
constexpr std::size_t kMostShown = 10;

// "<top>/models/model.json"; before PyTorch 2.8 "serialized_exported_program.json" at the top.
bool IsProgram(std::string_view name) {
  const auto folder = name.find("models/");
  const bool in_models =
      folder == 0 || (folder != std::string_view::npos && name.find('/') + 1 == folder);
  return (in_models && name.ends_with(".json")) ||
         name.ends_with("serialized_exported_program.json");
}

bool Has(const Zip& zip, std::string_view part) {
  return std::any_of(zip.entries().begin(), zip.entries().end(), [&](const ZipEntry& entry) {
    return entry.name.find(part) != std::string_view::npos;
  });
}

tl::unexpected<core::Error> NoProgram(const Zip& zip, const std::string& name) {
  if (Has(zip, "aotinductor/")) {
    return core::UsageError(
        "{}: is a compiled AOTInductor package, which no longer holds the model's graph; save the "
        "exported program itself: torch.export.save(torch.export.export(model, args), 'model.pt2')",
        name);
  }
  if (Has(zip, "code/") && Has(zip, "data.pkl")) {
    return core::UsageError(
        "{}: is a TorchScript archive, which we do not read; export the model with "
        "torch.export.save(torch.export.export(model, args), 'model.pt2') or torch.onnx.export",
        name);
  }
  if (Has(zip, "data.pkl")) {
    return core::UsageError(
        "{}: is a PyTorch checkpoint: weights without a graph; export the model with "
        "torch.export.save(torch.export.export(model, args), 'model.pt2') or torch.onnx.export, or "
        "give its Hugging Face config.json",
        name);
  }
  if (Has(zip, "model.weights.h5")) {
    return core::UsageError(
        "{}: is a Keras archive, which we do not read; export the model to ONNX: "
        "model.export('model.onnx', format='onnx')",
        name);
  }
  return core::UsageError(
      "{}: is a zip archive without an exported program (models/*.json); save the model with "
      "torch.export.save",
      name);
}

}  // namespace

core::Result<Graph> ReadPt2(std::string_view bytes, const std::string& name,
                            const Binding& binding) {
  const auto zip = Zip::Open(bytes, name);
  RETURN_IF_ERROR(zip);
  std::vector<const ZipEntry*> programs;
  for (const ZipEntry& entry : zip->entries()) {
    if (IsProgram(entry.name)) programs.push_back(&entry);
  }
  if (programs.empty()) return NoProgram(*zip, name);
  if (programs.size() > 1) {
    std::vector<std::string> shown;
    for (const ZipEntry* entry : programs) {
      shown.push_back(shown.size() == kMostShown ? "..." : core::Quoted(entry->name));
      if (shown.size() > kMostShown) break;
    }
    return core::UsageError(
        "{}: holds {} programs ({}), and which one is meant is not clear; save each alone with "
        "torch.export.save",
        name, programs.size(), fmt::join(shown, ", "));
  }
  if (programs[0]->size > kLargestJson) {
    return core::UsageError("{}: its graph is {} bytes of JSON; we read up to {}", name,
                            programs[0]->size, kLargestJson);
  }
  const auto json = zip->Read(*programs[0]);
  RETURN_IF_ERROR(json);
  return pt2::ReadProgram(*json, name, binding);
}

}  // namespace sharewell::graph
