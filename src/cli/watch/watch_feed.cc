#include "cli/watch/watch_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/terminal.h"
#include "core/result.h"
#include "platform/clock/wall_clock.h"
#include "report/jobs/job_tables.h"
#include "store/job_store.h"

namespace sharewell::cli {
namespace {

using report::WatchFacts;
using report::WatchPage;

constexpr auto kEvery = std::chrono::seconds(1);
constexpr std::size_t kMostWatched = 10'000;  // jobs that run
constexpr std::size_t kMostQueue = 2'000;     // that wait: the newest of more
constexpr std::size_t kMostPast = 16;         // GPUs of which the past is asked for
constexpr std::size_t kLogEnd = std::size_t{1} << 16;

// The next to start first: by the forecast, then by number.
void SortQueue(std::vector<core::JobRecord>& queue) {
  std::sort(queue.begin(), queue.end(), [](const core::JobRecord& a, const core::JobRecord& b) {
    if (a.expected_start.has_value() != b.expected_start.has_value()) {
      return a.expected_start.has_value();
    }
    if (a.expected_start != b.expected_start) return *a.expected_start < *b.expected_start;
    return a.number < b.number;
  });
}

std::string WhyText(const ServerClient& client, std::int64_t job) {
  const auto body = client.Get(fmt::format("/jobs/{}/why", job));
  if (!body) return body.error().message;
  const auto why = WhyFromAnswer(*body);
  if (!why) return why.error().message;
  std::string text;
  for (const std::string& sentence : why->sentences) text += report::PlainText(sentence) + "\n";
  if (why->expected_start) {
    text += "it " + report::StartInWords(*why->expected_start, platform::UnixNow()) + "\n";
  }
  return text;
}

std::string LogText(const ServerClient& client, std::int64_t job, bool errors) {
  const auto piece = client.Log(job, errors, -static_cast<std::int64_t>(kLogEnd), kLogEnd);
  if (!piece) return piece.error().message;
  std::string text = piece->bytes;
  // It begins in the middle of a line.
  if (text.size() == kLogEnd) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return text.empty() ? "(nothing yet)" : text;
}

// What the server tells of the machine that its jobs run on: this one need not be it, whatever the
// address says (a forwarded port).
report::HostNow HostOf(const report::NodeNow& node) {
  return {.busy = node.cpu_busy, .memory = node.memory, .memory_used = node.memory_used};
}

std::string CancelText(const ServerClient& client, std::int64_t number) {
  const auto body = client.Post(fmt::format("/jobs/{}/cancel", number), "");
  if (!body) return fmt::format("job {}: {}", number, body.error().message);
  const auto job = store::JobFromJson(*body);
  return fmt::format("job {}: {}", number,
                     job ? report::StateInWords(*job, platform::UnixNow()) : "is being cancelled");
}

}  // namespace

WatchFeed::WatchFeed(ServerClient client) : client_(std::move(client)) {
  client_.EndWhen([over = over_.get_token()] { return over.stop_requested(); });
}

WatchFeed::~WatchFeed() {
  over_.request_stop();
  if (thread_.joinable()) thread_.request_stop();
}

void WatchFeed::Start() {
  // Signals are for the thread that is at the keys.
  const HoldInterrupts held;
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

core::Result<WatchFacts> WatchFeed::Ask() {
  WatchFacts facts;
  auto node = client_.Node();
  RETURN_IF_ERROR(node);
  auto gpus = client_.Gpus();
  RETURN_IF_ERROR(gpus);
  auto running = client_.Jobs("phase=starting,running,stopping", kMostWatched);
  RETURN_IF_ERROR(running);
  auto queue = client_.Jobs("phase=waiting,held", kMostQueue);
  RETURN_IF_ERROR(queue);
  facts.node = std::move(*node);
  facts.gpus = std::move(*gpus);
  facts.running = std::move(running->jobs);
  std::reverse(facts.running.begin(), facts.running.end());
  facts.counts = std::move(running->counts);
  facts.queue = std::move(queue->jobs);
  SortQueue(facts.queue);
  facts.host = HostOf(facts.node);
  return facts;
}

// Once: from then on the answers tell. A GPU without a job has no samples that can be asked for.
void WatchFeed::AskPast(WatchFacts& facts) {
  if (std::exchange(past_asked_, true)) return;
  std::size_t asked = 0;
  for (const report::GpuNow& gpu : facts.gpus) {
    if (gpu.jobs.empty() || gpu.simulated || asked == kMostPast) continue;
    ++asked;
    // The first one there has seen most of it.
    const auto samples = client_.Get(fmt::format(
        "/jobs/{}/samples?most=2000", *std::min_element(gpu.jobs.begin(), gpu.jobs.end())));
    if (samples) facts.past[gpu.gpu.uuid] = BusyFromAnswer(*samples, gpu.gpu);
  }
}

std::string WatchFeed::AskText(const Wish& wish) const {
  return wish.page == WatchPage::kWhy ? WhyText(client_, wish.job)
                                      : LogText(client_, wish.job, wish.errors);
}

void WatchFeed::RunOnce() {
  std::vector<std::int64_t> cancels;
  Wish wish;
  {
    const platform::MutexLock lock(mutex_);
    cancels.swap(cancels_);
    wish = wish_;
    asked_ = false;
  }
  for (const std::int64_t job : cancels) {
    std::string said = CancelText(client_, job);
    const platform::MutexLock lock(mutex_);
    news_.said = std::move(said);
  }
  if (wish.page == WatchPage::kWhy || wish.page == WatchPage::kLog) {
    std::string text = AskText(wish);
    const platform::MutexLock lock(mutex_);
    if (wish == wish_) news_.text = std::move(text);
  }
  auto facts = Ask();
  if (facts) AskPast(*facts);
  const platform::MutexLock lock(mutex_);
  news_.lost = facts ? std::string() : facts.error().message;
  if (facts) news_.facts = std::move(*facts);
}

void WatchFeed::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    RunOnce();
    platform::MutexLock lock(mutex_);
    wake_.wait_for(lock, stop, kEvery, [&]() SHAREWELL_REQUIRES(mutex_) { return asked_; });
  }
}

WatchFeed::News WatchFeed::Take() {
  const platform::MutexLock lock(mutex_);
  return std::exchange(news_, News());
}

void WatchFeed::Look(WatchPage page, std::int64_t job, bool errors) {
  const platform::MutexLock lock(mutex_);
  const Wish wish{page, job, errors};
  if (wish == wish_) return;
  wish_ = wish;
  news_.text.reset();
  asked_ = true;
  wake_.notify_one();
}

void WatchFeed::Cancel(std::int64_t job) {
  const platform::MutexLock lock(mutex_);
  cancels_.push_back(job);
  asked_ = true;
  wake_.notify_one();
}

}  // namespace sharewell::cli
