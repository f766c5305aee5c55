#include "study/simulation/shared_optimum/schedule.h"

#include <algorithm>
#include <array>
#include <limits>

namespace sharewell::study {
namespace {

constexpr double kOver = 1e-9;  // of a job's seconds: it has ended

struct Running {
  std::uint8_t job = 0;
  std::uint8_t share = 0;
  double left = 0;  // seconds alone
};

class Search {
 public:
  Search(const Configurations& configurations, const Turns& turns, double cutoff,
         std::uint64_t& steps)
      : configurations_(configurations), turns_(turns), best_(cutoff), steps_(steps) {}

  std::optional<Schedule> Run(JobSet jobs) {
    From({}, jobs, 0, 0);
    return std::move(found_);
  }

 private:
  struct Together {
    std::array<Running, kMostTogether> job{};  // rising by job
    std::size_t size = 0;
  };

  // Everything that may be started now beside those who run, and then on to the next end.
  void From(const Together& running, JobSet waiting, JobSet ended, double now) {
    if (steps_ == 0) return;
    --steps_;
    double least = now;
    for (std::size_t i = 0; i < running.size; ++i) {
      least += turns_.worth[running.job[i].job] * running.job[i].left;
    }
    for (std::size_t j = 0; j < configurations_.jobs(); ++j) {
      if ((waiting >> j & 1) != 0) least += turns_.worth[j] * configurations_.AloneSeconds(j);
    }
    if (least >= best_ * (1 - kOver)) return;
    if (running.size == 0 && waiting == 0) {
      best_ = now;
      found_ = Schedule{now, starts_};
      return;
    }
    Start(running, waiting, ended, now, 0);
  }

  // Decides over the waiting jobs from `next` on, one after the other. Starting comes first: full
  // GPUs end sooner, and a good end found early spares the rest.
  void Start(const Together& running, JobSet waiting, JobSet ended, double now, std::size_t next) {
    while (next < configurations_.jobs() && (waiting >> next & 1) == 0) ++next;
    if (next == configurations_.jobs()) {
      if (running.size > 0) Advance(running, waiting, ended, now);
      return;
    }
    if (running.size < kMostTogether) {
      const auto shares = configurations_.SharesOf(next);
      for (std::size_t s = 0; s < shares.size() && steps_ > 0; ++s) {
        const Together more =
            With(running, {static_cast<std::uint8_t>(next), static_cast<std::uint8_t>(s),
                           configurations_.AloneSeconds(next)});
        if (SpeedsOf(more) == nullptr) break;
        starts_.push_back({static_cast<std::uint8_t>(next), shares[s], ended});
        Start(more, waiting & ~(JobSet{1} << next), ended, now, next + 1);
        starts_.pop_back();
      }
    }
    Start(running, waiting, ended, now, next + 1);
  }

  void Advance(const Together& running, JobSet waiting, JobSet ended, double now) {
    const Configuration* speeds = SpeedsOf(running);
    double until = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < running.size; ++i) {
      until = std::min(until, running.job[i].left / speeds->speed[i]);
    }
    Together rest;
    for (std::size_t i = 0; i < running.size; ++i) {
      Running one = running.job[i];
      one.left -= until * speeds->speed[i];
      if (one.left <= kOver * configurations_.AloneSeconds(one.job)) {
        ended |= JobSet{1} << one.job;
      } else {
        rest.job[rest.size++] = one;
      }
    }
    From(rest, waiting, ended, now + until);
  }

  static Together With(Together running, const Running& more) {
    std::size_t at = running.size++;
    while (at > 0 && running.job[at - 1].job > more.job) {
      running.job[at] = running.job[at - 1];
      --at;
    }
    running.job[at] = more;
    return running;
  }

  const Configuration* SpeedsOf(const Together& running) const {
    std::array<std::uint8_t, kMostTogether> jobs{};
    std::array<std::uint8_t, kMostTogether> shares{};
    for (std::size_t i = 0; i < running.size; ++i) {
      jobs[i] = running.job[i].job;
      shares[i] = running.job[i].share;
    }
    return configurations_.Find({jobs.data(), running.size}, {shares.data(), running.size});
  }

  const Configurations& configurations_;
  const Turns& turns_;
  double best_;
  std::uint64_t& steps_;
  std::vector<ScheduledStart> starts_;
  std::optional<Schedule> found_;
};

}  // namespace

std::optional<Schedule> BestSchedule(const Configurations& configurations, JobSet jobs,
                                     const Turns& turns, double cutoff, std::uint64_t& steps) {
  return Search(configurations, turns, cutoff, steps).Run(jobs);
}

}  // namespace sharewell::study
