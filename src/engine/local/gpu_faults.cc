#include "engine/local/gpu_faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace sharewell::engine {
namespace {

constexpr std::size_t kMostRecord = 8192;  // as the kernel has it
constexpr int kMostRecords = 100'000;

template <class T>
std::optional<T> NumberAt(std::string_view text) {
  T number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// What follows `words`; empty: they are not there.
std::string_view After(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  return at == text.npos ? std::string_view() : text.substr(at + words.size());
}

}  // namespace

std::optional<int> BlamedIn(std::string_view record, core::Seconds since) {
  // Priority, number, microseconds.
  const auto when = NumberAt<std::int64_t>(After(After(record, ","), ","));
  if (!when || static_cast<double>(*when) / 1e6 < since.value) return std::nullopt;
  const auto xid = After(After(record, "NVRM: Xid ("), "): ");
  const auto number = NumberAt<int>(xid);
  if (number != 13 && number != 31) return std::nullopt;
  const auto pid = After(xid, "pid=");
  // Some versions put it between quotes.
  return NumberAt<int>(pid.starts_with('\'') ? pid.substr(1) : pid);
}

std::set<int> BlamedProcesses(const std::string& path, core::Seconds since) {
  std::set<int> pids;
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return pids;
  std::string rest;
  std::string block(kMostRecord, '\0');
  for (int i = 0; i < kMostRecords; ++i) {
    const ssize_t n = ::read(file, block.data(), block.size());
    if (n < 0 && errno == EPIPE) continue;  // overwritten meanwhile: on with the next
    if (n <= 0) break;
    // A record of the kernel's comes whole; of a file, lines may be cut.
    rest.append(block, 0, static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      const auto line = std::string_view(rest).substr(begin, end - begin);
      if (const auto pid = BlamedIn(line, since)) pids.insert(*pid);
    }
    rest.erase(0, begin);
  }
  ::close(file);
  return pids;
}

}  // namespace sharewell::engine
