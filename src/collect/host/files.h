// Files below a root folder ("/" or a captured tree), read the cheap way: one buffer for all, and
// those that are read again and again stay open.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "core/result.h"

namespace sharewell::collect {

// A file that stays open between readings. Opened again when its device went and came back.
class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(std::string path) : path_(std::move(path)) {}  // from the root: "/proc/stat"
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  ~KeptFile();

  const std::string& path() const { return path_; }

 private:
  friend class HostFiles;
  std::string path_;
  int fd_ = -1;
};

// One thread uses it. A text is valid until the next reading. None: the file could not be read, and
// error() is the errno. More than 4 MiB are never taken in.
class HostFiles {
 public:
  explicit HostFiles(std::string root);

  std::optional<std::string_view> Read(std::string_view path);
  std::optional<std::string_view> Read(KeptFile& file);
  // The names in a folder, sorted; empty when it cannot be read (error() says why, 0: it is empty).
  std::vector<std::string> Names(std::string_view path);
  bool Exists(std::string_view path);
  // The first word of a file as a whole number, as most of sysfs is.
  std::optional<std::uint64_t> Number(std::string_view path);
  // The text of a one-line file, without blanks around it.
  std::optional<std::string> Line(std::string_view path);
  std::string LinkTarget(std::string_view path);  // empty: no link

  int error() const { return error_; }
  const std::string& root() const { return root_; }  // without the slash at the end
  std::string Full(std::string_view path) const { return root_ + std::string(path); }

 private:
  std::optional<std::string_view> ReadAll(int fd);

  std::string root_;
  std::string buffer_, name_;
  int error_ = 0;
};

// What could not be read in one round, as the error that Collect returns.
class Unread {
 public:
  void Add(std::string_view what, int error);
  void Add(std::string_view what, std::string_view why);
  bool empty() const { return count_ == 0; }
  core::Result<void> Outcome() const;  // success where nothing was added

 private:
  std::string text_;
  int count_ = 0;
  bool absent_ = true;
};

// Whether the machine says that it is a virtual one: sensors and counters of the processor are then
// its host's.
bool IsVirtualMachine(HostFiles& files);
bool IsX86(HostFiles& files);  // by its processors' vendor

// "no such file", "permission denied" ... for a person.
std::string ErrorText(int error);

// A name from firmware, a device or a user, as it may stand in Reading::instance or job: at most 80
// bytes, and '?' for what is not printable ASCII, quotes and backslashes.
std::string CleanName(std::string_view text);

// Appends a reading; one that is not finite is left out.
void Put(std::vector<core::Reading>& out, const core::Metric& metric, double value,
         std::string_view instance = {}, std::string_view job = {});

}  // namespace sharewell::collect
