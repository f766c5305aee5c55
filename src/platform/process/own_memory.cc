#include "platform/process/own_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

bool Write(const fs::path& path, const std::string& value) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  std::ofstream out(path);
  out << value << std::flush;
  return out.good();
}

}  // namespace

bool BoundOwnMemory(core::Bytes most, const std::string& root) {
  const fs::path base = root;
  std::ifstream groups(base / "proc/self/cgroup");
  std::string own;
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::/", 0) == 0) own = line.substr(4);
  }
  const fs::path path = own;
  const bool service = path.extension() == ".service";
  const bool below = path.filename() == "server" && path.parent_path().extension() == ".service";
  if (!service && !below) return false;  // a terminal's, a container's: others are in it
  const fs::path folder = base / "sys/fs/cgroup" / path;
  std::error_code ignored;
  if (!fs::exists(folder / "memory.max", ignored)) {
    Write(folder.parent_path() / "cgroup.subtree_control", "+memory");
  }
  const std::string now = FirstLine(folder / "memory.max");
  if (now.empty()) return false;
  if (now != "max") return true;  // by an admin, who knows better
  return Write(folder / "memory.max", fmt::format("{:.0f}", most.value));
}

core::Bytes OwnMemoryBound() {
  constexpr double kGiB = double{1 << 30};
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return core::Bytes(std::clamp(all / 4, 2 * kGiB, 16 * kGiB));
}

}  // namespace sharewell::platform
