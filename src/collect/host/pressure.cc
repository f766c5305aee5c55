#include "collect/host/pressure.h"

#include <cerrno>
#include <string>

#include "collect/host/files.h"
#include "collect/host/kernel_argument.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

struct PressureSource {
  std::string_view name;
  const core::Metric* some;
  const core::Metric* full;  // null: the kernel's figure means nothing for the whole machine
  const core::Metric* job;
};

constexpr PressureSource kPressures[] = {
    {"cpu", &kPressureCpuWaitingSeconds, nullptr, &kJobPressureCpuWaitingSeconds},
    {"memory", &kPressureMemoryWaitingSeconds, &kPressureMemoryStalledSeconds,
     &kJobPressureMemoryWaitingSeconds},
    {"io", &kPressureIoWaitingSeconds, &kPressureIoStalledSeconds, &kJobPressureIoWaitingSeconds},
};

class PressureCollector final : public Collector {
 public:
  PressureCollector(const std::string& root, JobSource* jobs) : files_(root), jobs_(jobs) {
    for (std::size_t i = 0; i < std::size(kPressures); ++i) {
      machine_[i] = KeptFile(fmt::format("/proc/pressure/{}", kPressures[i].name));
    }
  }

  std::string_view Name() const override { return "pressure"; }
  std::string_view Describe() const override {
    return "time spent waiting for CPU, memory and disks (PSI), of the machine and of jobs";
  }

  Health Probe() override {
    const auto text = files_.Read(machine_[0]);
    if (text && ParsePressure(*text).some) {
      return {Health::State::kWorks, "of the machine, and of jobs with a control group (v2)", ""};
    }
    // The kernel has it but it is switched off: opening fails with EOPNOTSUPP (Red Hat's way).
    if (!text && files_.error() == EOPNOTSUPP) {
      return {Health::State::kAbsent, "the kernel has pressure information (PSI) switched off",
              AddKernelArgument(files_, "psi=1")};
    }
    return {Health::State::kAbsent,
            "/proc/pressure cannot be read: the kernel is older than 4.20, or was built without "
            "PSI or started with psi=0",
            AddKernelArgument(files_, "psi=1")};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    for (std::size_t i = 0; i < std::size(kPressures); ++i) {
      const auto text = files_.Read(machine_[i]);
      if (!text) {
        unread.Add(machine_[i].path(), files_.error());
        continue;
      }
      const PressureTotals totals = ParsePressure(*text);
      if (!totals.some) unread.Add(machine_[i].path(), "it is not as this program knows it");
      if (totals.some) Put(out, *kPressures[i].some, *totals.some);
      if (totals.full && kPressures[i].full != nullptr) Put(out, *kPressures[i].full, *totals.full);
    }
    if (jobs_ == nullptr) return unread.Outcome();
    for (const RunningJob& job : jobs_->Running()) {
      if (job.cgroup.empty()) continue;
      for (const PressureSource& source : kPressures) {
        // Not there in cgroup v1, or gone with the job: then the job has no such figure.
        const auto text = files_.Read(fmt::format("{}/{}.pressure", job.cgroup, source.name));
        if (!text) continue;
        if (const auto some = ParsePressure(*text).some) Put(out, *source.job, *some, {}, job.name);
      }
    }
    return unread.Outcome();
  }

 private:
  HostFiles files_;
  KeptFile machine_[std::size(kPressures)];
  JobSource* jobs_;
};

}  // namespace

PressureTotals ParsePressure(std::string_view text) {
  PressureTotals totals;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    const std::string_view kind = TakeWord(line);
    std::optional<double> seconds;
    for (auto word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
      if (!word.starts_with("total=")) continue;
      if (const auto microseconds = AsUnsigned(word.substr(6))) {
        seconds = static_cast<double>(*microseconds) * 1e-6;
      }
    }
    if (kind == "some") totals.some = seconds;
    if (kind == "full") totals.full = seconds;
  }
  return totals;
}

std::unique_ptr<Collector> NewPressureCollector(const std::string& root, JobSource* jobs) {
  return std::make_unique<PressureCollector>(root, jobs);
}

}  // namespace sharewell::collect
