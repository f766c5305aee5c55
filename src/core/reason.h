// Reason: why a plan does something with a job, or why the job waits. One struct a kind, with the
// figures and ids that it stands on.
#pragma once

#include <string>
#include <variant>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::core {

namespace reason {

// Why a job went where it went, or was stopped or slowed.

// Its turn.
struct Order {
  friend bool operator==(const Order&, const Order&) = default;
};
// An idle GPU, nobody to share with.
struct IdleGpu {
  JobId room_for = {};  // whose short kernels its SM share leaves room for, where it has one
  friend bool operator==(const IdleGpu&, const IdleGpu&) = default;
};
// The first GPU whose predicted utilisation leaves room.
struct FirstFit {
  JobId beside = {};
  Ratio utilisation = 0;  // their sum, with it
  friend bool operator==(const FirstFit&, const FirstFit&) = default;
};
// Beside a job that it does not collide with.
struct GoodNeighbour {
  JobId beside = {};
  Ratio own_speed = 1;
  Ratio slowest_neighbour = 1;
  friend bool operator==(const GoodNeighbour&, const GoodNeighbour&) = default;
};
// Nothing is known of it: beside others as a guest, until it has told its step.
struct AsGuest {
  JobId beside = {};
  Bytes memory = {};  // that it is kept to
  friend bool operator==(const AsGuest&, const AsGuest&) = default;
};
// A guest, known by now, has a GPU for itself.
struct GuestMoves {
  JobId beside = {};  // whom it leaves
  friend bool operator==(const GuestMoves&, const GuestMoves&) = default;
};
// Gains most from this GPU model.
struct BetterModel {
  Ratio gain = 1;
  friend bool operator==(const BetterModel&, const BetterModel&) = default;
};
// Gains least from the better model, so takes the other.
struct LeavesBetterModel {
  Ratio gain = 1;
  friend bool operator==(const LeavesBetterModel&, const LeavesBetterModel&) = default;
};
// Alone under profile first.
struct ProfileAlone {
  Seconds lasts = {};
  friend bool operator==(const ProfileAlone&, const ProfileAlone&) = default;
};
// Measured, then moved beside others.
struct AfterProfile {
  JobId beside = {};
  Ratio utilisation = 0;  // their sum, with it
  friend bool operator==(const AfterProfile&, const AfterProfile&) = default;
};
// Measured, and given the cores that it was seen to use.
struct MeasuredCores {
  friend bool operator==(const MeasuredCores&, const MeasuredCores&) = default;
};
// It has told of its step, and is given the cores that it is believed to use.
struct ToldCores {
  friend bool operator==(const ToldCores&, const ToldCores&) = default;
};
// A CPU-only job on cores that are left.
struct FillsCores {
  friend bool operator==(const FillsCores&, const FillsCores&) = default;
};
// A long job first, so that it does not end alone.
struct Tail {
  JobId room_for = {};  // as in IdleGpu
  Seconds remaining = {};
  friend bool operator==(const Tail&, const Tail&) = default;
};
// A job before it in the order needs the place.
struct Preempted {
  JobId by = {};
  friend bool operator==(const Preempted&, const Preempted&) = default;
};
// Its project had borrowed the place, which the project of another job was short of.
struct Reclaimed {
  JobId by = {};
  friend bool operator==(const Reclaimed&, const Reclaimed&) = default;
};
// A CPU-only job slowed for a training job that starves.
struct GivesWay {
  JobId to = {};
  Ratio share = 1;  // of its CPU time that it keeps
  friend bool operator==(const GivesWay&, const GivesWay&) = default;
};
// A CPU-only job at full speed again: nobody starves any more.
struct Resumes {
  JobId beside = {};  // a training job that is still there
  friend bool operator==(const Resumes&, const Resumes&) = default;
};
// Its co-location broke a bound; it leaves.
struct Evicted {
  JobId slowed = {};  // whose bound; the evicted job itself, or who runs beside it
  Ratio slowdown = 1;
  Ratio bound = 1;
  bool by_steps = false;  // measured by the slowed job's steps, else by SM activity
  friend bool operator==(const Evicted&, const Evicted&) = default;
};

// Why a job waits.

// It needs idle GPUs, and there are not enough on one node (or in all).
struct NoIdleGpu {
  int wanted = 0;  // 0: not counted
  int idle = 0;
  friend bool operator==(const NoIdleGpu&, const NoIdleGpu&) = default;
};
// No GPU has room for it beside what runs there.
struct NoRoom {
  friend bool operator==(const NoRoom&, const NoRoom&) = default;
};
// Beside any running job, one of the two would break the slowdown bound.
struct NoGoodNeighbour {
  friend bool operator==(const NoGoodNeighbour&, const NoGoodNeighbour&) = default;
};
// Nothing is known of it, and nobody who runs can have it as a guest.
struct NoPlaceForGuest {
  friend bool operator==(const NoPlaceForGuest&, const NoPlaceForGuest&) = default;
};
// Beside no running job is the GPU memory that it may need.
struct NoMemory {
  Bytes wanted = {};
  Bytes most_free = {};
  GpuId where = {};  // the most is free there
  friend bool operator==(const NoMemory&, const NoMemory&) = default;
};
// An idle GPU is there, and it is done sooner on a faster one that will be free.
struct WaitsForFaster {
  friend bool operator==(const WaitsForFaster&, const WaitsForFaster&) = default;
};
// Where it could run, the CPU cores that it is given are not free.
struct NoCores {
  double wanted = 0;
  double most_free = 0;
  NodeId where = {};
  friend bool operator==(const NoCores&, const NoCores&) = default;
};
// Where it could run, the host memory that it may need is not free.
struct NoHostMemory {
  Bytes wanted = {};
  Bytes most_free = {};
  NodeId where = {};
  friend bool operator==(const NoHostMemory&, const NoHostMemory&) = default;
};
// Who would give way to it cannot be stopped now.
struct OthersStay {
  JobId who = {};
  friend bool operator==(const OthersStay&, const OthersStay&) = default;
};
// Places are kept for a job that has waited too long.
struct HeldBack {
  JobId kept_for = {};
  friend bool operator==(const HeldBack&, const HeldBack&) = default;
};
// Jobs that need the same wait before it.
struct BehindOthers {
  friend bool operator==(const BehindOthers&, const BehindOthers&) = default;
};
// It could not run even on the empty cluster.
struct Infeasible {
  friend bool operator==(const Infeasible&, const Infeasible&) = default;
};

}  // namespace reason

