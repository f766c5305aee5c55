#include "graph/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text/quoted.h"
#include "graph/graph_file.h"
#include "graph/huggingface/config.h"
#include "graph/layers/layers.h"
#include "graph/onnx/onnx.h"
#include "graph/pt2/pt2.h"
#include "graph/pt2/zip.h"
#include "graph/restore.h"
#include "graph/step/lower.h"

namespace sharewell::graph {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kExport =
    "export the model: torch.export.save(torch.export.export(model, args), 'model.pt2') or "
    "torch.onnx.export";

struct Foreign {
  std::string_view begins;
  std::string_view what;
  std::string_view then;  // empty: kExport
};

// Files that people have at hand beside the one we need.
constexpr Foreign kForeign[] = {
    {"\x80\x02"sv, "a PyTorch checkpoint or another pickle: weights without a graph", ""},
    {"\x80\x03"sv, "a Python pickle", ""},
    {"\x80\x04"sv, "a Python pickle", ""},
    {"\x80\x05"sv, "a Python pickle", ""},
    {"\x89HDF\r\n"sv, "HDF5, as Keras saves it",
     "export the model to ONNX (tf2onnx, or model.export(..., format='onnx'))"},
    {"\x1f\x8b"sv, "compressed with gzip", "unpack it with gunzip"},
    {"BZh"sv, "compressed with bzip2", "unpack it with bunzip2"},
    {"\xfd"
     "7zXZ"sv,
     "compressed with xz", "unpack it with unxz"},
    {"\x28\xb5\x2f\xfd"sv, "compressed with zstd", "unpack it with zstd -d"},
    {"GGUF"sv, "GGUF: quantised weights for inference",
     "give the config.json of the model it was made from"},
    {"version https://git-lfs"sv, "a Git LFS pointer, not the file itself",
     "fetch it with git lfs pull"},
    {"\x7f"
     "ELF"sv,
     "a program", ""},
    {"%PDF"sv, "a PDF document", ""},
    {"<!DOCTYPE"sv, "a web page", "download the file itself, not the page that shows it"},
    {"<!doctype"sv, "a web page", "download the file itself, not the page that shows it"},
    {"<html"sv, "a web page", "download the file itself, not the page that shows it"},
    {"<?xml"sv, "XML (an OpenVINO model?)", "give the ONNX file that it was made from"},
    {"\x93NUMPY"sv, "a NumPy array", ""},
};

tl::unexpected<core::Error> NotAModel(const std::string& name, std::string_view what,
                                      std::string_view then = {}) {
  return core::UsageError("{}: is {}; {}", name, what, then.empty() ? kExport : then);
}

// Eight bytes of length, then a JSON header.
bool LooksLikeSafetensors(std::string_view bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  return length >= 2 && length <= bytes.size() - 8;
}

// The keys of the outermost object, as far as they tell the formats apart. Values are skipped
// without being understood, so this works on files that the readers will complain about.
std::set<std::string, std::less<>> TopKeys(std::string_view text) {
  constexpr std::size_t kMostKeys = 10'000;
  std::set<std::string, std::less<>> keys;
  int depth = 0;
  bool key_next = false;
  for (std::size_t i = 0; i < text.size() && keys.size() < kMostKeys; ++i) {
    switch (text[i]) {
      case '{':
      case '[':
        key_next = ++depth == 1;
        break;
      case '}':
      case ']':
        --depth;
        break;
      case ',':
        key_next = depth == 1;
        break;
      case '"': {
        const std::size_t begin = ++i;
        while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        if (depth == 1 && key_next)
          keys.emplace(text.substr(begin, std::min(i, text.size()) - begin));
        key_next = false;
        break;
      }
      default:
        break;
    }
  }
  return keys;
}

core::Result<Graph> ReadJson(std::string_view text, const std::string& name,
                             const Binding& binding) {
  const auto keys = TopKeys(text);
  const auto has = [&](std::string_view key) { return keys.contains(key); };
  if (has("model_type")) return ReadConfig(text, name, binding);
  if (has("layers")) return ReadLayers(text, name, binding);
  if (has("weight_map"))
    return NotAModel(name, "the index of sharded weights", "give the config.json beside it");
  if (has("added_tokens") || has("tokenizer_class")) {
    return NotAModel(name, "a tokenizer", "give the config.json beside it");
  }
  if (has("graph_module")) {
    return NotAModel(name, "the graph out of a torch.export archive",
                     "give the .pt2 archive itself");
  }
  if (has("architectures") || has("hidden_size")) {
    return NotAModel(name, "a configuration without model_type, which names the architecture",
                     "add it, as in \"model_type\": \"bert\"");
  }
  return NotAModel(
      name, "JSON, but neither a Hugging Face configuration (model_type) nor a layer list (layers)",
      "see docs/formats/model-graphs.md for both");
}

// A graph that we wrote ourselves: what training adds was put back before.
bool IsGraphFile(std::string_view bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || bytes[first] != '{') return false;
  const std::string_view begin = bytes.substr(first, 64);
  return begin.find("\"format\"") != begin.npos && begin.find("\"sharewell-graph\"") != begin.npos;
}

core::Result<Graph> ReadAny(std::string_view bytes, const std::string& name,
                            const Binding& binding) {
  if (bytes.empty()) return NotAModel(name, "an empty file", "export or download it again");
  if (pt2::Zip::LooksLike(bytes)) return ReadPt2(bytes, name, binding);
  for (const Foreign& foreign : kForeign) {
    if (bytes.starts_with(foreign.begins)) return NotAModel(name, foreign.what, foreign.then);
  }
  if (bytes.size() > 8 && bytes.substr(4, 4) == "TFL3") {
    return NotAModel(name, "a TensorFlow Lite model", "export the model to ONNX (tf2onnx)");
  }
  if (LooksLikeSafetensors(bytes)) {
    return NotAModel(name, "safetensors: weights without a graph",
                     "give the config.json beside it");
  }
  std::string_view text = bytes;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    return ReadJson(text, name, binding);
  }
  if (LooksLikeOnnx(bytes)) return ReadOnnx(bytes, name, binding);
  if (bytes.substr(0, 4096).find("saved_model_schema_version") != std::string_view::npos ||
      bytes.starts_with("\x08\x01\x12")) {
    return NotAModel(name, "a TensorFlow SavedModel", "export the model to ONNX (tf2onnx)");
  }
  return core::UsageError(
      "{}: is no model file that we know (it begins with {}); we read ONNX, torch.export (.pt2), "
      "Hugging Face's config.json and our layer list (docs/formats/model-graphs.md)",
      name, core::Quoted(bytes.substr(0, 12)));
}

}  // namespace

core::Result<Graph> Read(std::string_view bytes, const std::string& name, const Binding& binding) {
  if (binding.batch < 1 || binding.batch > kLargestBatch) {
    return core::UsageError("{}: cannot be read for a batch of {}; give a number from 1 to {}",
                            name, binding.batch, kLargestBatch);
  }
  if (IsToldStep(bytes)) return ReadStepGraph(bytes, name, binding);
  if (IsGraphFile(bytes)) return ReadGraphFile(bytes, name, binding);
  auto graph = ReadAny(bytes, name, binding);
  if (graph) Restore(*graph);
  return graph;
}

}  // namespace sharewell::graph
