// Line: the waiting jobs in an order's turn, kept between decisions. Jobs are put into classes of
// those that need much the same; when some of a class found no place in a decision, the rest of it
// is not tried (it would not find one either), which is what keeps a decision short when thousands
// wait.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/snapshot.h"
#include "policy/order/order.h"
#include "policy/project_standing.h"

namespace sharewell::policy {

class Line {
 public:
  struct Entry {
    int minus_priority = 0;
    double key = 0;
    double submit = 0;
    core::JobId id;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  // `cpu_only`: jobs without a GPU stand in it too. `project_shares` (Options) must outlive it.
  explicit Line(const Order& order, bool cpu_only = true,
                std::span<const core::Ratio> project_shares = {})
      : order_(&order), cpu_only_(cpu_only), project_shares_(project_shares) {}
  Line(const Line&) = delete;  // jobs know where they stand in it
  Line& operator=(const Line&) = delete;

  void Rebuild(const core::Snapshot& snapshot);  // first of all, and when nodes were added
  // The order's keys are others by now: it has to be rebuilt.
  bool Outdated(const core::Snapshot& snapshot) const { return stage_ != order_->Stage(snapshot); }
  // Takes over a job's state after something happened to it. REQUIRES: it is not outdated.
  void Update(const core::Snapshot& snapshot, core::JobId id);

  // The training job that has waited longest, by submission; of an order by user, among the jobs of
  // the user whose turn it is.
  std::optional<core::JobId> Oldest(const core::Snapshot& snapshot) const;

  static Entry EntryOf(const core::Snapshot& snapshot, const Order& order,
                       const core::JobView& view);

  // Walks the line in turn. `visit(JobId)` says whether the job was served; after `misses` unserved
  // jobs of a class, whoever's they are, the rest of that class is left out. Higher priority goes
  // first; then whose project is below its share, those given in this walk counted; then jobs whose
  // key is at least order.TailFrom: the end of all hangs on them. Then the
  // user with the least key, to which each job that is served adds its charge; then, in the tail,
  // the largest key, else the smallest. Where the order adds both keys, the least sum goes first
  // outside the tail; before that, where the order says so, who holds less than an equal share.
  // Equals go by submission and id. `dropped`, by id, can never run: their projects are given
  // nothing, whatever `visit` says.
  template <class Visit>
  void Walk(const core::Snapshot& snapshot, int misses, std::span<const core::JobId> dropped,
            Visit visit) const {
    Turns turns(*this, snapshot, misses, dropped);
    while (const auto id = turns.Next()) turns.Answer(visit(*id));
  }
  template <class Visit>
  void Walk(const core::Snapshot& snapshot, int misses, Visit visit) const {
    Walk(snapshot, misses, {}, visit);
  }

 private:
  // Priority (lowest last, so that a class has but one), GPUs, may share, believed busy, its own
  // slowdown bound and its host memory in steps, allowed models.
  using Needs = std::tuple<int, int, bool, int, int, int, std::vector<core::GpuModelId>, int,
                           std::vector<core::NodeId>>;
  // Whose: the project where projects count, the user where the order goes by user; else 0.
  struct Owner {
    std::uint32_t project = 0, user = 0;
    friend auto operator<=>(const Owner&, const Owner&) = default;
  };
  using Class = std::pair<Needs, Owner>;
  // In turn, and next to each other in memory: a walk reads many of them, and few change.
  using Members = std::vector<Entry>;
  using Classes = std::map<Class, Members>;
  Class ClassOf(const core::JobView& view) const;
  // Of a job that waits: where it belongs, unless it has no place in this line. It is noted, and
  // not yet among the members.
  Members* Enter(const core::Snapshot& snapshot, const core::JobView& view);
  Owner OwnerOf(const core::JobView& view) const {
    return {project_shares_.empty() ? 0 : view.job.project.value,
            order_->ByUser() ? view.job.user.value : 0};
  }

  // One walk. A cursor a class: through its tail, from the largest key on, then from the front.
  class Turns {
   public:
    Turns(const Line& line, const core::Snapshot& snapshot, int misses,
          std::span<const core::JobId> dropped);
    std::optional<core::JobId> Next();
    void Answer(bool served);  // of the job that Next gave

   private:
    struct Cursor {
      Members::const_iterator front, back;     // what is left beside `tail`
      Members::const_iterator tail, tail_end;  // equals of the tail that are next
      std::size_t needs = 0;                   // which of `missed_`
      std::size_t user = 0;                    // which of `user_keys_`: an Owner
    };
    struct Head {
      bool tail = false;  // goes first
      Entry entry;        // of the tail: with its key negated
      std::size_t cursor = 0;
    };
    struct User {
      double key = 0;
      std::size_t number = 0;
      Head head;               // the first of its own
      bool has_share = false;  // its project; it may have come to that since
    };
    // For heaps, whose top is who comes first. `adds`: users' keys to those of jobs.
    static bool ComesLater(const Head& a, double a_key, const Head& b, double b_key, bool adds);
    struct HeadComesLater {
      bool operator()(const Head& a, const Head& b) const { return ComesLater(a, 0, b, 0, false); }
    };
    struct UserComesLater {
      bool adds;
      bool operator()(const User& a, const User& b) const {
        if (a.has_share != b.has_share &&
            a.head.entry.minus_priority == b.head.entry.minus_priority) {
          return a.has_share;
        }
        return ComesLater(a.head, a.key, b.head, b.key, adds);
      }
    };
    using Heads = std::vector<Head>;  // a heap

    std::optional<Head> HeadOf(std::size_t cursor);  // absent: nobody is left
    void TakeTop(std::size_t user, const std::optional<Head>& in_its_place);  // of its heads
    bool GoesOn() const;  // the current user, before all others
    User AsHeStands(std::size_t user) const;
    void TakeFirstUser();
    void FindShares(const std::vector<core::UserId>& users);

    const Line& line_;
    const core::Snapshot& snapshot_;
    const int most_misses_;
    const std::span<const core::JobId> dropped_;
    const double tail_from_;
    const bool adds_;   // users' keys to those of jobs
    double scale_ = 1;  // of users' keys
    ProjectStanding standing_;
    std::vector<double> user_keys_;
    std::vector<std::uint32_t> projects_;  // by user
    std::vector<double> short_of_;         // GPUs of an equal share, by user; not above 0: has it
    std::vector<int> missed_;
    std::vector<Cursor> cursors_;
    std::vector<Heads> heads_;  // by user; of each cursor at most one
    // Each that has heads, once, but for the current one, who mostly goes on: a user's key changes
    // only when it is served.
    std::priority_queue<User, std::vector<User>, UserComesLater> users_;
    std::optional<std::size_t> user_;  // the current one
    core::JobId given_;                // of the cursor of its first head
  };

  const Order* order_;
  bool cpu_only_;
  std::span<const core::Ratio> project_shares_;
  int stage_ = 0;  // of the order, that its keys were made for
  // Host memory that nobody waits for; infinite where no node states its memory.
  double small_memory_ = std::numeric_limits<double>::infinity();
  Classes classes_;
  std::map<Owner, std::set<std::pair<double, core::JobId>>> oldest_;
  std::vector<std::optional<std::pair<Classes::iterator, Entry>>> where_;  // by job
};

}  // namespace sharewell::policy
