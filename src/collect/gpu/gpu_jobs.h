// GpuJobs: which part of a GPU's figures belongs to which job.
//
// Memory and kernel time are NVML's, process by process. Under MPS the clients are listed with
// their memory, but where NVML samples kernel time for the server alone, that is split evenly among
// the jobs that are clients and marked apportioned. Energy is always apportioned: no GPU measures
// it by process. A process that cannot be seen from here (another PID namespace) is no job; its
// part is nobody's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collect/gpu/nvml_gpu.h"
#include "collect/gpu/pace.h"
#include "collect/jobs.h"
#include "core/metric.h"

namespace sharewell::collect {

// Of one GPU.
class GpuJobs {
 public:
  // `jobs` may be null. Appends nothing where the GPU does not list its processes.
  void Read(const nvml::Api& api, const NvmlSeat& seat, const NvmlGpu::Round& round,
            JobSource* jobs, std::vector<core::Reading>& out);

 private:
  // Samples of processes cost 1 to 2 ms: they are taken about every second.
  static constexpr double kSamplePart = 1.0 / 800;

  struct Part {                            // what a job has of this GPU
    std::map<std::string, double> memory;  // by instance: the GPU's, or its MIG instances'
    std::optional<double> measured;        // kernel time, 0..1
    std::optional<double> apportioned;
    bool mps = false;     // is a client of MPS
    bool server = false;  // is its server, whose kernel time is the clients'
  };
  using Parts = std::map<std::string, Part>;

  // The processes with a context; empty `list` where the GPU does not say.
  bool List(int (*function)(nvml::Device, nvml::Unsigned*, nvml::Process*));
  // Fills sampled_ with kernel time since it was last asked for; empty: none is known.
  void Sample(Pace::Clock::time_point now);
  bool IsMpsServer(unsigned pid);
  // Whose it is; empty: cannot be seen from here.
  std::string JobOf(unsigned pid) const;

  void AddProcesses(Parts& parts);
  // The kernel time of all processes together, whoever they are; none: not known.
  std::optional<double> AddKernelTime(Parts& parts, const NvmlGpu::Round& round);
  void AddEnergy(const Parts& parts, std::optional<double> all, const NvmlGpu::Round& round);

  // Of this round alone.
  const nvml::Api* api_ = nullptr;
  const NvmlSeat* seat_ = nullptr;
  const std::vector<RunningJob>* running_ = nullptr;
  std::vector<nvml::Process> processes_;
  std::map<unsigned, double> sampled_;  // kernel time by process, 0..1

  int found_ = 0;
  std::vector<nvml::ProcessSample> buffer_;
  Pace pace_{kSamplePart};
  nvml::Long since_ = 0;
  std::map<unsigned, bool> server_;  // whether a process is an MPS server
  std::optional<double> joules_;     // the GPU's counter when energy was last given out
  std::map<std::string, double> energy_;
};

}  // namespace sharewell::collect
