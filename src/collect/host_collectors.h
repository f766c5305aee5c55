// The collectors of the host, one source each. Each reads below `root` ("/" or a captured tree).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "collect/collector.h"
#include "collect/jobs.h"
#include "core/job/job_told.h"

namespace sharewell::collect {

// Where jobs' files with their steps are, below the root.
struct StepsFolders {
  // Root's: prolog.sh makes a file in it for each job. Not below /tmp or /var/tmp, where anybody
  // may make a folder of that name first, and which units with PrivateTmp do not see.
  std::string slurm = "/var/lib/sharewell-steps";
  std::string kubelet = "/var/lib/kubelet";  // its root folder, with one for each pod

  // Why nothing in Slurm's folder below `root` is believed; empty: it is, or there is none.
  std::string WhyDistrusted(const std::string& root) const;
};
// Gets what watchers inside of jobs tell; on the thread of Collect, and must not wait.
using ToldSink = std::function<void(core::JobTold)>;

std::unique_ptr<Collector> NewCpuCollector(const std::string& root);
std::unique_ptr<Collector> NewMemoryCollector(const std::string& root);
std::unique_ptr<Collector> NewDiskCollector(const std::string& root);
std::unique_ptr<Collector> NewNetworkCollector(const std::string& root);
// Of the machine, and of the control groups of `jobs` (may be null).
std::unique_ptr<Collector> NewPressureCollector(const std::string& root, JobSource* jobs);
std::unique_ptr<Collector> NewNumaCollector(const std::string& root);
// Of the machine, and of jobs (may be null). A captured tree has no counters.
std::unique_ptr<Collector> NewPerfCollector(const std::string& root, JobSource* jobs);
// Bytes that memory moved, of the machine and of jobs (may be null).
std::unique_ptr<Collector> NewTrafficCollector(const std::string& root, JobSource* jobs);
// `jobs` may be null: then there is nothing to say.
std::unique_ptr<Collector> NewJobsCollector(const std::string& root, JobSource* jobs);
// Of jobs that Slurm or a kubelet runs here. A folder that is not root's (nor of whoever runs this)
// is not believed, nor a file whose owner has no process in the job of that name among `jobs` (may
// be null).
// What watchers tell beside steps goes to `told` (may be empty).
std::unique_ptr<Collector> NewStepsCollector(const std::string& root, const StepsFolders& folders,
                                             JobSource* jobs, ToldSink told = {});
std::unique_ptr<Collector> NewRaplCollector(const std::string& root);
std::unique_ptr<Collector> NewHwmonCollector(const std::string& root);
std::unique_ptr<Collector> NewIpmiCollector(const std::string& root);

}  // namespace sharewell::collect
