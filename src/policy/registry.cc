#include "policy/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result.h"
#include "core/text/suggest.h"
#include "policy/composed.h"
#include "policy/order/decreasing.h"
#include "policy/order/drain.h"
#include "policy/order/fair.h"
#include "policy/order/fifo.h"
#include "policy/order/gain.h"
#include "policy/order/las.h"
#include "policy/order/sjf.h"
#include "policy/order/srsf.h"
#include "policy/order/srtf.h"
#include "policy/placement/complement.h"
#include "policy/placement/match.h"
#include "policy/placement/pack.h"
#include "policy/placement/reactive.h"
#include "policy/placement/share.h"
#include "policy/placement/slot.h"
#include "policy/sharewell.h"

namespace sharewell::policy {
namespace {

template <class T>
struct Part {
  std::string_view name;
  std::string_view help;
  std::string_view paper;
  std::unique_ptr<T> (*make)();
};

constexpr Part<Order> kOrders[] = {
    {"fifo", "first come, first served", "", NewFifoOrder},
    {"sjf", "shortest believed duration first", "", NewSjfOrder},
    {"srtf", "shortest remaining time first, preempting", "", NewSrtfOrder},
    {"srsf", "shortest remaining service (time x GPUs) first, preempting", "Tiresias; Muri",
     NewSrsfOrder},
    {"las", "least attained service first, preempting; needs no durations", "Tiresias",
     NewLasOrder},
    {"gain", "who gains most from the better GPU first", "Takayama 2020", NewGainOrder},
    {"decreasing", "largest predicted utilisation first", "Yeung 2020", NewDecreasingOrder},
    {"drain", "the tail longest first, the rest shortest first", "ours", NewDrainOrder},
};

// Goes before another order, or stands alone.
constexpr std::string_view kFair = "fair";
constexpr std::string_view kFairHelp =
    "the user who used least first; within a user fifo, or the order named beside it";

constexpr Part<Placement> kPlacements[] = {
    {"slot", "whole GPUs, nobody shares", "Kubernetes", NewSlotPlacement},
    {"reactive", "60 s alone under profile, then beside others", "Yeung 2020; Gandiva",
     NewReactivePlacement},
    {"pack", "first fit on predicted utilisation, at most 3 jobs a GPU", "Yeung 2020",
     NewPackPlacement},
    {"match", "GPU generations by gain", "Takayama 2020", NewMatchPlacement},
    {"complement", "beside jobs whose demands do not collide", "Ryu 2022", NewComplementPlacement},
    {"share", "beside others where all keep their slowdown bound over their lifetime", "ours",
     NewSharePlacement},
};

constexpr Part<Sizing> kSizings[] = {
    {"asked", "the cores asked for", "", NewAskedSizing},
    {"slim", "the cores a job can use, and no more", "CODA 2020", NewSlimSizing},
};

// Looking ahead costs time and gains little: 4 of each class is plenty for first fit, while a job's
// best neighbour is worth a longer look.
constexpr int kGlance = 4;
constexpr int kLook = 64;

struct Named {
  std::string_view name;
  std::string_view help;
  std::string_view paper;
  std::string_view parts;
  int misses;
};

constexpr std::string_view kSharewell = "sharewell";

constexpr Named kNamed[] = {
    {"slot", "fifo+slot+asked: the baseline", "Kubernetes", "fifo+slot+asked", kGlance},
    {"reactive", "fifo+reactive+asked: profile first, then share", "Yeung 2020; Gandiva",
     "fifo+reactive+asked", kGlance},
    {"pack", "decreasing+pack+asked: modified first-fit decreasing", "Yeung 2020",
     "decreasing+pack+asked", kGlance},
    {"match", "fifo+match+asked: the better generation to who gains most", "Takayama 2020",
     "fifo+match+asked", kLook},
    {"complement", "fifo+complement+asked: sharing well", "Ryu 2022", "fifo+complement+asked",
     kLook},
};

template <class T, std::size_t N>
const Part<T>* Find(const Part<T> (&parts)[N], std::string_view name) {
  for (const auto& part : parts) {
    if (part.name == name) return &part;
  }
  return nullptr;
}

tl::unexpected<core::Error> Unknown(std::string_view part, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& entry : Entries()) {
    if (entry.kind == "policy" && entry.name == part && part != text) {
      return core::UsageError(
          "'{}' in '{}' is a whole policy, not a part: use it by itself; `sharewell policies` "
          "lists the parts",
          part, text);
    }
    if (std::find(names.begin(), names.end(), entry.name) == names.end())
      names.emplace_back(entry.name);
  }
  return core::UsageError("unknown policy part '{}' in '{}'; there are {}{}", part, text,
                          fmt::join(names, ", "), core::DidYouMean(part, names));
}

core::Result<std::unique_ptr<Policy>> FromParts(const std::string& text, std::string_view parts,
                                                const Options& options, int misses) {
  const Part<Order>* order = nullptr;
  const Part<Placement>* placement = nullptr;
  const Part<Sizing>* sizing = nullptr;
  bool fair = false;
  while (true) {
    const std::size_t plus = parts.find('+');
    const std::string_view name = parts.substr(0, plus);
    const auto take = [&](auto*& slot, const auto* found,
                          std::string_view kind) -> core::Result<void> {
      if (slot != nullptr)
        return core::UsageError("policy '{}' names two {}s: give one of each", text, kind);
      slot = found;
      return {};
    };
    core::Result<void> ok;
    if (name == kFair && !fair) {
      fair = true;
    } else if (const auto* o = Find(kOrders, name)) {
      ok = take(order, o, "order");
    } else if (const auto* p = Find(kPlacements, name)) {
      ok = take(placement, p, "placement");
    } else if (const auto* s = Find(kSizings, name)) {
      ok = take(sizing, s, "sizing");
    } else {
      return Unknown(name, text);
    }
    RETURN_IF_ERROR(ok);
    if (plus == std::string_view::npos) break;
    parts.remove_prefix(plus + 1);
  }
  auto in_turn = order ? order->make() : NewFifoOrder();
  if (fair && in_turn->Preempts()) {
    return core::UsageError(
        "policy '{}': '{}' preempts, and {} goes with orders that do not: use fifo, sjf, gain, "
        "decreasing or drain",
        text, order->name, kFair);
  }
  if (!options.project_shares.empty() && in_turn->Preempts()) {
    return core::UsageError(
        "policy '{}': '{}' preempts, and projects go with orders that do not: use sharewell, or "
        "fifo, sjf, gain, decreasing or drain",
        text, order->name);
  }
  if (fair) in_turn = NewFairOrder(std::move(in_turn));
  return Compose(text, std::move(in_turn), placement ? placement->make() : NewSlotPlacement(),
                 sizing ? sizing->make() : NewAskedSizing(), options, misses);
}

}  // namespace

