#include "collect/gpu/gpus.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "collect/gpu/nvml/mig.h"
#include "collect/gpu/nvml/nvml_session.h"
#include "core/result.h"

namespace sharewell::collect {
namespace {

constexpr int kVoltaCompute =
    7;  // the first compute capability whose MPS clients are apart in memory

void AddComputeFacts(const nvml::Api& api, nvml::Device gpu, GpuFacts& facts) {
  int major = 0, minor = 0;
  if (api.ComputeCapability != nullptr &&
      api.ComputeCapability(gpu, &major, &minor) == nvml::kSuccess) {
    facts.compute = fmt::format("{}.{}", major, minor);
  }
  int mode = 0;
  const bool prohibited = api.ComputeModeOf != nullptr &&
                          api.ComputeModeOf(gpu, &mode) == nvml::kSuccess &&
                          mode == nvml::kProhibited;
  facts.mps = major >= kVoltaCompute && !prohibited;
  facts.gpm = HasGpm(api, gpu);
  facts.mig = MigIsOn(api, gpu);
}

// A lane of the first generation carries 250 MB/s one way; from the third on, which spends fewer
// bits on the code, 985 MB/s. Each is twice as fast as the one before.
std::optional<core::BytesPerSecond> PcieLink(const nvml::Api& api, nvml::Device gpu) {
  unsigned generation = 0, lanes = 0;
  if (api.PcieGeneration == nullptr || api.PcieLanes == nullptr ||
      api.PcieGeneration(gpu, &generation) != nvml::kSuccess ||
      api.PcieLanes(gpu, &lanes) != nvml::kSuccess || generation < 1 || generation > 8 ||
      lanes < 1 || lanes > 32) {
    return std::nullopt;
  }
  const double lane = generation < 3 ? 250e6 * generation : 985e6 * (1U << (generation - 3));
  return core::BytesPerSecond(lane * lanes);
}

core::Bytes TotalMemory(const nvml::Api& api, nvml::Device gpu) {
  nvml::Memory memory{};
  if (api.MemoryInfo == nullptr || api.MemoryInfo(gpu, &memory) != nvml::kSuccess) return {};
  return core::Bytes(static_cast<double>(memory.total));
}

void AddMigFacts(const nvml::Api& api, nvml::Device gpu, GpuFacts& facts) {
  constexpr std::string_view kMig = " MIG ";  // "NVIDIA H200 MIG 1g.18gb"
  for (const MigInstance& mig : MigInstances(api, gpu)) {
    const std::string name = NvmlText(api.Name, mig.handle);
    const auto at = name.rfind(kMig);
    facts.migs.push_back({mig.id, NvmlText(api.Uuid, mig.handle),
                          at == std::string::npos ? "" : name.substr(at + kMig.size()),
                          TotalMemory(api, mig.handle)});
  }
}

GpuFacts GpuFactsOf(const nvml::Api& api, const NvmlSeat& seat) {
  GpuFacts facts;
  facts.index = seat.index;
  facts.driver = NvmlText(api.DriverVersion);
  int cuda = 0;
  if (api.CudaVersion != nullptr && api.CudaVersion(&cuda) == nvml::kSuccess && cuda > 0) {
    facts.cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  }
  if (seat.code != nvml::kSuccess) return facts;
  facts.uuid = NvmlText(api.Uuid, seat.handle);
  facts.name = NvmlText(api.Name, seat.handle);
  nvml::PciInfo pci{};
  if (api.Pci != nullptr && api.Pci(seat.handle, &pci) == nvml::kSuccess) {
    pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
    facts.pci_bus = pci.bus_id;
  }
  unsigned number = 0;
  if (api.Minor != nullptr && api.Minor(seat.handle, &number) == nvml::kSuccess) {
    facts.minor = fmt::format("{}", number);
  }
  if (api.PowerLimit != nullptr && api.PowerLimit(seat.handle, &number) == nvml::kSuccess) {
    facts.power_limit = core::Watts(number / 1000.0);
  }
  facts.memory = TotalMemory(api, seat.handle);
  facts.pcie = PcieLink(api, seat.handle);
  AddComputeFacts(api, seat.handle, facts);
  AddMigFacts(api, seat.handle, facts);
  return facts;
}

// Absent: the driver tells neither.
std::optional<int> DistanceBetween(const nvml::Api& api, nvml::Device one, nvml::Device other) {
  constexpr int kNvLink = 0, kSwitches = 1, kProcessor = 2, kBeyond = 3;
  int status = 0, ancestor = 0;
  if (api.WayBetween != nullptr &&
      api.WayBetween(one, other, nvml::kOverNvLink, &status) == nvml::kSuccess &&
      status == nvml::kWayIsOpen) {
    return kNvLink;
  }
  if (api.CommonAncestor == nullptr ||
      api.CommonAncestor(one, other, &ancestor) != nvml::kSuccess) {
    return std::nullopt;
  }
  return ancestor <= nvml::kPcieSwitches ? kSwitches
         : ancestor <= nvml::kProcessor  ? kProcessor
                                         : kBeyond;
}

constexpr int kFar = 4;  // farther than any that answers

// All that answer or none: with a part nobody could say who is nearer.
void AddDistances(const nvml::Api& api, const std::vector<NvmlSeat>& seats,
                  std::vector<GpuFacts>& facts) {
  const auto answers = [&](std::size_t at) { return seats[at].code == nvml::kSuccess; };
  std::vector<std::vector<int>> distances(seats.size(), std::vector<int>(seats.size(), kFar));
  int pairs = 0;
  for (std::size_t a = 0; a < seats.size(); ++a) {
    distances[a][a] = 0;
    for (std::size_t b = 0; answers(a) && b < a; ++b) {
      if (!answers(b)) continue;
      const auto distance = DistanceBetween(api, seats[a].handle, seats[b].handle);
      if (!distance) return;
      distances[a][b] = distances[b][a] = *distance;
      ++pairs;
    }
  }
  if (pairs == 0) return;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (answers(i)) facts[i].distances = std::move(distances[i]);
  }
}

}  // namespace

std::string GivenNvmlLibrary() {
  const char* given = std::getenv("SHAREWELL_NVML_LIBRARY");
  return given == nullptr ? "" : given;
}

std::string GivenDcgmLibrary() {
  const char* given = std::getenv("SHAREWELL_DCGM_LIBRARY");
  return given == nullptr ? "" : given;
}

core::Result<std::vector<GpuFacts>> FindGpus(const std::string& library) {
  NvmlSession session(library);
  RETURN_IF_ERROR(session.Begin());
  std::vector<GpuFacts> facts;
  for (const NvmlSeat& seat : session.gpus()) facts.push_back(GpuFactsOf(session.api(), seat));
  AddDistances(session.api(), session.gpus(), facts);
  return facts;
}

core::GpuIslands IslandsOf(const std::vector<GpuFacts>& gpus) {
  std::vector<std::vector<int>> distances;
  for (const GpuFacts& gpu : gpus) {
    auto& row = distances.emplace_back();
    for (const GpuFacts& other : gpus) {
      const auto at = static_cast<std::size_t>(other.index);
      const bool told = at < gpu.distances.size() && !other.distances.empty();
      row.push_back(other.index == gpu.index ? 0 : told ? gpu.distances[at] : kFar);
    }
  }
  return core::GpuIslands::FromDistances(distances);
}

}  // namespace sharewell::collect
