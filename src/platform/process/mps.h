// MpsServer: a CUDA MPS control daemon of our own, so that programs share a GPU's SMs at the same
// time instead of by turns.
//
// Its pipes and logs lie in a folder of ours, so it stands beside any that the machine already
// runs. One thread uses it. When the object goes, the daemon is told to quit, unless it was told to
// stay.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::platform {

struct MpsOptions {
  std::string folder;  // is made if it is not there; its name must be short: sockets lie in it
  std::string program = "nvidia-cuda-mps-control";
  std::string gpus = {};  // CUDA_VISIBLE_DEVICES of the daemon; empty: ours
  // Clients of all users at once, in one server process of root's (MpsServesEverybody). False: of
  // one user at a time, another's wait until those have ended.
  bool everybody = false;
};

// What a client may take; what is not set is not limited.
struct MpsLimits {
  std::optional<core::Ratio> threads = {};  // of the SMs, above 0 up to 1
  std::optional<core::Bytes> memory = {};   // on each of the GPUs
  std::optional<int> priority = {};         // 0: its kernels go before those of clients with 1
  int gpus = 1;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

class MpsServer {
 public:
  // kAbsent where MPS is not installed; else the error says what the daemon said.
  static core::Result<std::unique_ptr<MpsServer>> Start(const MpsOptions& options);
  // The one that an earlier process of ours left in that folder. kAbsent: none answers there.
  static core::Result<std::unique_ptr<MpsServer>> Find(const MpsOptions& options);

  MpsServer(const MpsServer&) = delete;
  MpsServer& operator=(const MpsServer&) = delete;
  ~MpsServer();

  // Programs that start with these set run under this server.
  Environment ClientEnvironment(const MpsLimits& limits = {}) const;
  // Ends the daemon and with it whatever still runs under it; within 15 s. Again: nothing happens.
  // One that does not listen is killed, after a look that the number in its file is its own.
  core::Result<void> Stop();
  // The daemon stays when the object goes.
  void Leave() { running_ = false; }
  // The process is there, under its name; cheap, does not ask it anything.
  bool Alive() const;
  std::string pipes() const;

 private:
  MpsServer(MpsOptions options, std::string program)
      : options_(std::move(options)), program_(std::move(program)) {}

  MpsOptions options_;
  std::string program_;  // where it was found
  bool running_ = true;
};

// Whether this driver's daemon can serve clients of several users at once: MpsOptions::everybody.
// Runs the program to ask for its help. kAbsent where MPS is not installed.
core::Result<bool> MpsServesEverybody(const std::string& program = "nvidia-cuda-mps-control");

// Whether a daemon answers in such a folder of pipes (/tmp/nvidia-mps is the usual one). kAbsent
// where MPS is not installed.
core::Result<bool> MpsRuns(const std::string& pipes,
                           const std::string& program = "nvidia-cuda-mps-control");

}  // namespace sharewell::platform
