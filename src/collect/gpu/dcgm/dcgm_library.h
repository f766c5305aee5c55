// DcgmLibrary: NVIDIA's data center GPU manager, opened at run time; and DcgmConnection: one
// connection through it to the engine that collects.
//
// The engine is a service of the machine (nv-hostengine), or where there is none, one that runs
// inside this process. One thread uses a connection; its calls may wait for the service.
#pragma once

#include <memory>
#include <string>

#include "collect/gpu/dcgm/dcgm_api.h"
#include "core/result.h"

namespace sharewell::collect {

class DcgmLibrary {
 public:
  // `path` empty: libdcgm.so.4 or libdcgm.so.3, where the loader finds one. Every failure is
  // kAbsent and says what to do. Once opened it stays loaded: an engine inside the process may
  // leave threads behind.
  static core::Result<DcgmLibrary> Open(const std::string& path);

  const dcgm::Api& api() const { return api_; }
  const std::string& name() const { return name_; }

 private:
  DcgmLibrary(const dcgm::Api& api, std::string name) : api_(api), name_(std::move(name)) {}

  dcgm::Api api_;
  std::string name_;
};

class DcgmConnection {
 public:
  // Who may start an engine in this process where no service answers.
  enum class Start { kNever, kWhereNeeded };

  static core::Result<std::unique_ptr<DcgmConnection>> Open(const std::string& library,
                                                            Start start);

  DcgmConnection(const DcgmConnection&) = delete;
  DcgmConnection& operator=(const DcgmConnection&) = delete;
  ~DcgmConnection();

  const dcgm::Api& api() const { return library_.api(); }
  dcgm::Handle handle() const { return handle_; }
  bool embedded() const { return embedded_; }

 private:
  DcgmConnection(DcgmLibrary library, dcgm::Handle handle, bool embedded)
      : library_(std::move(library)), handle_(handle), embedded_(embedded) {}

  DcgmLibrary library_;
  dcgm::Handle handle_;
  bool embedded_;
};

// Keeps the machine's service from using the GPUs' counters while it lives, so that another
// profiler can. Does nothing where there is no service.
class DcgmPause {
 public:
  explicit DcgmPause(const std::string& library);
  DcgmPause(const DcgmPause&) = delete;
  DcgmPause& operator=(const DcgmPause&) = delete;
  ~DcgmPause();

 private:
  std::unique_ptr<DcgmConnection> connection_;
  bool paused_ = false;
};

// What such an answer means, and what to do about it.
std::string DcgmMeaning(int code);
// The engine is gone: connect anew.
bool DcgmGone(int code);

}  // namespace sharewell::collect
