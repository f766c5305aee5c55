// KubeLease: which of several replicas leads, by a Lease object of coordination.k8s.io that each
// writes only at the version it has read.
//
// The clocks of two machines are never compared: a follower takes over when it has seen no change
// of the object for as long as its holder said, by its own clock. A leader counts from before it
// sent its last renewal, for a shorter time: so it stops by itself (IsLeader) before anybody can
// take over, even if no answer reaches it any more. With the figures below a follower leads within
// 15 s of its leader's death.
//
// It also keeps which numbers of jobs may have been given out, in an annotation: replicas have
// stores of their own, and what one calls job 7 must be nobody else's.
//
// One thread, that of the driver.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/units.h"
#include "engine/kubernetes/api/kube_driver.h"

namespace sharewell::engine {

struct KubeLeaseOptions {
  std::string name_space = "sharewell-system";
  std::string name = "sharewell";
  std::string identity;      // of this process alone: two with the same would both lead
  core::Seconds lasts{10};   // how long a follower waits for a sign of life; whole seconds
  core::Seconds leads{7};    // how long a leader believes in its last renewal; below `lasts`
  core::Seconds between{2};  // tries
  core::Seconds limit{3};    // of one request
};

class KubeLease {
 public:
  // `clock`: seconds that only go on; a test's may stand still. `wall`: since 1970, for people who
  // read the object; nothing is decided by it.
  KubeLease(KubeDriver& driver, KubeLeaseOptions options, std::function<core::Seconds()> clock,
            std::function<core::Seconds()> wall);

  // Reads, takes or renews it, where that is due; waits for the answers. An error: it could not be
  // asked for, and is tried again.
  core::Result<void> Step();
  core::Seconds NextStep() const { return next_; }
  // Whether this process leads at that moment. Turns false by itself; ask again before each write.
  bool IsLeader(core::Seconds now) const { return leads_until_ && now < *leads_until_; }
  // Gives it up at once, at an end in order, so that nobody has to wait. It leads no longer,
  // whatever comes of it.
  core::Result<void> Release();
  // No server has given out a number above it, but this one while it leads.
  std::int64_t numbers() const { return seen_.numbers; }
  // Writes that numbers up to `last` are this server's to give; numbers() tells whether it did.
  core::Result<void> Reserve(std::int64_t last);
  // Whom it saw holding it last; empty: nobody.
  const std::string& holder() const { return seen_.holder; }

 private:
  struct Record {
    std::string version, holder;
    std::int64_t seconds = 0, transitions = 0, numbers = 0;
  };
  core::Result<void> Read();
  core::Result<void> Create();
  // To `holder`, at the version that was seen.
  core::Result<void> Write(const std::string& holder);
  core::Result<void> Note(const std::string& body);
  std::string Body(const std::string& holder, bool taken) const;
  bool IsFree(core::Seconds now) const;

  KubeDriver& driver_;
  const KubeLeaseOptions options_;
  const std::function<core::Seconds()> clock_, wall_;
  const std::string path_;  // of all leases of the namespace
  Record seen_;
  std::int64_t wanted_numbers_ = 0;
  bool known_ = false;     // what stands there was read, and nothing since was left unanswered
  core::Seconds changed_;  // when seen_ was first seen so
  std::optional<core::Seconds> leads_until_;
  core::Seconds next_;
};

}  // namespace sharewell::engine
