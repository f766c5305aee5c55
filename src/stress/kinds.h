// What differs between the kinds of pressure: their workers, how their work is cut, and what is
// known of their capacity without measuring.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stress/paced_threads.h"
#include "stress/pressure.h"
#include "stress/workers/memory_workers.h"

namespace sharewell::stress {

// How a kind cuts its work: the amount is a share of a second's, within bounds.
struct Pieces {
  double part;           // of a second
  double quantum, most;  // amounts: multiples of the one, up to the other
  double least_level;    // in the kind's unit: less could not be held steady second by second
};

Pieces PiecesOf(PressureKind kind);

struct MadeKind {
  std::vector<PlacedWorker> workers;
  std::shared_ptr<CacheLoad> cache;      // kLastLevelCache only
  std::optional<double> known_capacity;  // absent: to be measured
  double rate_of_level = 1;              // amount a second for a level of 1
  std::string what;
};

core::Result<MadeKind> MakeKind(const PressureSpec& spec);

}  // namespace sharewell::stress
