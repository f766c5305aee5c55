// Passes what a child writes on to where it would have gone, and shows it on the way.
//
// Never blocks: what the receiver does not take yet is held (at most one block), and the child
// waits for its pipe as it would have waited for the receiver.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::platform {

class OutputRelay {
 public:
  // To the file descriptor `to`, which the caller keeps open (-1: nowhere). A terminal there is a
  // terminal of the same size for the child.
  static core::Result<std::unique_ptr<OutputRelay>> Make(
      int to, std::function<void(std::string_view)> seen);
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;
  ~OutputRelay();

  int child_end() const { return child_end_; }  // what the child writes to
  void CloseChildEnd();                         // once it has been started
  // What poll() must wait for now: one descriptor and its events; -1: nothing more will come.
  int Descriptor() const;
  short Events() const;
  // Reads and passes on what goes without waiting; true when it did something.
  bool Step();
  void CopyWindowSize();  // of our terminal to the child's

 private:
  OutputRelay(int to, int from, int child_end, std::function<void(std::string_view)> seen);
  void Close(int& file);

  int to_, from_, child_end_;
  std::function<void(std::string_view)> seen_;
  std::string held_;
  std::size_t passed_ = 0;  // of held_
};

}  // namespace sharewell::platform
