#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "store/store.h"

namespace sharewell::store {
namespace {

TEST(DefaultStore, IsWhatTheEnvironmentSays) {
  ::setenv("SHAREWELL_STORE", "postgresql://me@host/db", 1);
  EXPECT_EQ(DefaultStore(), "postgresql://me@host/db");
  ::setenv("SHAREWELL_STORE", "", 1);
  ::setenv("XDG_STATE_HOME", "/state", 1);
  ::setenv("HOME", "/home/me", 1);
  const bool root = ::geteuid() == 0;
  EXPECT_EQ(DefaultStore(), root ? "/var/lib/sharewell/store.db" : "/state/sharewell/store.db");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(DefaultStore(),
            root ? "/var/lib/sharewell/store.db" : "/home/me/.local/state/sharewell/store.db");
}

}  // namespace
}  // namespace sharewell::store
