#include "policy/generations/exchange.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sharewell::policy {
namespace {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 200;

class Table {
 public:
  Table(const Market& market, const std::vector<ExchangeJob>& jobs,
        const std::vector<std::size_t>& model_of)
      : market_(market),
        jobs_(jobs),
        model_of_(model_of),
        seats_(model_of.size(), Seats{kNobody, kNobody}),
        seat_of_(jobs.size(), kNobody),
        worth_(model_of.size(), 0) {}

  void SeatAsTheyRun() {
    for (int j = 0; j < Count(); ++j) {
      const int gpu = Job(j).gpu;
      if (gpu == kNobody) continue;
      Seat(gpu, seats_[Index(gpu)][0] == kNobody ? 0 : 1, j);
    }
  }

  // GPU by GPU, the one job or pair of those left that is worth most on any model with a GPU left.
  void SeatGreedily() {
    for (int taken = 0; taken < Gpus(); ++taken) {
      double best = 0;
      int where = kNobody;
      Seats who{kNobody, kNobody};
      std::vector<bool> seen(market_.models(), false);
      for (int g = 0; g < Gpus(); ++g) {
        const std::size_t m = model_of_[Index(g)];
        if (seats_[Index(g)][0] != kNobody || seen[m]) continue;
        seen[m] = true;
        for (int a = 0; a < Count(); ++a) {
          if (seat_of_[Index(a)] != kNobody) continue;
          for (int b = kNobody; b < Count(); b = b == kNobody ? a + 1 : b + 1) {
            if (b != kNobody && seat_of_[Index(b)] != kNobody) continue;
            const double worth = Worth(g, a, b);
            if (worth <= best) continue;
            best = worth;
            where = g;
            who = {a, b};
          }
        }
      }
      if (where == kNobody) return;
      where = WhereOneOfThemIs(where, who);
      Seat(where, 0, who[0]);
      if (who[1] != kNobody) Seat(where, 1, who[1]);
    }
  }

  double Sum() const {
    double sum = 0;
    for (double worth : worth_) sum += std::max(worth, 0.0);
    return sum;
  }

  // GPUs of a model are alike: afterwards each set of jobs is put back where most of it was.
  std::vector<Seats> Improve() {
    least_gain_ = 1e-9 * std::max(Sum(), 1e-12);
    for (int round = 0; round < kMostRounds; ++round) {
      bool improved = false;
      for (int g = 0; g < Gpus(); ++g) {
        for (int k = 0; k < 2; ++k) improved = ImproveSeat(g, k) || improved;
      }
      for (int g = 0; !improved && g < Gpus(); ++g) improved = ImprovePair(g);
      if (!improved) break;
    }
    return Relabelled();
  }

 private:
  static std::size_t Index(int i) { return static_cast<std::size_t>(i); }
  int Count() const { return static_cast<int>(jobs_.size()); }
  int Gpus() const { return static_cast<int>(seats_.size()); }
  const ExchangeJob& Job(int j) const { return jobs_[Index(j)]; }

  // An empty GPU of the same model that one of them runs on already, if there is one.
  int WhereOneOfThemIs(int gpu, const Seats& who) const {
    for (int job : who) {
      if (job == kNobody || Job(job).gpu == kNobody) continue;
      const int own = Job(job).gpu;
      if (model_of_[Index(own)] == model_of_[Index(gpu)] && seats_[Index(own)][0] == kNobody)
        return own;
    }
    return gpu;
  }

  std::vector<Seats> Relabelled() const {
    std::vector<Seats> out(seats_.size(), Seats{kNobody, kNobody});
    std::vector<bool> taken(seats_.size(), false);
    std::vector<int> homeless;
    // Those with both jobs at home first, then one, then none.
    for (int at_home = 2; at_home >= 0; --at_home) {
      for (int g = 0; g < Gpus(); ++g) {
        const Seats& who = seats_[Index(g)];
        if (BestHome(who, g).second != at_home) continue;
        const int home = BestHome(who, g).first;
        if (at_home > 0 && !taken[Index(home)]) {
          out[Index(home)] = who;
          taken[Index(home)] = true;
        } else {
          homeless.push_back(g);
        }
      }
    }
    for (int g : homeless) {
      for (int h = 0; h < Gpus(); ++h) {
        if (taken[Index(h)] || model_of_[Index(h)] != model_of_[Index(g)]) continue;
        out[Index(h)] = seats_[Index(g)];
        taken[Index(h)] = true;
        break;
      }
    }
    return out;
  }

