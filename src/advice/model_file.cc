#include "advice/model_file.h"

#include <filesystem>

#include "core/result.h"
#include "graph/read.h"
#include "platform/files/mapped_file.h"

namespace sharewell::advice {

core::Result<graph::Graph> ReadModel(const std::string& path, const graph::Binding& binding,
                                     const std::string& shown) {
  std::error_code ignored;
  std::string file = path;
  if (std::filesystem::is_directory(path, ignored)) {
    const auto config = std::filesystem::path(path) / "config.json";
    if (!std::filesystem::exists(config, ignored)) {
      return core::UsageError(
          "{}: is a folder without a config.json; give a model file, or a folder as Hugging Face "
          "saves it",
          path);
    }
    file = config.string();
  }
  const auto mapped = platform::MappedFile::Open(file, platform::MappedFile::Access::kSparse);
  if (!mapped && !shown.empty()) {
    return tl::unexpected(core::Error(mapped.error()).Within(shown));
  }
  RETURN_IF_ERROR(mapped);
  return graph::Read(mapped->text(), shown.empty() ? file : shown, binding);
}

}  // namespace sharewell::advice
