#include "measure/doctor/machine_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

#include "collect/gpu/dcgm_collector.h"
#include "collect/gpu/gpus.h"
#include "collect/host/kernel_argument.h"
#include "collect/job_sources.h"
#include "collect/registry.h"
#include "core/text/words.h"
#include "engine/local/run/supervised.h"
#include "measure/doctor/host_speed.h"
#include "platform/files/text.h"
#include "platform/process/find_program.h"
#include "platform/process/mps.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::measure {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostRead = 64 * 1024;

// Without the line break at its end; absent: cannot be read.
std::optional<std::string> Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMostRead, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

bool MayWrite(const fs::path& path) { return ::access(path.c_str(), W_OK) == 0; }

// The control group of this process in v2: "/user.slice/...".
std::string OwnGroup(const fs::path& root) {
  std::istringstream lines(Contents(root / "proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return line.substr(4);
  }
  return "";
}

HealthRow CheckCgroup(const fs::path& root) {
  HealthRow row{"machine", "cgroup", Soundness::kAbsent, "", ""};
  const fs::path base = root / "sys/fs/cgroup";
  const auto controllers = Contents(base / "cgroup.controllers");
  if (!controllers) {
    std::error_code ignored;
    if (fs::exists(base / "memory", ignored) || fs::exists(base / "cpu", ignored)) {
      row.soundness = Soundness::kPartly;
      std::vector<std::string> bounds;
      for (const char* controller : {"cpuset", "cpu", "memory", "pids"}) {
        if (MayWrite(base / controller)) bounds.emplace_back(controller);
      }
      row.what = "version 1: figures of jobs are read, pressure of a job is not known; ";
      row.what += bounds.empty() ? "no group can be made here, as it can by root: jobs are kept to "
                                   "their CPUs by affinity "
                                   "alone, and their CPU time, memory and processes are not bounded"
                                 : fmt::format("jobs are bounded by {}", fmt::join(bounds, ", "));
      collect::HostFiles files(root.string());
      row.mend = collect::AddKernelArgument(files, "systemd.unified_cgroup_hierarchy=1");
    } else {
      row.what =
          "no control groups below /sys/fs/cgroup: jobs are told by their processes, and kept to "
          "their CPUs by affinity alone";
    }
    return row;
  }
  const fs::path own = base / OwnGroup(root);
  const bool delegated = MayWrite(own / "cgroup.procs") && MayWrite(own / "cgroup.subtree_control");
  std::vector<std::string> missing;
  const std::string have = " " + Contents(own / "cgroup.controllers").value_or(*controllers) + " ";
  for (const char* needed : {"cpu", "cpuset", "io", "memory"}) {
    if (have.find(fmt::format(" {} ", needed)) == std::string::npos) missing.emplace_back(needed);
  }
  row.what = fmt::format("version 2, controllers {}",
                         have.size() > 2 ? have.substr(1, have.size() - 2) : "none");
  if (!missing.empty()) row.what += fmt::format("; without {}", fmt::join(missing, ", "));
  row.what +=
      delegated ? "; groups for jobs can be made here"
                : "; no group can be made here, so CPU time, memory and processes of jobs are not "
                  "bounded; as root, or in a scope with Delegate=yes, they are";
  row.soundness = delegated && missing.empty() ? Soundness::kWorks : Soundness::kPartly;
  if (!delegated) row.mend = "systemd-run --user --scope -p Delegate=yes sharewell serve";
  return row;
}

HealthRow CheckPerf(const fs::path& root) {
  HealthRow row{"machine", "perf permission", Soundness::kAbsent, "", ""};
  const auto level = Contents(root / "proc/sys/kernel/perf_event_paranoid");
  if (!level) {
    row.what = "this kernel has no performance events";
    return row;
  }
  const bool root_user = ::geteuid() == 0;
  const bool open = *level == "0" || level->starts_with('-');
  row.what = fmt::format("kernel.perf_event_paranoid is {}{}", *level,
                         root_user ? ", and root may all" : "");
  row.soundness = root_user || open ? Soundness::kWorks : Soundness::kPartly;
  if (row.soundness == Soundness::kPartly) {
    row.what += ": counters of own processes only, not of whole CPUs or jobs of others";
    row.mend = "sudo sysctl kernel.perf_event_paranoid=0";
  }
  return row;
}

HealthRow CheckClock(const fs::path& root) {
  HealthRow row{"machine", "clock", Soundness::kAbsent, "the clock's source is not known", ""};
  const fs::path folder = root / "sys/devices/system/clocksource/clocksource0";
  const auto source = Contents(folder / "current_clocksource");
  if (!source || source->empty()) return row;
  constexpr std::array<std::string_view, 4> kSlow = {"hpet", "acpi_pm", "jiffies", "xen"};
  const bool slow = std::find(kSlow.begin(), kSlow.end(), *source) != kSlow.end();
  row.soundness = slow ? Soundness::kPartly : Soundness::kWorks;
  row.what =
      fmt::format("source {}{}", *source, slow ? ": reading it costs a system call each time" : "");
  const auto others = Contents(folder / "available_clocksource");
  if (slow && others && others->find("tsc") != std::string::npos) {
    row.mend =
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource";
  }
  return row;
}

HealthRow CheckProgram(const MachinePlaces& places, const std::string& section,
                       const std::string& name, const std::string& program,
                       const std::string& mend) {
  const auto found = platform::FindProgram(program, places.path);
  if (found) return {section, name, Soundness::kWorks, *found, ""};
  return {section, name, Soundness::kAbsent, fmt::format("{} is not in PATH", program), mend};
}

// `sharewell serve` cannot do without it.
HealthRow CheckSupervisor() {
  const auto found = engine::FindSupervisor();
  if (found) return {"machine", "supervisor", Soundness::kWorks, *found, ""};
  return {"machine", "supervisor", Soundness::kAbsent, found.error().message, ""};
}

// Who counts what the SMs and the memory of this GPU do, and what it would take where nobody does.
void AddActivitySource(const collect::GpuFacts& gpu, const std::map<int, collect::Health>& by_dcgm,
                       HealthRow& row) {
  if (gpu.gpm) {
    row.what += ", SM and DRAM activity by GPM";
    return;
  }
  const auto dcgm = by_dcgm.find(gpu.index);
  if (dcgm == by_dcgm.end()) return;  // it does not answer
  if (dcgm->second.state == collect::Health::State::kWorks) {
    row.what += ", SM and DRAM activity by DCGM";
    return;
  }
  row.soundness = Soundness::kPartly;
  row.what += dcgm->second.state == collect::Health::State::kPartly
                  ? ", SM and DRAM activity by DCGM where the agent is root's: "
                  : ", no SM or DRAM activity, only whether it is busy: ";
  row.what += dcgm->second.what;
  row.mend = dcgm->second.mend;
}

std::vector<HealthRow> CheckGpus(const MachinePlaces& places) {
  std::vector<HealthRow> rows;
  const auto gpus = collect::FindGpus(places.nvml_library);
  if (!gpus) {
    rows.push_back({"GPUs", "gpu", Soundness::kAbsent, gpus.error().message, ""});
    return rows;
  }
  const auto by_dcgm = collect::ProbeDcgm(collect::DcgmHere(places.dcgm_library), *gpus);
  for (const collect::GpuFacts& gpu : *gpus) {
    std::string what = gpu.name.empty() ? "of unknown model" : gpu.name;
    if (gpu.memory.value > 0) what += ", " + core::SizeText(gpu.memory);
    if (!gpu.driver.empty()) what += ", driver " + gpu.driver;
    if (!gpu.cuda.empty()) what += ", CUDA " + gpu.cuda;
    if (gpu.pcie) what += fmt::format(", PCIe {:.1f} GB/s", gpu.pcie->value / 1e9);
    if (gpu.mig) what += ", cut into MIG instances";
    rows.push_back({"GPUs", fmt::format("gpu {}", gpu.index), Soundness::kWorks, what, ""});
    AddActivitySource(gpu, by_dcgm, rows.back());
  }
  if (const auto islands = collect::IslandsOf(*gpus); islands.known()) {
    rows.push_back({"GPUs", "gpu islands", Soundness::kWorks,
                    islands.Text() +
                        ": GPUs of one island are near each other, and jobs of several GPUs get "
                        "those where they can",
                    ""});
  }
  rows.push_back(CheckMps(places));
  return rows;
}

// Without it nobody is kept from crowding the host's memory, nor slowed for it.
HealthRow CheckHostSpeed(const MachinePlaces& places) {
  HealthRow row{"machine", "host speed", Soundness::kAbsent, "", ""};
  const auto kept = KeptHostSpeed(places.state, MachineKey(places.root));
  if (kept) {
    row.soundness = Soundness::kWorks;
    row.what = InWords(*kept);
    return row;
  }
  row.what = "the bandwidth of the host's memory was not measured here, so it is not reckoned with";
  row.mend = "sharewell doctor --calibrate";
  return row;
}

// Without it predictions are for the host that was learnt on.
HealthRow CheckHostProbe(const MachinePlaces& places) {
  HealthRow row{"machine", "host probe", Soundness::kAbsent, "", ""};
  const auto kept = KeptHostProbe(places.state, MachineKey(places.root));
  if (!kept) {
    row.what = "this host's speed was not probed, so step times are predicted for another one";
    row.mend = "sharewell doctor --calibrate";
    return row;
  }
  row.soundness = Soundness::kWorks;
  row.what = InWords(*kept);
  const auto time = HostTime(*kept);
  row.what += !time        ? "; no GPU was seen, so step times are predicted for another host"
              : *time == 1 ? "; like the host that predictions were learnt on"
                           : fmt::format(
                                 "; takes {:.2f} times as long as the host that predictions "
                                 "were learnt on",
                                 *time);
  return row;
}

HealthRow CheckStore(const std::string& place) {
  HealthRow row{"store", "store", Soundness::kAbsent, "", ""};
  const std::string shown = store::WithoutPassword(place);
  std::error_code error;
  const bool url = place.find("://") != std::string::npos;
  if (!url && !fs::exists(place, error)) {
    fs::path folder = fs::absolute(place, error).parent_path();
    while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
    const bool can = MayWrite(folder);
    row.soundness = can ? Soundness::kWorks : Soundness::kAbsent;
    row.what =
        can ? shown + " is not there yet and can be made"
            : fmt::format("{} is not there, and {} may not be written to", shown, folder.string());
    if (!can) row.mend = "export SHAREWELL_STORE=$HOME/sharewell.db";
    return row;
  }
  auto opened = store::Open(place);
  if (!opened) {
    row.what = opened.error().message;
    return row;
  }
  const auto series = (*opened)->List({});
  if (!series) {
    row.what = series.error().message;
    return row;
  }
  row.what = fmt::format("{}: {} series", shown, series->size());
  row.soundness = Soundness::kWorks;
  if (url) return row;
  const auto size = fs::file_size(place, error);
  if (!error) row.what += ", " + core::SizeText(core::Bytes(static_cast<double>(size)));
  if (!MayWrite(place)) {
    row.soundness = Soundness::kPartly;
    row.what += "; it can be read only";
    row.mend = fmt::format("sudo chown $USER {}", shown);
  }
  return row;
}

Soundness SoundnessOf(collect::Health::State state) {
  switch (state) {
    case collect::Health::State::kWorks:
      return Soundness::kWorks;
    case collect::Health::State::kPartly:
      return Soundness::kPartly;
    case collect::Health::State::kAbsent:
      break;
  }
  return Soundness::kAbsent;
}

std::vector<HealthRow> CheckCollectors(const MachinePlaces& places) {
  collect::DiscoveredJobs jobs;
  collect::CollectorOptions options;
  options.jobs = &jobs;
  options.nvml_library = places.nvml_library;
  options.dcgm_library = places.dcgm_library;
  std::vector<HealthRow> rows;
  for (const auto& collector : collect::AllCollectors(options)) {
    const collect::Health health = collector->Probe();
    rows.push_back({"collectors", std::string(collector->Name()), SoundnessOf(health.state),
                    health.what, health.mend});
  }
  return rows;
}

}  // namespace

