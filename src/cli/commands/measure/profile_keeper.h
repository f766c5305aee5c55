// Keeps what a profile run measured: samples and the profile in the store, or, when the store
// fails, the profile in a file beside. Nothing that was measured is lost for want of a store.
#pragma once

#include <memory>
#include <string>

#include "core/job/profile_record.h"
#include "core/result.h"
#include "measure/watch.h"
#include "store/store.h"

namespace sharewell::cli {

class ProfileKeeper {
 public:
  // `place` as --store has it; "none" keeps nothing. A place that makes no sense is an error; one
  // that does not work now is told of on stderr, and the profile will go to a file.
  static core::Result<ProfileKeeper> Open(const std::string& place);

  void SetNode(const measure::Facts& machine);  // whose samples they are
  void Sample(const core::Batch& batch);
  // Where it is now, in words, ending in a line break; its id is set.
  std::string Keep(core::ProfileRecord& record);

 private:
  std::string KeepInFile(const core::ProfileRecord& record, const std::string& why) const;

  std::string place_;  // empty: nothing is to be kept
  std::string node_;
  std::unique_ptr<store::Store> store_;  // null: it could not be opened
  std::string open_error_, sample_error_;
  int unsynced_ = 0;
};

}  // namespace sharewell::cli
