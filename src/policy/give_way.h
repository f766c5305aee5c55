// Who gives way to a job of higher priority that finds no place (core::Job::preempts): as few as
// will do, of the lowest priorities.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/snapshot.h"
#include "policy/ledger.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {

struct MadeWay {
  std::vector<core::JobId> stops;  // rising
  Chosen place;
  Ledger ledger;  // without them, and with the job at its place
};

// `place`: as the policy places the job on a ledger. Absent: it finds no place either when all of
// lower priority are gone who may be stopped. Jobs that this plan already does something with stay.
// `once_they_can`: as if those could be stopped that cannot be now (core::JobView::stays).
std::optional<MadeWay> MakeWay(const core::Snapshot& snapshot, const Ledger& ledger,
                               const core::JobView& view,
                               const std::function<Choice(const Ledger&)>& place,
                               bool once_they_can = false);

}  // namespace sharewell::policy
