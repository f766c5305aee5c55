// Guests: jobs of which nothing is known, beside others where no GPU is idle. A stranger is one for
// seconds only: at its second step it tells what it is. It spends them inside a cap
// (core::Allocation::guest_memory): a part of the SMs, what is free of the GPU's memory, cores that
// nobody has, and after its neighbours wherever MPS has the choice.
//
// Assumed of it is the worst inside that cap: kernels that fill its share all the time
// (interference::DemandOf of nothing; of a script that ran before, what it was then), for as long
// as it takes the guard to see what it does and send it away. Everybody there keeps his bound over
// his life by that, or it does not come.
//
// One stranger a GPU at a time. None beside a job that may not share or wants no guests, and none
// where nothing would keep it to its cap (Options::sm_shares). Who was evicted as a guest is none
// again. One that ran out of memory comes back as a guest only where it may have clearly more.
#pragma once

#include <optional>
#include <span>

#include "policy/placement/placement.h"

namespace sharewell::policy {

// Nothing is known of what it needs, or no more than what its script's last run was.
bool IsStranger(const core::JobView& view, core::GpuModelId model);

// It could start as a guest somewhere, as far as it is up to the job itself.
bool MayBeGuest(const Context& context, const core::JobView& view, core::GpuModelId model);

// On the GPU of those with the least believed load, ties by number. Absent: on none of them.
std::optional<Chosen> PlaceGuest(const Context& context, const core::JobView& view,
                                 std::span<const core::GpuId> among);

// For the stranger that has waited longest, and for a minute: a GPU that can have it now, else the
// one where somebody leaves soonest. Nobody else is to come there to share before it: known jobs
// find a place all the time, and would leave it none. Not valid: nobody waits so, there is no such
// GPU, or there are too many to look at.
core::GpuId KeptForGuest(const Context& context);

// Guests that are known by now, have not run for long, and gain more by an idle GPU than starting
// anew costs them. Only while nobody waits.
void MoveKnownGuests(const Context& context, core::Plan& plan);

}  // namespace sharewell::policy
