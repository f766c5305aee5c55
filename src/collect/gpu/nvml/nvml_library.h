// NvmlLibrary: the driver's library, opened and started.
//
// Loader and library both count their users, so each user has an object of its own and none waits
// for another: the library is let go with the last of them. Its functions may be called from any
// thread.
#pragma once

#include <memory>
#include <string>

#include "collect/gpu/nvml/nvml_api.h"
#include "core/result.h"

namespace sharewell::collect {

class NvmlLibrary {
 public:
  // `path` empty: libnvidia-ml.so.1, where the loader finds it. Every failure is kAbsent and says
  // what to do.
  static core::Result<std::unique_ptr<NvmlLibrary>> Open(const std::string& path);

  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  ~NvmlLibrary();

  const nvml::Api& api() const { return api_; }

 private:
  NvmlLibrary(void* handle, const nvml::Api& api) : handle_(handle), api_(api) {}

  void* handle_;
  nvml::Api api_;
};

// What such an answer means, and what to do about it: "the GPU does not answer ...; ...".
std::string NvmlMeaning(int code);

// The whole library has stopped answering (the driver was unloaded): open it anew.
bool NvmlStopped(int code);
// The GPU is not there for now.
bool GpuGone(int code);
// The figure will not come later either.
bool NeverThere(int code);

}  // namespace sharewell::collect
