// libfake_checkpoint.so: a stand-in for the driver's libcuda that knows checkpoints of processes
// alone.
//
// Its world is the folder $SHAREWELL_FAKE_CHECKPOINT, so that one caller sees what another has
// done:
//   PID        the process uses CUDA; its state, "0" to "3" as the driver counts them. Empty: "0"
//   calls      a line for each call that came: "lock 17"
//   slow       how long Checkpoint and Restore take, in milliseconds
//   lock, checkpoint, restore, unlock   what that call answers instead of doing anything
// Nothing here throws into its caller.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr int kInvalidValue = 1, kIllegalState = 401;

std::string PathOf(const std::string& name) {
  const char* folder = std::getenv("SHAREWELL_FAKE_CHECKPOINT");
  return folder == nullptr ? std::string() : std::string(folder) + "/" + name;
}

// Below 0: there is no such file.
int NumberIn(const std::string& name) {
  std::ifstream file(PathOf(name));
  if (!file) return -1;
  int number = 0;
  return file >> number ? number : 0;
}

int StateOf(int pid) { return ::kill(pid, 0) == 0 ? NumberIn(std::to_string(pid)) : -1; }

int Do(const char* call, int pid, int from, int to, bool takes_time) {
  std::ofstream(PathOf("calls"), std::ios::app) << call << ' ' << pid << std::endl;
  if (takes_time) {
    const int slow = NumberIn("slow");
    if (slow > 0) std::this_thread::sleep_for(std::chrono::milliseconds(slow));
  }
  if (const int refuses = NumberIn(call); refuses > 0) return refuses;
  const int state = StateOf(pid);
  if (state < 0) return kInvalidValue;
  if (state != from) return kIllegalState;
  std::ofstream(PathOf(std::to_string(pid))) << to << std::endl;
  return 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuCheckpointProcessLock(int pid, void*) {
  return Do("lock", pid, 0, 1, false);
}
__attribute__((visibility("default"))) int cuCheckpointProcessCheckpoint(int pid, void*) {
  return Do("checkpoint", pid, 1, 2, true);
}
__attribute__((visibility("default"))) int cuCheckpointProcessRestore(int pid, void*) {
  return Do("restore", pid, 2, 1, true);
}
__attribute__((visibility("default"))) int cuCheckpointProcessUnlock(int pid, void*) {
  return Do("unlock", pid, 1, 0, false);
}
__attribute__((visibility("default"))) int cuCheckpointProcessGetState(int pid, int* state) {
  const int now = StateOf(pid);
  if (now < 0) return kInvalidValue;
  *state = now;
  return 0;
}
}
