// What a job told of its step, as JSON: in its record in the store, and in the API.
#pragma once

#include <string>

#include "core/job/told.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace sharewell::store {

void WriteTold(json::Writer& writer, const core::Told& told);
// What is wrong, if anything, is kept in `error`; `trust` as of the object it stands in.
core::Told ReadTold(json::Value json, const std::string& place, json::Trust trust,
                    std::string& error);

}  // namespace sharewell::store
