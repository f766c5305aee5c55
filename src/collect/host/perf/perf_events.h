// Which of a processor's events stand for what we want to know, and what each can give.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sharewell::collect {

// A processor by /proc/cpuinfo.
struct Processor {
  enum class Vendor { kOther, kIntel, kAmd, kArm };
  Vendor vendor = Vendor::kOther;
  int family = 0;  // of ARM: the implementer
  int model = 0;   // of ARM: the part
  std::string name = {};
  bool is_virtual = false;  // it says that it runs below a hypervisor
};
Processor ParseProcessor(std::string_view cpuinfo);

enum PerfEvent : std::size_t {
  kEventInstructions,
  kEventCycles,
  kEventDramLocal,
  kEventDramRemote,
  kEventLlcReferences,
  kEventLlcMisses,
  kPerfEvents,  // how many there are
};

// As perf_event_open takes it.
struct PerfCode {
  std::uint32_t type = 0;
  std::uint64_t config = 0;

  friend bool operator==(const PerfCode&, const PerfCode&) = default;
};

struct PerfTable {
  std::array<std::optional<PerfCode>, kPerfEvents> codes;  // none: it cannot say
  // For a person: by which events DRAM is counted, and what is not.
  std::string_view dram, llc;
  // False: what stands under local is local and remote together.
  bool remote_known = true;
};
PerfTable PerfTableFor(const Processor& processor);

}  // namespace sharewell::collect
