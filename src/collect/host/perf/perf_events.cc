#include "collect/host/perf/perf_events.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "collect/host/scan.h"

namespace sharewell::collect {
namespace {

constexpr PerfCode Hardware(std::uint64_t config) { return {PERF_TYPE_HARDWARE, config}; }
constexpr PerfCode Raw(std::uint64_t config) { return {PERF_TYPE_RAW, config}; }
constexpr PerfCode Node(std::uint64_t result) {
  return {PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_NODE |
                                  std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 | result << 16};
}

bool IsAmong(int value, std::initializer_list<int> list) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

int Small(std::optional<std::uint64_t> value) {
  return value && *value < 1'000'000 ? static_cast<int>(*value) : 0;
}

// "0x41".
int SmallHex(std::string_view word) {
  if (word.starts_with("0x")) word.remove_prefix(2);
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  return error == std::errc() && value >= 0 && value < 1'000'000 ? value : 0;
}

constexpr int kArmLimited = 0x41;

}  // namespace

Processor ParseProcessor(std::string_view cpuinfo) {
  Processor found;
  Lines lines(cpuinfo);
  for (std::string_view line; lines.Next(line);) {
    // The first processor's lines; the others repeat them.
    if (line.empty() && found.vendor != Processor::Vendor::kOther) break;
    if (const auto vendor = AfterKey(line, "vendor_id")) {
      if (vendor->starts_with("GenuineIntel")) found.vendor = Processor::Vendor::kIntel;
      if (vendor->starts_with("AuthenticAMD") || vendor->starts_with("HygonGenuine")) {
        found.vendor = Processor::Vendor::kAmd;
      }
    } else if (auto family = AfterKey(line, "cpu family")) {
      found.family = Small(TakeUnsigned(*family));
    } else if (auto name = AfterKey(line, "model name")) {
      found.name = std::string(name->substr(0, 100));
    } else if (auto model = AfterKey(line, "model")) {
      found.model = Small(TakeUnsigned(*model));
    } else if (auto implementer = AfterKey(line, "CPU implementer")) {
      found.vendor = Processor::Vendor::kArm;
      found.family = SmallHex(TakeWord(*implementer));
    } else if (auto part = AfterKey(line, "CPU part")) {
      found.model = SmallHex(TakeWord(*part));
    } else if (auto flags = AfterKey(line, "flags")) {
      found.is_virtual = flags->find(" hypervisor") != std::string_view::npos;
    }
  }
  return found;
}

PerfTable PerfTableFor(const Processor& processor) {
  PerfTable table;
  auto& codes = table.codes;
  codes[kEventInstructions] = Hardware(PERF_COUNT_HW_INSTRUCTIONS);
  codes[kEventCycles] = Hardware(PERF_COUNT_HW_CPU_CYCLES);
  codes[kEventLlcReferences] = Hardware(PERF_COUNT_HW_CACHE_REFERENCES);
  codes[kEventLlcMisses] = Hardware(PERF_COUNT_HW_CACHE_MISSES);
  codes[kEventDramLocal] = Node(PERF_COUNT_HW_CACHE_RESULT_ACCESS);
  codes[kEventDramRemote] = Node(PERF_COUNT_HW_CACHE_RESULT_MISS);
  table.dram = "DRAM by the kernel's general NODE events, whose meaning differs between processors";
  table.llc = "LLC references and misses";

  const int model = processor.model;
  if (processor.vendor == Processor::Vendor::kIntel && processor.family == 6) {
    // Skylake-SP to Cooper Lake, Ice Lake-SP and -D, Sapphire Rapids, Emerald Rapids.
    if (IsAmong(model, {0x55, 0x6a, 0x6c, 0x8f, 0xcf})) {
      codes[kEventDramLocal] = Raw(0x01d3);
      codes[kEventDramRemote] = Raw(0x02d3);
      table.dram =
          "DRAM by MEM_LOAD_L3_MISS_RETIRED, local and remote (loads that retired; prefetches are "
          "not counted)";
    }
    // Haswell-EP, Broadwell-EP and -DE.
    if (IsAmong(model, {0x3f, 0x4f, 0x56})) {
      codes[kEventDramLocal] = Raw(0x01d3);
      codes[kEventDramRemote] = Raw(0x04d3);
      table.dram =
          "DRAM by MEM_LOAD_UOPS_L3_MISS_RETIRED, local and remote (loads that retired; prefetches "
          "are not counted)";
    }
  } else if (processor.vendor == Processor::Vendor::kAmd &&
             IsAmong(processor.family, {0x17, 0x18, 0x19, 0x1a})) {
    // Zen 3 and later count prefetches too; Zen and Zen 2 demand fills alone.
    const bool any = processor.family >= 0x19;
    codes[kEventDramLocal] = Raw(any ? 0x0844 : 0x0843);
    codes[kEventDramRemote] = Raw(any ? 0x4044 : 0x4043);
    table.dram =
        any ? "DRAM by data cache fills from DRAM or I/O of the near and the far NUMA node "
              "(prefetches included)"
            : "DRAM by data cache fills from DRAM or I/O of the near and the far NUMA node "
              "(demand only)";
    // What the kernel calls cache references is the L2's on Zen; the L3 counts for itself.
    codes[kEventLlcReferences].reset();
    codes[kEventLlcMisses].reset();
    table.llc = "no LLC counts: Zen's cores do not count the L3";
  } else if (processor.vendor == Processor::Vendor::kArm && processor.family == kArmLimited) {
    // Neoverse N1, V1, E1, N2, V2 (Grace), V3, N3: LL_CACHE_RD and LL_CACHE_MISS_RD.
    if (IsAmong(model, {0xd0c, 0xd40, 0xd4a, 0xd49, 0xd4f, 0xd84, 0xd8e})) {
      codes[kEventLlcReferences] = Raw(0x36);
      codes[kEventLlcMisses] = Raw(0x37);
      codes[kEventDramLocal] = Raw(0x37);
      codes[kEventDramRemote].reset();
      table.remote_known = false;
      table.dram = "DRAM by ll_cache_miss_rd, local and remote together: remote unknown";
      table.llc = "LLC reads and their misses";
    }
  }
  return table;
}

}  // namespace sharewell::collect
