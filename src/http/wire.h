// What the threads of a server and of those who answer for it share: a box that work for the
// server's thread is put into, and the state of answers and streams. For HttpServer alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/http_message.h"
#include "http/listener.h"
#include "http/meter.h"
#include "platform/mutex.h"

namespace sharewell::http::wire {

// Any thread puts, the server's takes.
class Mailbox {
 public:
  Mailbox();
  // Never waits for the server. After Close: dropped.
  void Post(std::function<void()> work);
  void Close();
  std::vector<std::function<void()>> Take();
  int fd() const { return wake_.get(); }  // readable while something is in it
  void Own() { owner_ = std::this_thread::get_id(); }
  bool Mine() const { return owner_ == std::this_thread::get_id(); }

 private:
  platform::Mutex mutex_;
  std::vector<std::function<void()>> waiting_ SHAREWELL_GUARDED_BY(mutex_);
  bool open_ SHAREWELL_GUARDED_BY(mutex_) = true;
  Fd wake_;
  std::atomic<std::thread::id> owner_{};
};

class Connection;

// An open answer.
struct Stream {
  std::shared_ptr<Mailbox> mailbox;
  std::weak_ptr<Connection> connection;
  std::size_t most_waiting = 0;
  std::atomic<std::size_t> waiting{0};  // bytes: on their way to the server's thread, or there
  std::atomic<bool> closed{false};
  // The server's thread alone:
  std::function<void()> gone, drained;
};

// The answer that a request waits for.
struct Answerer {
  std::shared_ptr<Mailbox> mailbox;
  std::weak_ptr<Connection> connection;
  std::uint64_t request = 0;  // of that connection
  std::size_t most_stream_bytes = 0;
  std::shared_ptr<Meter> meter;  // of whoever asks
  std::atomic<bool> answered{false};
  ~Answerer();
};

}  // namespace sharewell::http::wire
