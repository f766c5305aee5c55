#include "platform/process/cpu_set.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "core/text/quoted.h"
#include "platform/files/text.h"

namespace sharewell::platform {
namespace {

constexpr int kMostCpu = 65535;

std::optional<int> CpuNumber(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < 0 || number > kMostCpu || text.front() == '-') return std::nullopt;
  return number;
}

}  // namespace

core::Result<std::vector<int>> ParseCpus(std::string_view text) {
  std::set<int> cpus;
  const auto wrong = [&](std::string_view part) {
    return core::UsageError(
        "{} is no set of CPUs: {} is neither a number up to {} nor a range; "
        "write 0-3,8",
        core::Quoted(text), core::Quoted(part), kMostCpu);
  };
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = Trimmed(text.substr(begin, end - begin));
    const std::size_t dash = part.find('-');
    const auto first = CpuNumber(Trimmed(part.substr(0, dash)));
    const auto last = dash == part.npos ? first : CpuNumber(Trimmed(part.substr(dash + 1)));
    if (!first || !last || *last < *first) return wrong(part);
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
    begin = end + 1;
  }
  return std::vector<int>(cpus.begin(), cpus.end());
}

std::string FormatCpus(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (j > i) text += '-' + std::to_string(cpus[j]);
    i = j + 1;
  }
  return text;
}

std::vector<int> AllowedCpus(int thread) {
  // The kernel wants room for as many CPUs as it could ever have.
  for (int count = 1024; count <= kMostCpu + 1; count *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(count));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(count));
    CPU_ZERO_S(size, set);
    std::vector<int> cpus;
    const bool read = ::sched_getaffinity(thread, size, set) == 0;
    const bool too_small = !read && errno == EINVAL;
    for (int cpu = 0; read && cpu < count; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!too_small) return cpus;
  }
  return {};
}

}  // namespace sharewell::platform
