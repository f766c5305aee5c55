// XidWatch: the XID errors that the driver reports as events.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collect/gpu/nvml/nvml_session.h"
#include "core/metric.h"

namespace sharewell::collect {

class XidWatch {
 public:
  // `api` must outlive it.
  explicit XidWatch(const nvml::Api& api);
  XidWatch(const XidWatch&) = delete;
  XidWatch& operator=(const XidWatch&) = delete;
  ~XidWatch();

  // Takes what has come, without waiting, and appends each GPU's last. Says what was new; empty:
  // nothing.
  std::string Read(const std::vector<NvmlSeat>& gpus, std::vector<core::Reading>& out);

 private:
  const nvml::Api& api_;
  nvml::EventSet set_ = nullptr;
  std::map<int, int> registered_;   // GPU's index: NvmlSeat::found
  std::map<int, nvml::Long> last_;  // by the GPU's index
};

// "XID 79: the GPU has fallen off the bus; ...": what it means and what to do.
std::string XidText(nvml::Long xid);

}  // namespace sharewell::collect
