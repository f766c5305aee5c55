// Traces in, jobs out: the door to every trace format. Formats: docs/formats/trace-csv.md (ours)
// and docs/formats/foreign-traces.md.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

// One row of the registry. A new format is a pair of files and a row in registry.cc.
struct TraceFormat {
  std::string_view name;                  // what --format takes
  std::string_view help;                  // one line
  bool (*detect)(std::string_view text);  // by header or shape; must look at the beginning only
  core::Result<Trace> (*read)(std::string_view text, const std::string& name);
};

std::span<const TraceFormat> TraceFormats();

// Reads a trace; without `format` the one that its contents show. A trace has at least one job, ids
// are unique, jobs are sorted by submit and the first submits at 0. A file that no format or more
// than one knows, and every row that cannot be used, is a usage error that says where and what to
// do.
core::Result<Trace> ReadTrace(const std::string& path,
                              const std::optional<std::string>& format = std::nullopt);

// The same from a file's text; `name` stands in messages.
core::Result<Trace> ReadTraceText(std::string_view text, const std::string& name,
                                  const std::optional<std::string>& format = std::nullopt);

}  // namespace sharewell::trace