using Reason =
    std::variant<reason::Order, reason::IdleGpu, reason::FirstFit, reason::GoodNeighbour,
                 reason::AsGuest, reason::GuestMoves, reason::BetterModel,
                 reason::LeavesBetterModel, reason::ProfileAlone, reason::AfterProfile,
                 reason::MeasuredCores, reason::ToldCores, reason::FillsCores, reason::Tail,
                 reason::Preempted, reason::Reclaimed, reason::GivesWay, reason::Resumes,
                 reason::Evicted, reason::NoIdleGpu, reason::NoRoom, reason::NoGoodNeighbour,
                 reason::NoPlaceForGuest, reason::NoMemory, reason::WaitsForFaster, reason::NoCores,
                 reason::NoHostMemory, reason::OthersStay, reason::HeldBack, reason::BehindOthers,
                 reason::Infeasible>;

// The other job that the reason speaks of; not valid where there is none. In place, for who
// renumbers jobs: null where the kind has none.
JobId OtherJob(const Reason& reason);
JobId* OtherJobIn(Reason& reason);

// In words, for people. `other` is the name of the other job, where there is one; of what is short,
// who has it and where ("job 3 of ann has 6"), where that is known.
std::string InWords(const Reason& reason, const std::string& other);

}  // namespace sharewell::core
