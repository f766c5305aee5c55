#include "collect/host/process.h"

#include <algorithm>
#include <array>

#include "collect/host/memory.h"
#include "collect/host/scan.h"

namespace sharewell::collect {
namespace {

constexpr std::uint64_t kMostPid = std::uint64_t{1} << 30;

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  const auto name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(name_end + 1);
  ProcessStat stat;
  const auto pid = TakeUnsigned(text);
  if (!pid || *pid == 0 || *pid > kMostPid) return std::nullopt;
  stat.pid = static_cast<int>(*pid);
  const std::string_view state = TakeWord(rest);
  if (state.size() != 1) return std::nullopt;
  stat.state = state[0];
  // Fields 4 to 24 of man 5 proc; some that are not used may be negative (terminal, priority).
  std::array<std::optional<std::uint64_t>, 25> field;
  for (std::size_t number = 4; number < field.size(); ++number) {
    field[number] = AsUnsigned(TakeWord(rest));
  }
  for (const std::size_t number : {4, 5, 6}) {
    if (!field[number] || *field[number] > kMostPid) return std::nullopt;
  }
  for (const std::size_t number : {12, 13, 14, 15, 16, 17, 20, 22, 24}) {
    if (!field[number]) return std::nullopt;
  }
  const auto at = [&](std::size_t number) { return field[number].value_or(0); };
  stat.parent = static_cast<int>(at(4));
  stat.group = static_cast<int>(at(5));
  stat.session = static_cast<int>(at(6));
  stat.major_faults = at(12);
  stat.children_major_faults = at(13);
  stat.user = at(14);
  stat.system = at(15);
  stat.children_user = at(16);
  stat.children_system = at(17);
  stat.threads = at(20);
  stat.start = at(22);
  stat.resident_pages = at(24);
  return stat;
}

std::string_view ProcessName(std::string_view stat_text) {
  const auto begin = stat_text.find('('), end = stat_text.rfind(')');
  if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) return {};
  return stat_text.substr(begin + 1, end - begin - 1);
}

std::optional<ProcessIo> ParseProcessIo(std::string_view text) {
  std::optional<std::uint64_t> read, written;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (auto value = AfterKey(line, "read_bytes")) read = TakeUnsigned(*value);
    if (auto value = AfterKey(line, "write_bytes")) written = TakeUnsigned(*value);
  }
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

std::optional<double> ParsePssBytes(std::string_view text) {
  std::optional<double> pss;
  ParseMeminfo(text, [&](std::string_view key, double bytes) {
    if (key == "Pss") pss = bytes;
  });
  return pss;
}

std::vector<int> AllPids(HostFiles& files) {
  std::vector<int> pids;
  for (const std::string& name : files.Names("/proc")) {
    const auto pid = AsUnsigned(name);
    if (pid && *pid > 0 && *pid <= kMostPid) pids.push_back(static_cast<int>(*pid));
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::optional<ProcessStat> ReadProcessStat(HostFiles& files, int pid) {
  const auto text = files.Read(fmt::format("/proc/{}/stat", pid));
  auto stat = text ? ParseProcessStat(*text) : std::nullopt;
  if (stat && stat->pid != pid) stat.reset();
  return stat;
}

std::optional<std::uint32_t> ReadProcessOwner(HostFiles& files, int pid) {
  const auto text = files.Read(fmt::format("/proc/{}/status", pid));
  if (!text) return std::nullopt;
  Lines lines(*text);
  for (std::string_view line; lines.Next(line);) {
    auto value = AfterKey(line, "Uid");
    const auto uid = value ? TakeUnsigned(*value) : std::nullopt;
    if (uid && *uid <= 0xFFFFFFFFU) return static_cast<std::uint32_t>(*uid);
  }
  return std::nullopt;
}

}  // namespace sharewell::collect
