// ImportSamples: the metrics that an exporter serves (or has served, in a file), stored as samples.
#pragma once

#include <functional>
#include <string>

#include "core/result.h"
#include "core/units.h"
#include "measure/imports/import_kernels.h"
#include "measure/imports/imported_metrics.h"

namespace sharewell::measure {

struct SampleImport {
  std::string from;  // a file or a URL
  std::string node;  // whose samples they are where no label says it; empty: the URL's host
  core::Seconds duration{0};  // ask again and again for so long; 0: once
  core::Seconds pause{1};     // between two questions
};

// Waits between questions. The first answer must come and have a metric that we know (else an
// error, and nothing is stored); a later one that fails is told to `failed` and counted. The store
// is opened for the first samples, and each answer is durable before the next question.
core::Result<ImportedMetrics> ImportSamples(const SampleImport& asked, const OpenStore& open,
                                            const std::function<void(const core::Error&)>& failed);

}  // namespace sharewell::measure
