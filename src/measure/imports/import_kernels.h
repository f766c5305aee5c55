// ImportKernels: kernel figures of Nsight Compute or PyTorch's profiler, read from a file and
// stored as a profile, or put into one that is stored.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/job/profile_record.h"
#include "core/result.h"
#include "store/store.h"

namespace sharewell::measure {

using OpenStore = std::function<core::Result<std::unique_ptr<store::Store>>()>;

struct KernelImport {
  std::string format;  // "ncu" or "kineto"
  std::string file;
  std::string name;  // of the profile; empty: the file's
  std::string
      into;         // the id or name of the stored profile that takes the kernels; empty: a new one
  std::string gpu;  // where the file does not say
};

struct ImportedKernels {
  core::ProfileRecord record;  // as stored, with its id
  core::KernelFigure whole;    // all kernels together
};

// The store is opened once the file is read. Usage errors: the file is none of its format, or
// `into` names no profile, or several.
core::Result<ImportedKernels> ImportKernels(const KernelImport& asked, const OpenStore& open);

// The kernels of `fresh`, and its figures in place of those of the same metrics. What was measured
// without a profiler stays. All kernels together are returned.
core::KernelFigure PutKernels(core::ProfileRecord fresh, core::ProfileRecord& record);

}  // namespace sharewell::measure