bool SharesGpus(const std::string& text) {
  std::string_view parts = text;
  for (const auto& named : kNamed) {
    if (named.name == text) parts = named.parts;
  }
  if (parts == kSharewell) return true;
  while (true) {
    const std::size_t plus = parts.find('+');
    const std::string_view name = parts.substr(0, plus);
    if (Find(kPlacements, name) != nullptr && name != "slot") return true;
    if (plus == std::string_view::npos) return false;
    parts.remove_prefix(plus + 1);
  }
}

std::vector<Entry> Entries() {
  std::vector<Entry> all;
  all.push_back({"policy", kSharewell, "all of it together: the one to use", "ours"});
  for (const auto& p : kNamed) all.push_back({"policy", p.name, p.help, p.paper});
  for (const auto& p : kOrders) all.push_back({"order", p.name, p.help, p.paper});
  all.push_back({"order", kFair, kFairHelp, ""});
  for (const auto& p : kPlacements) all.push_back({"placement", p.name, p.help, p.paper});
  for (const auto& p : kSizings) all.push_back({"sizing", p.name, p.help, p.paper});
  return all;
}

core::Result<std::unique_ptr<Policy>> NewPolicy(const std::string& text, const Options& options) {
  if (text == kSharewell) return NewSharewell(text, options);
  for (const auto& named : kNamed) {
    if (named.name == text) return FromParts(text, named.parts, options, named.misses);
  }
  return FromParts(text, text, options, kLook);
}

}  // namespace sharewell::policy
