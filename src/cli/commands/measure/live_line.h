// The line that a watch draws on a terminal while it runs: on stderr, redrawn in place, nothing at
// all elsewhere.
#pragma once

#include <cstddef>
#include <string>

#include "measure/watch.h"

namespace sharewell::cli {

// "warming up 3 s | 27.8 steps/s | GPU 97 % SM 81 % 11.5 GiB | 1.5 cores 4.2 GiB".
std::string LiveText(const measure::WatchLine& line);

class LiveLine {
 public:
  LiveLine();
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void Show(const measure::WatchLine& line);
  void Clear();

 private:
  bool on_ = false;
  bool drawn_ = false;
};

}  // namespace sharewell::cli
