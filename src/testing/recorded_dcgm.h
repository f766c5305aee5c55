// RecordedDcgm: the stand-in for DCGM's library (fake_dcgm.cc) as tests use it: a recording and the
// step of it that the machine is at. One at a time.
#pragma once

#include <string>

namespace sharewell::fixtures {

class RecordedDcgm {
 public:
  RecordedDcgm();
  RecordedDcgm(const RecordedDcgm&) = delete;
  RecordedDcgm& operator=(const RecordedDcgm&) = delete;
  ~RecordedDcgm();

  // What the collector is to open.
  static std::string Library();

  // From its first step on.
  void LoadText(const std::string& json);
  void Step(int step);
  int Watches();  // that somebody has now
  int Connections();
  bool Paused();

 private:
  void* handle_;
};

}  // namespace sharewell::fixtures
