// Any bytes as a file of a simulation's results: read, or refused with a reason; and what is read
// can be drawn. The first byte says which file it is.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "report/html/simulation_report.h"
#include "simulation/results.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharewell::simulation;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  SimulationResults results;
  results.policies.emplace_back();
  if (data[0] % 3 == 0) {
    auto read = ReadSimulationSummary(text, "fuzz.json");
    if (read ? read->policies.empty() : read.error().message.empty()) __builtin_trap();
    if (!read) return 0;
    results = std::move(*read);
  } else if (data[0] % 3 == 1) {
    auto read = ReadSimulatedJobs(text, "fuzz.csv");
    if (!read) return 0;
    results.policies[0].jobs = std::move(*read);
    for (const SimulatedJob& job : results.policies[0].jobs) {
      results.policies[0].decisions.push_back(
          {job.start.value_or(0), job.id, "start", {job.workload}, ""});
    }
  } else {
    auto read = ReadSimulatedDecisions(text, "fuzz.csv");
    if (!read) return 0;
    results.policies[0].decisions = std::move(*read);
    for (const SimulatedDecision& decision : results.policies[0].decisions) {
      SimulatedJob job;
      job.id = decision.job;
      job.finish = 100;
      results.policies[0].jobs.push_back(job);
    }
  }
  if (sharewell::report::SimulationPage(results, "").empty()) __builtin_trap();
  return 0;
}
