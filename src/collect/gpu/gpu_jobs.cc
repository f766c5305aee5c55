#include "collect/gpu/gpu_jobs.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "collect/gpu/nvml/mig.h"
#include "collect/metrics/gpu_metrics.h"

namespace sharewell::collect {
namespace {

constexpr unsigned kProcessesAtFirst = 64;
constexpr unsigned kProcessesAtMost = 100'000;
constexpr unsigned kProcessPercent = 100;

// Whether such a process is in our PID namespace. NVML numbers processes as the host does.
bool IsVisibleProcess(unsigned pid) {
  return pid > 0 && pid <= 0x7fffffffU &&
         (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

}  // namespace

bool GpuJobs::List(int (*function)(nvml::Device, nvml::Unsigned*, nvml::Process*)) {
  if (function == nullptr) return false;
  std::vector<nvml::Process> list(kProcessesAtFirst);
  unsigned count = kProcessesAtFirst;
  int code = function(seat_->handle, &count, list.data());
  if (code == nvml::kInsufficientSize && count > kProcessesAtFirst && count < kProcessesAtMost) {
    list.resize(count + kProcessesAtFirst);  // some may start meanwhile
    count = static_cast<unsigned>(list.size());
    code = function(seat_->handle, &count, list.data());
  }
  if (code != nvml::kSuccess) return false;
  list.resize(std::min<std::size_t>(count, list.size()));
  for (const nvml::Process& process : list) {
    const bool known = std::any_of(processes_.begin(), processes_.end(), [&](const auto& other) {
      return other.pid == process.pid && other.gpu_instance == process.gpu_instance;
    });
    if (!known) processes_.push_back(process);
  }
  return true;
}

void GpuJobs::Sample(Pace::Clock::time_point now) {
  sampled_.clear();
  if (api_->ProcessSamples == nullptr || !pace_.Due(now)) return;
  if (buffer_.size() < kProcessesAtFirst) buffer_.resize(kProcessesAtFirst);
  const bool first = since_ == 0;
  const auto begin = Pace::Clock::now();
  auto count = static_cast<unsigned>(buffer_.size());
  int code = api_->ProcessSamples(seat_->handle, buffer_.data(), &count, since_);
  if (code == nvml::kInsufficientSize && count > buffer_.size() && count < kProcessesAtMost) {
    buffer_.resize(count);
    code = api_->ProcessSamples(seat_->handle, buffer_.data(), &count, since_);
  }
  pace_.Took(now, Pace::Clock::now() - begin);
  if (code != nvml::kSuccess) return;
  std::map<unsigned, int> counts;
  nvml::Long newest = since_;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, buffer_.size()); ++i) {
    const nvml::ProcessSample& sample = buffer_[i];
    // Some drivers fill the rest of the list with what is no sample.
    if (sample.pid == 0 || sample.time <= since_ || sample.sm > kProcessPercent) continue;
    newest = std::max(newest, sample.time);
    sampled_[sample.pid] += sample.sm;
    ++counts[sample.pid];
  }
  // The clock was set back: what comes would seem old until it has caught up.
  if (sampled_.empty() && since_ > NvmlNow() + 1'000'000) newest = 0;
  since_ = newest;
  for (auto& [pid, sum] : sampled_) sum /= counts[pid] * double{kProcessPercent};
  // The first time it is all that the driver remembers, back to before the watch began.
  if (first) sampled_.clear();
}

bool GpuJobs::IsMpsServer(unsigned pid) {
  const auto [at, is_new] = server_.try_emplace(pid, false);
  if (is_new) {
    at->second =
        NvmlText(api_->ProcessName, pid).find("nvidia-cuda-mps-server") != std::string::npos;
  }
  return at->second;
}

std::string GpuJobs::JobOf(unsigned pid) const {
  if (running_ != nullptr && pid <= 0x7fffffffU) {
    for (const RunningJob& job : *running_) {
      if (std::binary_search(job.pids.begin(), job.pids.end(), static_cast<int>(pid))) {
        return job.name;
      }
    }
  }
  return IsVisibleProcess(pid) ? fmt::format("pid {}", pid) : std::string();
}

void GpuJobs::AddProcesses(Parts& parts) {
  for (const nvml::Process& process : processes_) {
    const std::string job = JobOf(process.pid);
    if (job.empty()) continue;
    Part& part = parts[job];
    part.server = part.server || IsMpsServer(process.pid);
    if (process.memory == nvml::kNotAvailable) continue;
    const std::string& gpu = seat_->instance;
    part.memory[process.gpu_instance == nvml::kNoInstance ? gpu
                                                          : MigName(gpu, process.gpu_instance)] +=
        static_cast<double>(process.memory);
  }
}

std::optional<double> GpuJobs::AddKernelTime(Parts& parts, const NvmlGpu::Round& round) {
  if (sampled_.empty()) {
    // No sample is no news, unless the GPU was idle all the time.
    if (round.busy != 0.0) return std::nullopt;
    for (auto& [job, part] : parts) {
      if (!part.server) part.measured = 0;
    }
    return 0;
  }
  double all = 0, servers = 0;
  for (const auto& [pid, share] : sampled_) {
    all += share;
    if (IsMpsServer(pid)) {
      servers += share;
      continue;
    }
    const auto part = parts.find(JobOf(pid));
    if (part != parts.end()) part->second.measured = part->second.measured.value_or(0) + share;
  }
  std::vector<Part*> clients;
  for (auto& [job, part] : parts) {
    if (part.measured || part.server) continue;
    if (servers > 0 && part.mps) {
      clients.push_back(&part);
    } else {
      part.measured = 0;  // others were sampled and it was not: none of its kernels ran
    }
  }
  for (Part* client : clients) {
    client->apportioned = servers / static_cast<double>(clients.size());
  }
  return all;
}

void GpuJobs::AddEnergy(const Parts& parts, std::optional<double> all,
                        const NvmlGpu::Round& round) {
  // A counter that went back has started again: what was used before is not known.
  if (!round.joules || !joules_ || *round.joules < *joules_) {
    joules_ = round.joules;
    return;
  }
  // Kept until it is known whose it is.
  if (!all) return;
  const double used = *round.joules - *joules_;
  joules_ = round.joules;
  const auto holders = std::count_if(parts.begin(), parts.end(),
                                     [](const auto& entry) { return !entry.second.server; });
  for (const auto& [job, part] : parts) {
    if (part.server) continue;
    const double time = part.measured.value_or(0) + part.apportioned.value_or(0);
    energy_[job] += *all > 0 ? used * time / *all : used / static_cast<double>(holders);
  }
}

void GpuJobs::Read(const nvml::Api& api, const NvmlSeat& seat, const NvmlGpu::Round& round,
                   JobSource* jobs, std::vector<core::Reading>& out) {
  api_ = &api;
  seat_ = &seat;
  running_ = jobs == nullptr ? nullptr : &jobs->Running();
  if (found_ != seat.found) {
    found_ = seat.found;
    since_ = 0;
    joules_.reset();
  }
  processes_.clear();
  const bool mps_listed = List(api.MpsProcesses);
  std::set<std::string> mps_jobs;
  for (const nvml::Process& process : processes_) mps_jobs.insert(JobOf(process.pid));
  if (!List(api.Processes) && !mps_listed) return;
  out.push_back({&kGpuProcesses, seat.instance, {}, static_cast<double>(processes_.size())});

  Parts parts;
  AddProcesses(parts);
  for (auto& [job, part] : parts) part.mps = mps_jobs.contains(job);
  Sample(round.time);
  const std::optional<double> all = AddKernelTime(parts, round);
  AddEnergy(parts, all, round);

  const auto still_runs = [&](const std::string& job) {
    return parts.contains(job) ||
           (running_ != nullptr && std::any_of(running_->begin(), running_->end(),
                                               [&](const auto& one) { return one.name == job; }));
  };
  std::erase_if(energy_, [&](const auto& entry) { return !still_runs(entry.first); });
  std::erase_if(server_, [&](const auto& entry) {
    return !sampled_.contains(entry.first) &&
           std::none_of(processes_.begin(), processes_.end(),
                        [&](const auto& process) { return process.pid == entry.first; });
  });
  for (const auto& [job, part] : parts) {
    if (part.server) continue;  // no job: what it holds and runs is its clients'
    for (const auto& [instance, bytes] : part.memory) {
      out.push_back({&kJobGpuMemory, instance, job, bytes});
    }
    if (part.measured) out.push_back({&kJobGpuSm, seat.instance, job, *part.measured});
    if (part.apportioned) {
      out.push_back({&kJobGpuSmApportioned, seat.instance, job, *part.apportioned});
    }
    if (round.joules) {
      out.push_back({&kJobGpuEnergyApportioned, seat.instance, job, energy_[job]});
    }
  }
}

}  // namespace sharewell::collect
