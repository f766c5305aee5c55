#include "testing/recorded_nvml.h"

#include <dlfcn.h>

#include "core/result.h"

namespace sharewell::fixtures {
namespace {

template <class Function>
Function* Find(void* handle, const char* name) {
  auto* function = reinterpret_cast<Function*>(::dlsym(handle, name));
  SHAREWELL_CHECK(function != nullptr);
  return function;
}

}  // namespace

RecordedNvml::RecordedNvml() : handle_(::dlopen(SHAREWELL_FAKE_NVML_PATH, RTLD_NOW | RTLD_LOCAL)) {
  SHAREWELL_CHECK(handle_ != nullptr);
}

RecordedNvml::~RecordedNvml() { ::dlclose(handle_); }

std::string RecordedNvml::Library() { return SHAREWELL_FAKE_NVML_PATH; }

void RecordedNvml::Load(const std::string& path) {
  Find<void(const char*)>(handle_, "fake_nvml_load")(path.c_str());
  Step(0);
}

void RecordedNvml::LoadText(const std::string& json) {
  Find<void(const char*)>(handle_, "fake_nvml_load_text")(json.c_str());
  Step(0);
}

void RecordedNvml::Step(int step) { Find<void(int)>(handle_, "fake_nvml_step")(step); }

long RecordedNvml::Calls() { return Find<long()>(handle_, "fake_nvml_calls")(); }

}  // namespace sharewell::fixtures
