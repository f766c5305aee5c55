// NvmlSession: the library and the GPUs behind it, kept over rounds in which either may vanish and
// come back.
//
// A round is Begin, work on the GPUs that answer, End. One thread uses it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collect/gpu/nvml/nvml_library.h"
#include "core/result.h"

namespace sharewell::collect {

struct NvmlSeat {
  int index = 0;
  std::string instance;  // the index as text
  nvml::Device handle = nullptr;
  int code = 0;   // why it does not answer now; 0: it does
  int found = 0;  // how often it was found; what was remembered of it before is void
};

class NvmlSession {
 public:
  explicit NvmlSession(std::string path) : path_(std::move(path)) {}

  // Opens the library where that is needed (tried every 10 s at most; the error stays the same in
  // between), and looks again for GPUs that were lost. On an error there is nothing to work on.
  core::Result<void> Begin();
  // Which GPUs did not answer and what to do, the same text for as long as that lasts: whoever asks
  // tells what is new in it.
  core::Result<void> End();

  // After a Begin that went well.
  const nvml::Api& api() const { return library_->api(); }
  std::vector<NvmlSeat>& gpus() { return gpus_; }
  // The GPU did not answer in this round, for this reason.
  static void Lose(NvmlSeat& seat, int code) { seat.code = code; }
  // Every GPU said in this round that the library has stopped: End lets it go, so whatever holds on
  // to it goes before.
  bool Stopped() const;
  // Rises each time the library is opened.
  int opened() const { return opened_; }

  // "2 GPUs: NVIDIA H200, driver 580.159.04", and who of them does not answer.
  Health Describe();

 private:
  core::Result<void> Open();

  std::string path_;
  std::unique_ptr<NvmlLibrary> library_;
  std::vector<NvmlSeat> gpus_;
  int opened_ = 0;
  core::Error failure_;
  std::chrono::steady_clock::time_point next_try_;
};

bool HasGpm(const nvml::Api& api, nvml::Device gpu);

// The clock by which NVML stamps its samples: microseconds since 1970.
nvml::Long NvmlNow();

// The text that a function of NVML writes; empty where it fails or there is no such function.
template <class Function, class... Before>
std::string NvmlText(Function* function, Before... before) {
  char text[128] = {};
  if (function == nullptr || function(before..., text, sizeof(text) - 1) != nvml::kSuccess) {
    return {};
  }
  return text;
}

}  // namespace sharewell::collect
