// The pages of `sharewell report`, each from where its data lie: the store, a folder, a server.
// Every error is one to show.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace sharewell::cli {

struct ReportFlags {
  std::string kind;                // "profile", "simulation" ...
  std::vector<std::string> words;  // what stands behind it
  std::string store, server;       // as given
  int days = 7;                    // of a week's report
  std::string made;                // for the foot of the page
};

core::Result<std::string> ProfilePage(const ReportFlags& flags);
core::Result<std::string> ComparePage(const ReportFlags& flags);
core::Result<std::string> SimulationFolderPage(const ReportFlags& flags);
core::Result<std::string> SweepFolderPage(const ReportFlags& flags);
core::Result<std::string> JobReportPage(const ReportFlags& flags);
core::Result<std::string> WeekPage(const ReportFlags& flags);

}  // namespace sharewell::cli
