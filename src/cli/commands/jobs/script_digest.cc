#include "cli/commands/jobs/script_digest.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "core/key_digest.h"

namespace sharewell::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestScript = std::uintmax_t{4} << 20;

std::optional<std::string> TextOfScript(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestScript || error) {
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool IsScriptName(const fs::path& path) {
  return path.extension() == ".py" || path.extension() == ".sh";
}

// Of "-m package.train".
fs::path FileOfModule(std::string module, const fs::path& folder) {
  std::replace(module.begin(), module.end(), '.', '/');
  const fs::path file = folder / (module + ".py");
  std::error_code error;
  return fs::exists(file, error) ? file : folder / module / "__main__.py";
}

}  // namespace

std::string ScriptDigest(const std::vector<std::string>& command, const std::string& folder) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool module = command[i] == "-m" && i + 1 < command.size();
    const fs::path path =
        module ? FileOfModule(command[i + 1], folder) : folder / fs::path(command[i]);
    const bool own = i == 0 && command[i].find('/') != std::string::npos;  // "./run"
    if (!module && !own && !IsScriptName(path)) continue;
    const auto text = TextOfScript(path);
    if (!text || (own && !IsScriptName(path) && !text->starts_with("#!"))) continue;
    return core::TextOf(core::DigestOf(path.lexically_normal().string() + '\0' + *text));
  }
  return {};
}

}  // namespace sharewell::cli
