#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/result.h"
#include "core/text/suggest.h"
#include "platform/files/mapped_file.h"
#include "platform/files/text.h"
#include "trace/csv.h"
#include "trace/gavel.h"
#include "trace/kube_pods.h"
#include "trace/muri.h"
#include "trace/openb.h"
#include "trace/philly.h"
#include "trace/reader.h"
#include "trace/sacct.h"

namespace sharewell::trace {
namespace {

constexpr std::array kFormats{
    TraceFormat{"csv", "Sharewell's own: id,submit_seconds,duration_seconds,gpus,...", DetectCsv,
                ReadCsv},
    TraceFormat{"philly", "Microsoft Philly as CSV: timestamp,duration,num_gpus,gpu_time,cluster",
                DetectPhilly, ReadPhilly},
    TraceFormat{"gavel", "Gavel's traces: ten fields between tabs, no header", DetectGavel,
                ReadGavel},
    TraceFormat{"muri", "Muri's traces: CSV with iterations and resource times in milliseconds",
                DetectMuri, ReadMuri},
    TraceFormat{"openb", "Alibaba's openb pod list: CSV with cpu_milli, gpu_milli, creation_time",
                DetectOpenb, ReadOpenb},
    TraceFormat{"sacct", "a Slurm site's history: sacct --parsable2 (`sharewell trace import`)",
                DetectSacct, ReadSacct},
    TraceFormat{"kubernetes", "a cluster's pods that have ended: kubectl get pods -A -o json",
                DetectKubePods, ReadKubePods},
};

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const auto& format : kFormats) names.emplace_back(format.name);
  return names;
}

core::Result<const TraceFormat*> ByName(const std::string& wanted) {
  for (const auto& format : kFormats) {
    if (format.name == wanted) return &format;
  }
  const auto names = FormatNames();
  return core::UsageError("unknown trace format {}; the formats are {}{}", platform::Quoted(wanted),
                          fmt::join(names, ", "), core::DidYouMean(wanted, names));
}

core::Result<const TraceFormat*> ByContents(std::string_view text, const std::string& name) {
  if (text.substr(0, 4096).find_first_not_of(" \t\r\n") == std::string_view::npos &&
      text.size() <= 4096) {
    return core::UsageError("{}: is empty; a trace has at least one job", name);
  }
  const TraceFormat* found = nullptr;
  for (const auto& format : kFormats) {
    if (!format.detect(text)) continue;
    if (found != nullptr) {
      return core::UsageError("{}: could be {} or {}; say which with --format", name, found->name,
                              format.name);
    }
    found = &format;
  }
  if (found != nullptr) return found;
  std::string list;
  for (const auto& format : kFormats) list += fmt::format("\n  {:<11}{}", format.name, format.help);
  const auto line = text.substr(0, text.substr(0, 4096).find('\n'));
  return core::UsageError("{}: no known trace format begins with {}; name one with --format:{}",
                          name, platform::Quoted(line), list);
}

}  // namespace

std::span<const TraceFormat> TraceFormats() { return kFormats; }

core::Result<Trace> ReadTrace(const std::string& path, const std::optional<std::string>& format) {
  const auto file = platform::MappedFile::Open(path);
  RETURN_IF_ERROR(file);
  return ReadTraceText(file->text(), path, format);
}

core::Result<Trace> ReadTraceText(std::string_view text, const std::string& name,
                                  const std::optional<std::string>& format) {
  const auto chosen = format ? ByName(*format) : ByContents(text, name);
  RETURN_IF_ERROR(chosen);
  return (*chosen)->read(text, name);
}

}  // namespace sharewell::trace
