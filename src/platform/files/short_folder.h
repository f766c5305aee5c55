// A folder of one's own below /tmp, gone with the object. Its path is short: the sockets of MPS,
// whose names are bounded, lie in one.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sharewell::platform {

class ShortFolder {
 public:
  ShortFolder() {
    char pattern[] = "/tmp/sharewell-XXXXXX";
    if (::mkdtemp(pattern) != nullptr) path_ = pattern;
  }
  ~ShortFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ShortFolder(const ShortFolder&) = delete;
  ShortFolder& operator=(const ShortFolder&) = delete;

  const std::string& path() const { return path_; }  // empty: it could not be made

 private:
  std::string path_;
};

}  // namespace sharewell::platform
