// GpuTable: the GPUs by GpuId, as people see them: which are drained, which do not answer, and what
// keeps an unusable one from being used. The loop's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/job/job_record.h"
#include "core/units.h"

namespace sharewell::control {

// A process on a GPU that is no job of this server.
struct Stranger {
  int pid = 0;
  std::string user;  // its number where it has no name
  core::Bytes memory;
  bool busy = false;  // keeps the GPU at work, not only memory

  friend bool operator==(const Stranger&, const Stranger&) = default;
};

// "other processes: 12.3 GB, pid 4242 of ann"; empty: none.
std::string InWords(const std::vector<Stranger>& strangers);

// A GPU as people see it.
struct GpuView {
  core::GivenGpu gpu;
  core::Bytes memory;
  bool simulated = false;
  bool drained = false;
  std::string problem;  // it does not answer; empty: it does
  std::vector<Stranger> strangers;
  std::vector<std::int64_t> jobs;

  bool kept_busy() const;  // by strangers: nobody knows how a job would fare beside them
  bool usable() const { return !drained && problem.empty() && !kept_busy(); }
};

class GpuTable {
 public:
  explicit GpuTable(std::vector<GpuView> gpus) : gpus_(std::move(gpus)) {}

  std::size_t size() const { return gpus_.size(); }
  const std::vector<GpuView>& views() const { return gpus_; }  // `jobs` is not filled in
  const core::GivenGpu& gpu(core::GpuId id) const { return gpus_[id.index()].gpu; }
  bool usable(core::GpuId id) const { return gpus_[id.index()].usable(); }
  std::optional<core::GpuId> Named(std::string_view name) const;  // its index or uuid
  std::optional<core::GpuId> WithUuid(std::string_view uuid) const;

  void Add(GpuView gpu) { gpus_.push_back(std::move(gpu)); }
  void SetGpu(core::GpuId id, core::GivenGpu gpu) { gpus_[id.index()].gpu = std::move(gpu); }
  void SetDrained(core::GpuId id, bool drained) { gpus_[id.index()].drained = drained; }
  // Empty: it answers again. False: that was known.
  bool SetProblem(core::GpuId id, std::string problem);
  bool SetStrangers(core::GpuId id, std::vector<Stranger> strangers);  // false: they were known

  // The drained ones as they are stored, with one of them changed; and read again.
  std::string DrainedText(core::GpuId changed, bool drained) const;
  void ReadDrained(std::string_view text);

  // Which take no jobs and why, as the end of a sentence, and as one; empty: all do.
  std::string UnusableText() const;
  std::string UnusableSentence() const;

 private:
  std::vector<GpuView> gpus_;
};

}  // namespace sharewell::control
