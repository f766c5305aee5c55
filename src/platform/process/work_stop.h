// WorkStop: how work that is done elsewhere is ended: from any thread, before it has begun or while
// it is done. Stays so.
#pragma once

namespace sharewell::platform {

class WorkStop {
 public:
  WorkStop();
  ~WorkStop();
  WorkStop(const WorkStop&) = delete;
  WorkStop& operator=(const WorkStop&) = delete;
  void Ask() const;
  bool asked() const;
  int fd() const { return fd_; }  // readable once it was asked

 private:
  const int fd_;
};

}  // namespace sharewell::platform