HealthRow CheckMps(const MachinePlaces& places) {
  auto row = CheckProgram(places, "GPUs", "MPS", "nvidia-cuda-mps-control", "");
  if (row.soundness == Soundness::kAbsent) {
    row.what += ": jobs share a GPU by turns only";
    return row;
  }
  const auto everybody = platform::MpsServesEverybody(row.what);
  if (everybody && *everybody) {
    row.what += ": a server of root's lets jobs of all users share a GPU at the same time";
  } else {
    row.what +=
        ": jobs of one user share a GPU at the same time, those of different users by turns, as "
        "this driver has no --multiuser-server";
  }
  return row;
}

std::vector<HealthRow> CheckMachine(const MachinePlaces& places) {
  const fs::path root = places.root;
  std::vector<HealthRow> rows = {CheckCgroup(root), CheckPerf(root),        CheckClock(root),
                                 CheckSupervisor(), CheckHostSpeed(places), CheckHostProbe(places)};
  for (const char* runtime : {"podman", "docker", "apptainer"}) {
    rows.push_back(
        CheckProgram(places, "container runtimes", runtime, runtime,
                     std::string(runtime) == "podman" ? "sudo apt-get install podman" : ""));
  }
  return rows;
}

std::vector<HealthRow> Examine(const MachinePlaces& places, const std::string& store) {
  std::vector<HealthRow> rows = CheckCollectors(places);
  for (auto& part : {CheckGpus(places), CheckMachine(places)}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  rows.push_back(CheckStore(store));
  return rows;
}

}  // namespace sharewell::measure
