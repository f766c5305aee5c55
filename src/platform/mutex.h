// Mutex and MutexLock: std::mutex and its lock with the annotations that clang's -Wthread-safety
// checks, which libstdc++'s own lack. What a mutex guards says so (SHAREWELL_GUARDED_BY), and a
// function that wants it held says that (SHAREWELL_REQUIRES): clang then refuses every use without
// it. To wait, use std::condition_variable_any with a MutexLock; its predicate is
// `[&]() SHAREWELL_REQUIRES(mutex_) { ... }`.
#pragma once

#include <mutex>

#if defined(__clang__)
#define SHAREWELL_THREAD_ANNOTATION(annotation) __attribute__((annotation))
#else
#define SHAREWELL_THREAD_ANNOTATION(annotation)
#endif
#define SHAREWELL_GUARDED_BY(mutex) SHAREWELL_THREAD_ANNOTATION(guarded_by(mutex))
#define SHAREWELL_REQUIRES(mutex) SHAREWELL_THREAD_ANNOTATION(requires_capability(mutex))

namespace sharewell::platform {

class SHAREWELL_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() SHAREWELL_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() SHAREWELL_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds it from the beginning to the end of a block, but for what stands between unlock() and
// lock().
class SHAREWELL_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SHAREWELL_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() SHAREWELL_THREAD_ANNOTATION(release_capability()) {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() SHAREWELL_THREAD_ANNOTATION(acquire_capability()) {
    mutex_.lock();
    held_ = true;
  }
  void unlock() SHAREWELL_THREAD_ANNOTATION(release_capability()) {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

}  // namespace sharewell::platform
