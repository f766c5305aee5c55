#include "platform/process/bandwidth_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "platform/files/text.h"

namespace sharewell::platform {
namespace {

constexpr const char* kResctrl = "/sys/fs/resctrl";

// "0=100;1=100" of the line "MB:0=100;1=100"; empty: it has none.
std::string BandwidthLine(const std::string& folder) {
  std::ifstream file(folder + "/schemata");
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = Trimmed(line);
    if (text.starts_with("MB:")) return std::string(text.substr(3));
  }
  return {};
}

int NumberIn(const std::string& path, int otherwise) {
  std::ifstream file(path);
  int number = 0;
  return file >> number && number > 0 ? number : otherwise;
}

bool WriteTo(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t wrote = ::write(file, text.data(), text.size());
  ::close(file);
  return wrote == static_cast<ssize_t>(text.size());
}

}  // namespace

std::unique_ptr<BandwidthGroup> BandwidthGroup::Make(const std::string& name,
                                                     const std::string& root) {
  const std::string base = (root == "/" ? "" : root) + kResctrl;
  if (BandwidthLine(base).empty()) return nullptr;
  const std::string folder = base + "/" + name;
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return nullptr;
  return std::unique_ptr<BandwidthGroup>(new BandwidthGroup(root == "/" ? "" : root, folder));
}

BandwidthGroup::~BandwidthGroup() { (void)::rmdir(folder_.c_str()); }

void BandwidthGroup::Add(const std::vector<int>& pids) {
  for (const int pid : pids) {
    std::error_code gone;
    std::filesystem::directory_iterator thread(fmt::format("{}/proc/{}/task", root_, pid), gone);
    for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone)) {
      (void)WriteTo(folder_ + "/tasks", thread->path().filename().string());
    }
  }
}

bool BandwidthGroup::SetShare(core::Ratio share) {
  const std::string info = root_ + kResctrl + "/info/MB/";
  const int least = NumberIn(info + "min_bandwidth", 10);
  const int step = NumberIn(info + "bandwidth_gran", 10);
  const int wanted = static_cast<int>(std::ceil(share * 100 / step)) * step;
  const int percent = std::clamp(wanted, least, 100);
  std::string line = "MB:";
  const std::string domains = BandwidthLine(root_ + kResctrl);
  for (const std::string_view part : SplitList(domains, ';')) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) return false;
    line += fmt::format("{}{}={}", line.ends_with(':') ? "" : ";", part.substr(0, equals), percent);
  }
  return WriteTo(folder_ + "/schemata", line + "\n");
}

}  // namespace sharewell::platform
