#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "store/agents_store.h"
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

TEST(HideSecrets, APasswordIsRememberedAndGoneFromTheEnvironment) {
  const std::string address = "postgresql://me:hunter2@host/db";
  ::setenv("SHAREWELL_STORE", address.c_str(), 1);
  EXPECT_EQ(AgentsStore(), "");
  ::setenv("SHAREWELL_AGENTS_STORE", "postgresql://me:hunter4@host/db", 1);
  ::setenv("PGPASSWORD", "hunter3", 1);
  const char* place = std::getenv("PGPASSWORD");
  HideSecrets();
  EXPECT_EQ(std::getenv("SHAREWELL_STORE"), nullptr);
  EXPECT_EQ(DefaultStore(), address);
  EXPECT_EQ(std::getenv("SHAREWELL_AGENTS_STORE"), nullptr);
  EXPECT_EQ(AgentsStore(), "postgresql://me:hunter4@host/db");
  EXPECT_STREQ(std::getenv("PGPASSWORD"), "hunter3");  // for libpq, at another place
  EXPECT_NE(std::getenv("PGPASSWORD"), place);
  ::unsetenv("PGPASSWORD");
  ::setenv("SHAREWELL_STORE", "/somewhere/store.db", 1);
  HideSecrets();
  EXPECT_STREQ(std::getenv("SHAREWELL_STORE"), "/somewhere/store.db");
  EXPECT_EQ(DefaultStore(), "/somewhere/store.db");
}

TEST(StateFolder, IsBesideAFileAndNeverNamedByAnAddress) {
  EXPECT_EQ(StateFolder("/somewhere/store.db"), "/somewhere");
  const std::string address = "postgresql://me:secret@host/db";
  ::setenv("SHAREWELL_STORE", address.c_str(), 1);
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(StateFolder(address), ::geteuid() == 0 ? "/var/lib/sharewell" : "/state/sharewell");
}

}  // namespace
}  // namespace sharewell::store
