// For tests: a folder of one's own, gone afterwards; and where the data sets of others lie.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace sharewell::platform {

class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sharewell-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string Path(const std::string& name) const { return (path_ / name).string(); }
  std::string Write(const std::string& name, std::string_view contents) const {
    std::ofstream(Path(name), std::ios::binary) << contents;
    return Path(name);
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

// A file of the data sets that are not ours to ship; empty when it is not there. Tests run in the
// repository's root.
inline std::string TestData(const std::string& name) {
  const char* root = std::getenv("SHAREWELL_TEST_DATA");
  const auto path = std::filesystem::path(root != nullptr ? root : "../shared/data") / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

}  // namespace sharewell::platform

// At the start of a test that needs such a file.
#define SHAREWELL_NEEDS_DATA(variable, name)                                                   \
  const std::string variable = ::sharewell::platform::TestData(name);                          \
  if (variable.empty()) {                                                                      \
    GTEST_SKIP() << "data set " << name << " is not here; set SHAREWELL_TEST_DATA to have it"; \
  }
