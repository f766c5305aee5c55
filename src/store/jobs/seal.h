// Seal: shows that a record in the store was written by the server, and not by somebody else who
// can write the database. An HMAC-SHA256 over the store's id, the job's number and the record's
// bytes, under a key that only the server has (root's state folder).
//
// It does not show that a record is the latest one of its job: who can write the database can put
// back what the server had written of the same job before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/job/job_record.h"

namespace sharewell::store {

class Seal {
 public:
  // Without a key nothing is sealed and everything is believed.
  Seal(std::string key, std::string store_id)
      : key_(std::move(key)), store_id_(std::move(store_id)) {}

  bool active() const { return !key_.empty(); }
  // 64 hexadecimal digits; empty without a key.
  std::string Of(std::int64_t number, std::string_view record) const;
  bool Matches(std::int64_t number, std::string_view record, std::string_view seal) const;

  // The same, and behind it shorter seals of what an admin has to know of a job whose record was
  // changed: its user, its command, its environment.
  std::string Of(const core::JobRecord& job, std::string_view record) const;
  // Which of those are not as they were sealed.
  core::hold::Untrusted Changed(const core::JobRecord& job, std::string_view seal) const;

 private:
  std::string key_, store_id_;
};

}  // namespace sharewell::store
