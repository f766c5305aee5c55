#include "http/wire.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "http/connection.h"
#include "http/http_server.h"

namespace sharewell::http {
namespace wire {

Mailbox::Mailbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Mailbox::Post(std::function<void()> work) {
  const platform::MutexLock lock(mutex_);
  if (!open_) return;
  waiting_.push_back(std::move(work));
  if (waiting_.size() > 1) return;  // it is on its way already
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

std::vector<std::function<void()>> Mailbox::Take() {
  const platform::MutexLock lock(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
  return std::exchange(waiting_, {});
}

void Mailbox::Close() {
  std::vector<std::function<void()>> dropped;  // goes without the lock: it may post
  const platform::MutexLock lock(mutex_);
  open_ = false;
  dropped.swap(waiting_);
}

Answerer::~Answerer() {
  if (answered) return;
  mailbox->Post([to = connection, number = request] {
    if (const auto there = to.lock()) there->Drop(number);
  });
}

}  // namespace wire

StreamWriter::StreamWriter(std::shared_ptr<wire::Stream> stream) : stream_(std::move(stream)) {}

bool StreamWriter::Write(std::shared_ptr<const std::string> bytes) const {
  if (stream_->closed) return false;
  const std::size_t size = bytes->size();
  if (stream_->waiting.fetch_add(size) + size > stream_->most_waiting) {
    Close();
    return false;
  }
  if (stream_->mailbox->Mine()) {
    if (const auto there = stream_->connection.lock()) there->Send(bytes);
    return true;
  }
  stream_->mailbox->Post([to = stream_->connection, bytes = std::move(bytes)] {
    if (const auto there = to.lock()) there->Send(bytes);
  });
  return true;
}

void StreamWriter::Close() const {
  stream_->mailbox->Post([to = stream_->connection] {
    if (const auto there = to.lock()) there->EndStream();
  });
}

Responder::Responder(std::shared_ptr<wire::Answerer> answerer) : answerer_(std::move(answerer)) {}

void Responder::Answer(HttpResponse response) const {
  if (answerer_->answered.exchange(true)) return;
  const auto deliver = [to = answerer_->connection,
                        number = answerer_->request](HttpResponse&& answer) {
    if (const auto there = to.lock()) there->Respond(number, std::move(answer));
  };
  if (answerer_->mailbox->Mine()) return deliver(std::move(response));
  answerer_->mailbox->Post([deliver, answer = std::make_shared<HttpResponse>(std::move(response))] {
    deliver(std::move(*answer));
  });
}

const std::shared_ptr<Meter>& Responder::meter() const { return answerer_->meter; }

void Responder::WhenGone(std::function<void()> gone) const {
  const auto watch = [to = answerer_->connection, number = answerer_->request,
                      gone = std::move(gone)] {
    if (const auto there = to.lock()) return there->WhenGone(number, gone);
    gone();  // it left before
  };
  if (answerer_->mailbox->Mine()) return watch();
  answerer_->mailbox->Post(watch);
}

StreamWriter Responder::Stream(HttpResponse head, std::function<void()> gone,
                               std::function<void()> drained) const {
  auto stream = std::make_shared<wire::Stream>();
  stream->mailbox = answerer_->mailbox;
  stream->connection = answerer_->connection;
  stream->most_waiting = answerer_->most_stream_bytes;
  stream->gone = std::move(gone);
  stream->drained = std::move(drained);
  if (answerer_->answered.exchange(true)) {
    stream->closed = true;
    return StreamWriter(stream);
  }
  const auto open = [to = answerer_->connection, number = answerer_->request,
                     stream](HttpResponse&& answer) {
    const auto there = to.lock();
    if (there) return there->Open(number, answer, stream);
    stream->closed = true;  // it left before
    if (auto left = std::exchange(stream->gone, nullptr)) left();
  };
  if (answerer_->mailbox->Mine()) {
    open(std::move(head));
  } else {
    answerer_->mailbox->Post([open, answer = std::make_shared<HttpResponse>(std::move(head))] {
      open(std::move(*answer));
    });
  }
  return StreamWriter(stream);
}

}  // namespace sharewell::http
