// A job that pretends to train on a simulated GPU, for the demo, tests and pictures.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/args/values.h"
#include "cli/client/server_flags.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "core/numbers/random.h"
#include "core/result.h"
#include "interference/interference.h"
#include "platform/files/write_file.h"

namespace sharewell::cli {
namespace {

using core::Result;
using std::chrono::steady_clock;

constexpr double kMostRate = 1000;
constexpr double kMostStandInSteps = 1e9;
constexpr double kMostKernel = 1e6;  // microseconds
constexpr std::chrono::milliseconds kLookEvery{500};
constexpr std::chrono::seconds kPrintEvery{5};
constexpr std::chrono::seconds kTellLossEvery{1};

// Opened as report_step() does: a full pipe drops a line and holds nobody up. -1: there is none.
int OpenPipe(const char* variable) {
  const char* path = std::getenv(variable);
  return path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
}

// Made up: it falls as the loss of a training does, with a little noise.
double LossAt(double part, std::int64_t step) {
  const double noise = core::Uniform(static_cast<std::uint64_t>(step)) - 0.5;
  return 0.4 + 2.6 * std::exp(-4 * part) + 0.08 * noise;
}

// What it does to its GPU and feels of others, as one line of a file.
std::string LoadLine(const core::Demand& demand) {
  return fmt::format("{} {} {} {}\n", demand.busy, demand.sm, demand.dram,
                     demand.kernel_time->value);
}

// Absent: it is no stand-in, or has told none yet; nobody feels it then.
std::optional<core::Demand> ReadLoad(const std::filesystem::path& file) {
  std::ifstream in(file);
  core::Demand demand;
  double kernel = 0;
  if (!(in >> demand.busy >> demand.sm >> demand.dram >> kernel)) return std::nullopt;
  demand.kernel_time = core::Seconds(kernel);
  demand.known = true;
  return demand;
}

class StandInCommand : public Command {
 public:
  void AddFlags(CLI::App& app) override {
    const auto number = [&](const char* flag, std::string& to, const char* help) {
      app.add_option(flag, to, help)->type_name("X")->capture_default_str();
    };
    number("--rate", rate_, "steps a second, alone");
    number("--steps", steps_, "steps after which it ends");
    number("--busy", busy_, "share of the time in which a kernel runs, alone");
    number("--sm", sm_, "share of the SMs that its kernels keep active");
    number("--dram", dram_, "share of the GPU's memory bandwidth");
    number("--kernel", kernel_, "mean time of a kernel, in microseconds");
    app.add_option("--loads", loads_,
                   "folder in which stand-ins tell each other of their load (default: nobody is "
                   "slowed)")
        ->type_name("DIR");
    app.add_option("--server", server_.server, "the server that runs it")->type_name("PATH|URL");
  }

  Result<ExitCode> Run() override {
    RETURN_IF_ERROR(ReadFlags());
    const char* job = std::getenv("SHAREWELL_JOB");
    number_ = job == nullptr ? 0 : std::strtoll(job, nullptr, 10);
    if (!loads_.empty() && number_ > 0) {
      RETURN_IF_ERROR(platform::WriteFile(LoadOf(number_).string(), LoadLine(demand_)));
    }
    const int pipe = OpenPipe("SHAREWELL_PROGRESS"), metrics = OpenPipe("SHAREWELL_METRICS");
    auto next = steady_clock::now(), look = next, print = next + kPrintEvery, loss = next;
    double speed = 1;
    const auto count = static_cast<std::int64_t>(count_);
    for (std::int64_t step = 1; step <= count; ++step) {
      if (steady_clock::now() >= look) {
        speed = SpeedNow().value_or(speed);
        look = steady_clock::now() + kLookEvery;
      }
      next += std::chrono::duration_cast<steady_clock::duration>(
          std::chrono::duration<double>(1 / (per_second_ * speed)));
      std::this_thread::sleep_until(next);
      const std::string told = fmt::format("{}\n", step);
      if (pipe >= 0) (void)!::write(pipe, told.data(), told.size());
      if (metrics >= 0 && steady_clock::now() >= loss) {
        const std::string line =
            fmt::format("loss {:.4f} {}\n", LossAt(static_cast<double>(step) / count_, step), step);
        (void)!::write(metrics, line.data(), line.size());
        loss += kTellLossEvery;
      }
      if (steady_clock::now() < print) continue;
      print += kPrintEvery;
      RETURN_IF_ERROR(WriteOut(
          fmt::format("step {} of {}, {:.1f} steps/s\n", step, count, per_second_ * speed)));
    }
    return kOk;
  }

 private:
  Result<void> ReadFlags() {
    struct Wanted {
      const char* flag;
      const std::string& text;
      double most;
      double& to;
    };
    double kernel = 0;
    for (const Wanted& one :
         {Wanted{"--rate", rate_, kMostRate, per_second_},
          Wanted{"--steps", steps_, kMostStandInSteps, count_},
          Wanted{"--busy", busy_, 1, demand_.busy}, Wanted{"--sm", sm_, 1, demand_.sm},
          Wanted{"--dram", dram_, 1, demand_.dram},
          Wanted{"--kernel", kernel_, kMostKernel, kernel}}) {
      const auto value = ParseNumber(one.flag, one.text, 0.001, one.most);
      RETURN_IF_ERROR(value);
      one.to = *value;
    }
    demand_.kernel_time = core::Seconds(kernel / 1e6);
    demand_.known = true;
    return {};
  }

  std::filesystem::path LoadOf(std::int64_t number) const {
    return std::filesystem::path(loads_) / std::to_string(number);
  }

  // Beside those that the server has put onto its GPU, as the interference model has it of what
  // they really do, whatever the server believes. Absent: the server does not answer.
  std::optional<double> SpeedNow() const {
    if (loads_.empty() || number_ == 0) return 1;
    const auto client = server_.Find();
    if (!client) return std::nullopt;
    const auto live = client->Jobs("live=1", 1000);
    if (!live) return std::nullopt;
    const auto own = std::find_if(live->jobs.begin(), live->jobs.end(),
                                  [&](const auto& job) { return job.number == number_; });
    if (own == live->jobs.end()) return std::nullopt;
    std::vector<core::Demand> demands = {demand_};
    std::vector<core::Ratio> shares = {own->sm_share};
    for (const core::JobRecord& job : live->jobs) {
      const bool beside =
          job.number != number_ && job.phase == core::Phase::kRunning &&
          std::any_of(job.gpus.begin(), job.gpus.end(), [&](const auto& gpu) {
            return std::any_of(own->gpus.begin(), own->gpus.end(),
                               [&](const auto& mine) { return mine.uuid == gpu.uuid; });
          });
      const auto load = beside ? ReadLoad(LoadOf(job.number)) : std::nullopt;
      if (!load) continue;
      demands.push_back(*load);
      shares.push_back(job.sm_share);
    }
    std::vector<interference::Resident> residents;
    for (std::size_t i = 0; i < demands.size(); ++i) {
      residents.push_back({.workload = {}, .demand = &demands[i], .sm_share = shares[i]});
    }
    return interference::Interference().Speed(core::GpuModelId(0), residents, 0);
  }

  std::string rate_ = "10", steps_ = "600", busy_ = "0.5", sm_ = "0.5", dram_ = "0.1",
              kernel_ = "100", loads_;
  double per_second_ = 0, count_ = 0;
  core::Demand demand_;
  std::int64_t number_ = 0;
  ServerFlags server_;
};

}  // namespace

std::unique_ptr<Command> NewStandInCommand() { return std::make_unique<StandInCommand>(); }

}  // namespace sharewell::cli
