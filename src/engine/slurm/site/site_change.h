// What Sharewell needs changed in a site's slurm.conf and gres.conf, as edits in place: the lines
// that concern the partition, and nothing else. What cannot be read is refused with file and line,
// and then nothing is changed. Pure; any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "engine/slurm/site/conf_edits.h"
#include "engine/slurm/site/conf_lines.h"
#include "engine/slurm/site/conf_nodes.h"

namespace sharewell::engine {

struct InstallOptions {
  std::string partition;  // empty: all
  std::string state = "/var/lib/sharewell";
  std::string folder = "/etc/slurm";  // of slurm.conf
  bool hold_cpu_jobs = false;
  std::vector<unsigned> schedulers = {0};  // who may place jobs
};

// The name of a GPU model in the catalogue for a type of Slurm's ("v100"); empty: none.
using ModelNamed = std::function<std::string(const std::string&)>;

struct SiteChange {
  std::map<std::string, std::vector<ConfEdit>> edits;  // by file
  // Likewise: whole new lines, until ChangeSite has put them among the edits.
  std::map<std::string, std::vector<ConfEdit>> lines;
  std::vector<std::string> why;      // a line a change, "slurm.conf:12: ..."
  std::vector<std::string> nodes;    // whose GPUs are slots then
  std::vector<std::string> renamed;  // of these, whose GPUs were none before

  void Edit(const ConfLine& line, ConfEdit edit) { edits[line.file].push_back(std::move(edit)); }
  // `text`: whole lines, in front of the line that begins at `at`, or behind all.
  void AddLines(const std::string& file, std::size_t at, std::string text) {
    lines[file].push_back({at, at, std::move(text)});
  }
  void Note(const std::string& place, const std::string& what);
};

// `gres`: where there is no gres.conf, its path with an empty text.
core::Result<SiteChange> ChangeSite(const ConfText& slurm, const ConfText& gres,
                                    const InstallOptions& options, const ModelNamed& model);

// A node's GPUs as slots: "gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100".
std::string SlotsGres(int gpus);

// The GPUs of a node before the change, or 0; whether they are slots already.
struct NodeGpus {
  int count = 0;
  bool slots = false;
  std::string type;                 // "v100"; empty: none was said
  std::vector<std::string> others;  // GRES that are no GPU, as they are written
};
// An error says what Sharewell cannot take over (two models in a node, shards of the site's own).
core::Result<NodeGpus> GpusOfGres(const std::string& gres);

// gres.conf for nodes whose GPUs become slots: node -> how many.
core::Result<void> ChangeGresConf(const ConfText& gres, const std::map<std::string, int>& ours,
                                  const std::vector<std::string>& all_gpu_nodes,
                                  SiteChange& change);

// The line's words on one line, some with other values; what it has not comes last.
std::string CopyOfLine(const ConfText& conf, const ConfLine& line,
                       const std::map<std::string, std::string>& values);

}  // namespace sharewell::engine
