#include "core/reason.h"

#include <fmt/format.h>

#include "core/text/words.h"

namespace sharewell::core {

namespace {

std::string ShortOfGpus(int wanted, int idle) {
  if (wanted <= 0) return "needs more idle GPUs than there are where it may run";
  if (wanted == 1 && idle < 1) return "needs an idle GPU, and none is idle where it may run";
  if (wanted == 1) return "needs a GPU with more memory than is free on the idle ones";
  if (idle >= wanted) {
    return fmt::format("needs {} idle GPUs together; {} are idle, but not on one node", wanted,
                       idle);
  }
  return fmt::format("needs {} idle GPUs; {} {} idle where it may run", wanted, idle,
                     idle == 1 ? "is" : "are");
}

// Its name where it has one.
std::string OrAnotherJob(const std::string& name) { return name.empty() ? "another job" : name; }

// A mutable or const pointer to the job that one kind names.
template <class Kind>
auto* JobOf(Kind& kind) {
  if constexpr (requires { kind.beside; }) {
    return &kind.beside;
  } else if constexpr (requires { kind.room_for; }) {
    return &kind.room_for;
  } else if constexpr (requires { kind.by; }) {
    return &kind.by;
  } else if constexpr (requires { kind.to; }) {
    return &kind.to;
  } else if constexpr (requires { kind.slowed; }) {
    return &kind.slowed;
  } else if constexpr (requires { kind.who; }) {
    return &kind.who;
  } else if constexpr (requires { kind.kept_for; }) {
    return &kind.kept_for;
  } else {
    return static_cast<JobId*>(nullptr);
  }
}

std::string Who(const std::string& other) { return other.empty() ? "" : ": " + other; }

// How each kind is said.
std::string WordsFor(const reason::Order&, const std::string&) { return "its turn in the order"; }
std::string WordsFor(const reason::IdleGpu&, const std::string&) {
  return "an idle GPU, nobody to share with";
}
std::string WordsFor(const reason::FirstFit& r, const std::string&) {
  return fmt::format("first GPU with room: predicted utilisation sums to {:.0f} %",
                     r.utilisation * 100);
}
std::string WordsFor(const reason::GoodNeighbour& r, const std::string& other) {
  return fmt::format(
      "shares well with {}: keeps {:.0f} % of its speed, neighbours at least {:.0f} %", other,
      r.own_speed * 100, r.slowest_neighbour * 100);
}
std::string WordsFor(const reason::AsGuest& r, const std::string& other) {
  return fmt::format(
      "a guest beside {}, with at most {} of GPU memory: nothing is known of it until it has told "
      "its step",
      other, SizeText(r.memory));
}
std::string WordsFor(const reason::GuestMoves&, const std::string& other) {
  return fmt::format("known by now: to an idle GPU, from beside {}", other);
}
std::string WordsFor(const reason::BetterModel& r, const std::string&) {
  return fmt::format("gains {:.2f}x from the better GPU model, more than those behind it", r.gain);
}
std::string WordsFor(const reason::LeavesBetterModel& r, const std::string&) {
  return fmt::format("gains only {:.2f}x from the better GPU model, so leaves it to others",
                     r.gain);
}
std::string WordsFor(const reason::ProfileAlone& r, const std::string&) {
  return fmt::format("alone for {:.0f} s under profile first", r.lasts.value);
}
std::string WordsFor(const reason::AfterProfile& r, const std::string&) {
  return fmt::format("profiled; moved to where measured utilisation sums to {:.0f} %",
                     r.utilisation * 100);
}
std::string WordsFor(const reason::MeasuredCores&, const std::string&) {
  return "profiled; its cores are those it was seen to use";
}
std::string WordsFor(const reason::ToldCores&, const std::string&) {
  return "it has told of its step; its cores are those it is believed to use";
}
std::string WordsFor(const reason::FillsCores&, const std::string&) {
  return "CPU-only, on cores that no training job uses";
}
std::string WordsFor(const reason::Tail& r, const std::string&) {
  return fmt::format("long ({:.0f} s to go): started now so that it does not end alone",
                     r.remaining.value);
}
std::string WordsFor(const reason::Preempted&, const std::string& other) {
  return "gave its place to " + OrAnotherJob(other);
}
std::string WordsFor(const reason::Reclaimed&, const std::string& other) {
  return fmt::format("gave its place to {}, whose project was below its share of the GPUs",
                     OrAnotherJob(other));
}
std::string WordsFor(const reason::GivesWay&, const std::string& other) {
  return fmt::format("slowed, because {}, which trains, starved", other);
}
std::string WordsFor(const reason::Resumes&, const std::string&) {
  return "at full speed again: nobody starves";
}
std::string WordsFor(const reason::Evicted& r, const std::string& other) {
  return fmt::format("{} takes {:.2f} times as long as alone (by {}), and its bound is {:.2f}",
                     other.empty() ? "it" : other + " beside it", r.slowdown,
                     r.by_steps ? "its steps" : "SM activity", r.bound);
}
std::string WordsFor(const reason::NoIdleGpu& r, const std::string& other) {
  return ShortOfGpus(r.wanted, r.idle) + Who(other);
}
std::string WordsFor(const reason::NoRoom&, const std::string&) {
  return "no GPU has room for it beside what runs there";
}
std::string WordsFor(const reason::NoGoodNeighbour&, const std::string&) {
  return "beside any running job, one of the two would be slowed beyond the bound";
}
std::string WordsFor(const reason::NoPlaceForGuest&, const std::string& other) {
  return "needs an idle GPU, and none is idle where it may run: nothing is known of it yet, and on "
         "no GPU is room for a guest beside those who run" +
         Who(other);
}
std::string WordsFor(const reason::NoMemory& r, const std::string& other) {
  return fmt::format("may need {} of GPU memory; at most {} is free beside others{}",
                     SizeText(r.wanted), SizeText(r.most_free), Who(other));
}
std::string WordsFor(const reason::WaitsForFaster&, const std::string&) {
  return "a GPU is idle, but waiting for a faster one ends it sooner";
}
std::string WordsFor(const reason::NoCores& r, const std::string& other) {
  return fmt::format("needs {:g} CPU core{}; {:.3g} {} free{}", r.wanted, r.wanted == 1 ? "" : "s",
                     r.most_free, r.most_free == 1 ? "is" : "are", Who(other));
}
std::string WordsFor(const reason::NoHostMemory& r, const std::string& other) {
  return fmt::format("no node has {} of host memory free; the most is {}{}", SizeText(r.wanted),
                     SizeText(r.most_free), Who(other));
}
std::string WordsFor(const reason::OthersStay&, const std::string& other) {
  return fmt::format("{}, of lower priority, would give way, and cannot be stopped now",
                     OrAnotherJob(other));
}
std::string WordsFor(const reason::HeldBack&, const std::string& other) {
  return fmt::format("places are being kept for {}, which has waited too long", other);
}
std::string WordsFor(const reason::BehindOthers&, const std::string&) {
  return "jobs that need the same wait before it";
}
std::string WordsFor(const reason::Infeasible&, const std::string&) {
  return "cannot run on this cluster even when it is empty";
}

}  // namespace

JobId OtherJob(const Reason& reason) {
  const JobId* job =
      std::visit([](const auto& kind) -> const JobId* { return JobOf(kind); }, reason);
  return job == nullptr ? JobId() : *job;
}

JobId* OtherJobIn(Reason& reason) {
  return std::visit([](auto& kind) -> JobId* { return JobOf(kind); }, reason);
}

std::string InWords(const Reason& reason, const std::string& other) {
  return std::visit([&](const auto& kind) { return WordsFor(kind, other); }, reason);
}

}  // namespace sharewell::core
