// Alibaba's openb pod list (docs/formats/foreign-traces.md).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

bool DetectOpenb(std::string_view text);
core::Result<Trace> ReadOpenb(std::string_view text, const std::string& name);

}  // namespace sharewell::trace
