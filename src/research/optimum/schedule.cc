#include "research/optimum/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace sharewell::research {
namespace {

constexpr double kOver = 1e-9;  // of a job's seconds: it has ended

struct Running {
  std::uint8_t job = 0;
  std::uint8_t share = 0;
  double left = 0;  // seconds alone
};

class Search {
 public:
  // `shares`: false: every job has the largest share that it may have.
  Search(const Configurations& configurations, const Turns& turns, bool shares, double enough,
         double cutoff, std::uint64_t& steps)
      : configurations_(configurations),
        turns_(turns),
        shares_(shares),
        enough_(enough),
        best_(cutoff),
        steps_(steps),
        order_(configurations.jobs()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return configurations.AloneSeconds(a) > configurations.AloneSeconds(b);
    });
  }

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
    double least = 0;
    double longest = 0;  // nobody is faster than alone
    const auto count = [&](std::size_t job, double left) {
      least += turns_.worth[job] * left;
      longest = std::max(longest, left);
    };
    for (std::size_t i = 0; i < running.size; ++i) count(running.job[i].job, running.job[i].left);
    for (std::size_t j = 0; j < configurations_.jobs(); ++j) {
      if ((waiting >> j & 1) != 0) count(j, configurations_.AloneSeconds(j));
    }
    least = now + std::max(least, longest);
    if (best_ <= enough_ || least >= best_ * (1 - kOver)) return;
    if (running.size == 0 && waiting == 0) {
      best_ = now;
      found_ = Schedule{now, starts_};
      return;
    }
    Start(running, waiting, ended, now, 0);
  }

  // Decides over the waiting jobs from the `next`th on, the longest first. Starting comes before
  // waiting: full GPUs end sooner, and a good end found early spares the rest.
  void Start(const Together& running, JobSet waiting, JobSet ended, double now, std::size_t next) {
    while (next < order_.size() && (waiting >> order_[next] & 1) == 0) ++next;
    if (next == order_.size()) {
      if (running.size > 0) Advance(running, waiting, ended, now);
      return;
    }
    const std::size_t job = order_[next];
    if (running.size < kMostTogether) {
      const auto shares = configurations_.SharesOf(job);
      const std::size_t tried = shares_ ? shares.size() : 1;
      for (std::size_t s = 0; s < tried && steps_ > 0; ++s) {
        const Together more =
            With(running, {static_cast<std::uint8_t>(job), static_cast<std::uint8_t>(s),
                           configurations_.AloneSeconds(job)});
        if (SpeedsOf(more) == nullptr) break;
        starts_.push_back({static_cast<std::uint8_t>(job), shares[s], ended});
        Start(more, waiting & ~(JobSet{1} << job), ended, now, next + 1);
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
  bool shares_;
  double enough_, best_;
  std::uint64_t& steps_;
  std::vector<std::size_t> order_;  // of jobs
  std::vector<ScheduledStart> starts_;
  std::optional<Schedule> found_;
};

}  // namespace

std::optional<Schedule> BestSchedule(const Configurations& configurations, JobSet jobs,
                                     const Turns& turns, double enough, double cutoff,
                                     std::uint64_t& steps) {
  // Without shares there is far less to try, and what it finds cuts the rest short.
  auto best = Search(configurations, turns, false, enough, cutoff, steps).Run(jobs);
  if (best) cutoff = best->seconds;
  auto better = Search(configurations, turns, true, enough, cutoff, steps).Run(jobs);
  return better ? better : best;
}

}  // namespace sharewell::research
