// RecordedNvml: the stand-in for NVIDIA's library (fake_nvml.cc) as tests use it: a capture and the
// step of it that the machine is at. One at a time.
#pragma once

#include <string>

namespace sharewell::fixtures {

class RecordedNvml {
 public:
  RecordedNvml();
  RecordedNvml(const RecordedNvml&) = delete;
  RecordedNvml& operator=(const RecordedNvml&) = delete;
  ~RecordedNvml();

  // What the collectors are to open.
  static std::string Library();

  // From its first step on. A file that is no capture leaves a library that says nothing.
  void Load(const std::string& path);
  void LoadText(const std::string& json);
  void Step(int step);
  // How often the library was called since it was loaded.
  long Calls();

 private:
  void* handle_;
};

}  // namespace sharewell::fixtures
