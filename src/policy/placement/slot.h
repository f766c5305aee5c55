// slot: whole GPUs, nobody shares, any model: as Kubernetes hands GPUs out. The baseline.
#pragma once

#include <memory>

#include "policy/placement/placement.h"

namespace sharewell::policy {

std::unique_ptr<Placement> NewSlotPlacement();

}  // namespace sharewell::policy
