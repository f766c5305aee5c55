// What each pressure costs a job: its speed in phases under pressure, over phases without. Plain
// data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::measure {

// A job is sensitive to a pressure that takes more than this of its speed.
inline constexpr core::Ratio kSensitiveLoss = 0.05;

// The job's rate in one phase, and the rates of parts of it, which tell how much it wavers.
struct PhaseRate {
  core::Seconds at;  // where it begins, since the job's start
  std::optional<double> mean;
  std::vector<double> parts;
};

struct PressurePhase {
  std::string pressure;  // "membw"
  std::string title;     // "memory bandwidth"
  std::string target_text, achieved_text;
  double target_share = 0;  // of what the machine can do
  std::optional<core::Ratio> achieved_share;
  PhaseRate rate;
  PhaseRate before, after;  // without pressure
  std::string trouble;      // of the generator; empty: none

  // By DrawSensitivity.
  std::optional<double> alone;  // the mean of before and after
  std::optional<core::Ratio> speed;
  std::optional<core::Ratio> uncertainty;  // half of the 95 % interval of the speed
};

struct SensitivityOf {
  std::string pressure, title;
  std::optional<core::Ratio> loss;  // the largest of its phases
  bool sensitive = false;  // the loss is above kSensitiveLoss, and its interval does not reach 0
};

struct SensitivityResult {
  std::string name;
  std::vector<std::string> command;
  std::string measure;  // "steps/s", "GPU busy", "CPU cores"
  bool steps = false;   // it is the job's own account
  std::vector<PressurePhase> phases;
  std::vector<std::pair<std::string, std::string>> absent;  // pressure, and why it was not applied
  std::optional<core::Ratio> drift;  // last phase without pressure over the first, less 1
  std::vector<std::string> notes;
  bool interrupted = false;

  std::vector<SensitivityOf> conclusions;
};

// Speeds, their intervals, the drift and the conclusions, from the rates. Pure.
void DrawSensitivity(SensitivityResult& result);

}  // namespace sharewell::measure
