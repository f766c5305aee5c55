#include "collect/gpu/xid_watch.h"

#include <fmt/format.h>

#include "collect/metrics/gpu_metrics.h"

namespace sharewell::collect {
namespace {

constexpr int kMostXids = 64;  // a GPU that reports without end must not hold up the round

struct KnownXid {
  nvml::Long number;
  const char* meaning;
};

// Those that decide what to do next: is it the program, or the card?
constexpr KnownXid kKnownXids[] = {
    {13, "a kernel of a program failed; look at the program"},
    {31, "a program used memory that is not its own; look at the program"},
    {43, "a program's work was ended because of its own error; look at the program"},
    {45, "a program was ended and its work cleared away"},
    {48, "memory error that ECC could not correct; reset the GPU"},
    {63, "a bad memory row is to be replaced at the next reset; reset the GPU when it is free"},
    {64, "a bad memory row could not be replaced; have the GPU exchanged"},
    {74, "NVLink error; reset the GPU, look at the links: nvidia-smi nvlink -e"},
    {79, "the GPU has fallen off the bus; restart the machine, look at power and seat"},
    {94, "memory error, contained: the program that met it was ended"},
    {95, "memory error, not contained; end all programs on the GPU and reset it"},
    {119, "the GPU's own processor does not answer; reset the GPU"},
    {120, "the GPU's own processor failed; reset the GPU"},
};

}  // namespace

std::string XidText(nvml::Long xid) {
  for (const KnownXid& known : kKnownXids) {
    if (known.number == xid) return fmt::format("XID {}: {}", xid, known.meaning);
  }
  return fmt::format("XID {}: see NVIDIA's list of XID errors and the kernel's log (dmesg)", xid);
}

XidWatch::XidWatch(const nvml::Api& api) : api_(api) {
  if (api.NewEventSet == nullptr || api.FreeEventSet == nullptr || api.RegisterEvents == nullptr ||
      api.WaitEvent == nullptr || api.NewEventSet(&set_) != nvml::kSuccess) {
    set_ = nullptr;
  }
}

XidWatch::~XidWatch() {
  if (set_ != nullptr) api_.FreeEventSet(set_);
}

std::string XidWatch::Read(const std::vector<NvmlSeat>& gpus, std::vector<core::Reading>& out) {
  if (set_ == nullptr) return {};
  for (const NvmlSeat& seat : gpus) {
    int& registered = registered_[seat.index];
    if (seat.code != nvml::kSuccess || registered == seat.found) continue;
    registered = seat.found;
    api_.RegisterEvents(seat.handle, nvml::kXidEvent, set_);  // a GPU that has none never reports
  }
  std::string text;
  nvml::Event event{};
  for (int i = 0; i < kMostXids && api_.WaitEvent(set_, &event, 0) == nvml::kSuccess; ++i) {
    if ((event.type & nvml::kXidEvent) == 0) continue;
    for (const NvmlSeat& seat : gpus) {
      if (seat.handle != event.device) continue;
      last_[seat.index] = event.data;
      text += fmt::format("{}GPU {} reports {}", text.empty() ? "" : "; ", seat.index,
                          XidText(event.data));
    }
  }
  for (const NvmlSeat& seat : gpus) {
    const auto last = last_.find(seat.index);
    if (last != last_.end()) {
      out.push_back({&kGpuLastXid, seat.instance, {}, static_cast<double>(last->second)});
    }
  }
  return text;
}

}  // namespace sharewell::collect
