// ServerLock: one server a store. Held from the first success until this object goes; the kernel or
// the database frees it however the process ends.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

class ServerLock {
 public:
  virtual ~ServerLock() = default;
  // Takes the lock, or makes sure that it is still ours. REQUIRES: within a writing transaction.
  virtual core::Result<void> Hold(Database& database) = 0;
};

// A lock on a file beside the store, FILE-server. Where FILE may not be written neither may that.
std::unique_ptr<ServerLock> NewFileLock(const std::string& path);

// A session's advisory lock: lost with the connection, and taken again with the next one unless
// another server was quicker.
std::unique_ptr<ServerLock> NewAdvisoryLock();

// Who holds it is in the table `kept` under this name, for messages: "process 17 on host, since
// ..".
inline constexpr const char* kServerName = "server";
std::string ThisServer();

}  // namespace sharewell::store
