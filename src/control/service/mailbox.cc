#include "control/service/mailbox.h"

#include <utility>

namespace sharewell::control {

void Mailbox::Submit(SubmitRequest request) {
  const platform::MutexLock lock(mutex_);
  letters_.push_back({std::move(request), {}});
}

void Mailbox::Do(std::function<void()> action) {
  const platform::MutexLock lock(mutex_);
  letters_.push_back({{}, std::move(action)});
}

void Mailbox::Close() {
  const platform::MutexLock lock(mutex_);
  closed_ = true;
}

bool Mailbox::closed() const {
  const platform::MutexLock lock(mutex_);
  return closed_;
}

void Mailbox::Deliver(const std::function<void(std::span<SubmitRequest>)>& submit) {
  std::vector<Letter> taken;
  {
    const platform::MutexLock lock(mutex_);
    taken.swap(letters_);
  }
  std::vector<SubmitRequest> together;
  const auto submit_together = [&] {
    if (!together.empty()) submit(together);
    together.clear();
  };
  for (Letter& letter : taken) {
    if (!letter.action) {
      together.push_back(std::move(letter.request));
      continue;
    }
    submit_together();
    letter.action();
  }
  submit_together();
}

}  // namespace sharewell::control
