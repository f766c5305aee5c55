#include "collect/host/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <system_error>

#include "collect/host/scan.h"

namespace sharewell::collect {
namespace {

constexpr std::size_t kFirstBuffer = 16 * 1024;
constexpr std::size_t kMostBytes = 4 * 1024 * 1024;
constexpr int kQuotedUnread = 3;
constexpr std::size_t kMostNameBytes = 80;

// A captured tree may hold anything: a pipe must not make us wait, nor a terminal become ours.
int OpenToRead(const char* path) {
  return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

}  // namespace

KeptFile::KeptFile(KeptFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    path_ = std::move(other.path_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

KeptFile::~KeptFile() {
  if (fd_ >= 0) ::close(fd_);
}

HostFiles::HostFiles(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::optional<std::string_view> HostFiles::ReadAll(int fd) {
  if (buffer_.empty()) buffer_.resize(kFirstBuffer);
  std::size_t size = 0;
  while (true) {
    const ssize_t got =
        ::pread(fd, buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      error_ = errno;
      return std::nullopt;
    }
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size < buffer_.size()) continue;
    if (size >= kMostBytes) break;
    buffer_.resize(buffer_.size() * 2);
  }
  error_ = 0;
  return std::string_view(buffer_.data(), size);
}

std::optional<std::string_view> HostFiles::Read(std::string_view path) {
  name_.assign(root_).append(path);
  const int fd = OpenToRead(name_.c_str());
  if (fd < 0) {
    error_ = errno;
    return std::nullopt;
  }
  const auto text = ReadAll(fd);
  ::close(fd);
  return text;
}

std::optional<std::string_view> HostFiles::Read(KeptFile& file) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool was_open = file.fd_ >= 0;
    if (!was_open) {
      name_.assign(root_).append(file.path_);
      file.fd_ = OpenToRead(name_.c_str());
      if (file.fd_ < 0) {
        error_ = errno;
        return std::nullopt;
      }
    }
    if (const auto text = ReadAll(file.fd_)) return text;
    ::close(std::exchange(file.fd_, -1));
    if (!was_open) break;
  }
  return std::nullopt;
}

std::vector<std::string> HostFiles::Names(std::string_view path) {
  std::vector<std::string> names;
  name_.assign(root_).append(path);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(name_.c_str()), ::closedir);
  if (!folder) {
    error_ = errno;
    return names;
  }
  error_ = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool HostFiles::Exists(std::string_view path) {
  name_.assign(root_).append(path);
  if (::access(name_.c_str(), F_OK) == 0) return true;
  error_ = errno;
  return false;
}

std::optional<std::uint64_t> HostFiles::Number(std::string_view path) {
  auto text = Read(path);
  if (!text) return std::nullopt;
  return TakeUnsigned(*text);
}

std::optional<std::string> HostFiles::Line(std::string_view path) {
  auto text = Read(path);
  if (!text) return std::nullopt;
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const auto first = text->find_first_not_of(kBlank);
  if (first == std::string_view::npos) return std::nullopt;
  const auto line = text->substr(first, text->find('\n', first) - first);
  return std::string(line.substr(0, line.find_last_not_of(kBlank) + 1));
}

std::string HostFiles::LinkTarget(std::string_view path) {
  name_.assign(root_).append(path);
  std::string target(512, '\0');
  const ssize_t size = ::readlink(name_.c_str(), target.data(), target.size());
  target.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return target;
}

bool IsX86(HostFiles& files) {
  const auto cpus = files.Read("/proc/cpuinfo");
  return cpus && cpus->find("vendor_id") != cpus->npos;
}

bool IsVirtualMachine(HostFiles& files) {
  const auto info = files.Read("/proc/cpuinfo");
  if (info && info->find(" hypervisor") != std::string_view::npos) return true;
  if (files.Exists("/sys/hypervisor/type")) return true;
  const std::string vendor = files.Line("/sys/class/dmi/id/sys_vendor").value_or("");
  for (const std::string_view known : {"QEMU", "Amazon EC2", "Google", "KVM", "VMware, Inc.", "Xen",
                                       "innotek GmbH", "Parallels"}) {
    if (vendor == known) return true;
  }
  return false;
}

std::string ErrorText(int error) {
  if (error == ENOENT) return "it is not there";
  if (error == EACCES || error == EPERM) return "permission denied";
  return std::error_code(error, std::generic_category()).message();
}

void Unread::Add(std::string_view what, int error) {
  if (error != ENOENT && error != ENODEV) absent_ = false;
  if (count_++ < kQuotedUnread) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : "; ", what, ErrorText(error));
  }
}

void Unread::Add(std::string_view what, std::string_view why) {
  absent_ = false;
  if (count_++ < kQuotedUnread) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : "; ", what, why);
  }
}

core::Result<void> Unread::Outcome() const {
  if (count_ == 0) return {};
  std::string text = text_;
  if (count_ > kQuotedUnread) text += fmt::format("; and {} more", count_ - kQuotedUnread);
  return tl::unexpected(core::Error{absent_ ? core::ErrorKind::kAbsent : core::ErrorKind::kFailed,
                                    text + "; `sharewell doctor` says what would mend it"});
}

std::string CleanName(std::string_view text) {
  std::string name(text.substr(0, kMostNameBytes));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; },
      '?');
  return name;
}

void Put(std::vector<core::Reading>& out, const core::Metric& metric, double value,
         std::string_view instance, std::string_view job) {
  if (!std::isfinite(value)) return;
  out.push_back({&metric, std::string(instance), std::string(job), value});
}

}  // namespace sharewell::collect