  // The GPU of g's model on which most of these jobs run now, and how many.
  std::pair<int, int> BestHome(const Seats& who, int g) const {
    std::pair<int, int> best{g, 0};
    for (int job : who) {
      if (job == kNobody || Job(job).gpu == kNobody) continue;
      const int home = Job(job).gpu;
      if (model_of_[Index(home)] != model_of_[Index(g)]) continue;
      int count = 0;
      for (int other : who) count += other != kNobody && Job(other).gpu == home ? 1 : 0;
      if (count > best.second) best = {home, count};
    }
    return best;
  }

  double Worth(int gpu, int a, int b) const {
    if (a == kNobody) std::swap(a, b);
    if (a == kNobody) return 0;
    const std::size_t m = model_of_[Index(gpu)];
    double worth = 0;
    if (b == kNobody) {
      worth = Job(a).weight * market_.alone[m][Job(a).kind];
      if (worth <= 0) return kForbidden;
    } else {
      const double rate = market_.beside[m][Job(a).kind][Job(b).kind];
      if (rate <= 0) return kForbidden;
      worth = Job(a).weight * rate + Job(b).weight * market_.beside[m][Job(b).kind][Job(a).kind];
      if (Job(b).gpu == gpu) worth += Job(b).stays;
    }
    if (Job(a).gpu == gpu) worth += Job(a).stays;
    return worth;
  }

  void Seat(int gpu, int k, int job) {
    seats_[Index(gpu)][Index(k)] = job;
    if (job != kNobody) seat_of_[Index(job)] = 2 * gpu + k;
    worth_[Index(gpu)] = Worth(gpu, seats_[Index(gpu)][0], seats_[Index(gpu)][1]);
  }

  // The best job for one seat: somebody who waits, somebody from another seat in exchange, or
  // nobody.
  bool ImproveSeat(int g, int k) {
    const int sits = seats_[Index(g)][Index(k)];
    const int other = seats_[Index(g)][Index(1 - k)];
    const double before = worth_[Index(g)];
    const auto gain = [](double after, double from) {
      if (after == kForbidden) return kForbidden;
      return from == kForbidden ? std::numeric_limits<double>::max() : after - from;
    };
    double best = least_gain_;
    int who = -2;
    for (int j = 0; j < Count(); ++j) {
      if (j == sits || j == other) continue;
      const int seat = seat_of_[Index(j)];
      const double here = Worth(g, j, other);
      double d = kForbidden;
      if (seat == kNobody) {
        d = gain(here, before);
      } else if (const int h = seat / 2; h != g && here != kForbidden) {
        const double there = Worth(h, sits, seats_[Index(h)][Index(1 - seat % 2)]);
        if (there != kForbidden) d = gain(here + there, before + worth_[Index(h)]);
      }
      if (d > best) {
        best = d;
        who = j;
      }
    }
    if (sits != kNobody && gain(Worth(g, kNobody, other), before) > best) who = kNobody;
    if (who == -2) return false;
    const int from = who == kNobody ? kNobody : seat_of_[Index(who)];
    if (sits != kNobody) seat_of_[Index(sits)] = kNobody;
    if (from != kNobody) Seat(from / 2, from % 2, sits);
    Seat(g, k, who);
    return true;
  }

  // Both seats of one GPU for the best two who do not run elsewhere.
  bool ImprovePair(int g) {
    const auto may = [&](int j) {
      return seat_of_[Index(j)] == kNobody || seat_of_[Index(j)] / 2 == g;
    };
    double best = std::max(worth_[Index(g)], 0.0) + least_gain_;
    int first = kNobody;
    int second = kNobody;
    for (int a = 0; a < Count(); ++a) {
      if (!may(a)) continue;
      for (int b = a + 1; b < Count(); ++b) {
        if (!may(b)) continue;
        const double worth = Worth(g, a, b);
        if (worth <= best) continue;
        best = worth;
        first = a;
        second = b;
      }
    }
    if (first == kNobody) return false;
    for (int job : seats_[Index(g)]) {
      if (job != kNobody) seat_of_[Index(job)] = kNobody;
    }
    seats_[Index(g)] = {kNobody, kNobody};
    Seat(g, 0, first);
    Seat(g, 1, second);
    return true;
  }

  const Market& market_;
  const std::vector<ExchangeJob>& jobs_;
  const std::vector<std::size_t>& model_of_;
  std::vector<Seats> seats_;
  std::vector<int> seat_of_;
  std::vector<double> worth_;
  double least_gain_ = 0;
};

}  // namespace

std::vector<Seats> Exchange(const Market& market, const std::vector<ExchangeJob>& jobs,
                            const std::vector<std::size_t>& model_of) {
  Table present(market, jobs, model_of);
  present.SeatAsTheyRun();
  const std::vector<Seats> stay = present.Improve();
  Table anew(market, jobs, model_of);
  anew.SeatGreedily();
  const std::vector<Seats> change = anew.Improve();
  return anew.Sum() > present.Sum() * (1 + 1e-9) ? change : stay;
}

}  // namespace sharewell::policy
