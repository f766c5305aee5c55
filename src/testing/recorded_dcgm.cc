#include "testing/recorded_dcgm.h"

#include <dlfcn.h>

#include "core/result.h"

namespace sharewell::fixtures {
namespace {

template <class Function>
Function* FindInFake(void* handle, const char* name) {
  auto* function = reinterpret_cast<Function*>(::dlsym(handle, name));
  SHAREWELL_CHECK(function != nullptr);
  return function;
}

}  // namespace

RecordedDcgm::RecordedDcgm() : handle_(::dlopen(SHAREWELL_FAKE_DCGM_PATH, RTLD_NOW | RTLD_LOCAL)) {
  SHAREWELL_CHECK(handle_ != nullptr);
}

RecordedDcgm::~RecordedDcgm() { ::dlclose(handle_); }

std::string RecordedDcgm::Library() { return SHAREWELL_FAKE_DCGM_PATH; }

void RecordedDcgm::LoadText(const std::string& json) {
  FindInFake<void(const char*)>(handle_, "fake_dcgm_load_text")(json.c_str());
  Step(0);
}

void RecordedDcgm::Step(int step) { FindInFake<void(int)>(handle_, "fake_dcgm_step")(step); }

int RecordedDcgm::Watches() { return FindInFake<int()>(handle_, "fake_dcgm_watches")(); }

int RecordedDcgm::Connections() { return FindInFake<int()>(handle_, "fake_dcgm_connections")(); }

bool RecordedDcgm::Paused() { return FindInFake<int()>(handle_, "fake_dcgm_paused")() != 0; }

}  // namespace sharewell::fixtures
