// The new id of a job that the engine still speaks of.
#pragma once

#include "core/renumbering.h"
#include "core/result.h"

namespace sharewell::engine {

// REQUIRES: it stays.
inline core::JobId StayingId(const core::Renumbering& ids, core::JobId old) {
  const core::JobId now = ids.Of(old);
  SHAREWELL_CHECK(now.valid());
  return now;
}

}  // namespace sharewell::engine
