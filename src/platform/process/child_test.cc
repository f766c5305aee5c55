#include "platform/process/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "platform/files/test_folder.h"
#include "platform/process/cpu_set.h"
#include "platform/process/passed_signals.h"

namespace sharewell::platform {
namespace {

using core::Seconds;
using testing::HasSubstr;
using testing::Not;

constexpr Seconds kPatience{60};

// Until it ended, or the patience is over.
std::optional<ChildEnd> WaitEnd(Child& child) {
  Child* const one = &child;
  const auto begun = std::chrono::steady_clock::now();
  while (!child.Ended()) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
    if (passed.count() > kPatience.value) return std::nullopt;
    WaitForChildren({&one, 1}, Seconds(0.5));
  }
  child.Drain();
  return child.Ended();
}

struct Ran {
  int code = -1;
  int signal = -1;
  std::string out;
};

Ran RunShell(const std::string& script, ChildOptions options = {}) {
  Ran ran;
  options.command = {"sh", "-c", script};
  options.out = {.to = ChildOutput::To::kNull,
                 .seen = [&](std::string_view piece) { ran.out += piece; }};
  const auto child = Child::Start(options);
  if (!child) {
    ADD_FAILURE() << child.error().message;
    return ran;
  }
  if (const auto end = WaitEnd(**child)) {
    ran.code = end->code;
    ran.signal = end->signal;
  }
  return ran;
}

core::Error StartError(ChildOptions options) {
  const auto child = Child::Start(options);
  EXPECT_FALSE(child);
  return child ? core::Error{} : child.error();
}

TEST(Child, GivesTheExitCodeAsAShellWould) {
  EXPECT_EQ(RunShell("exit 0").code, 0);
  EXPECT_EQ(RunShell("exit 7").code, 7);
  const Ran killed = RunShell("kill -9 $$");
  EXPECT_EQ(killed.code, 137);
  EXPECT_EQ(killed.signal, 9);
}

TEST(Child, OutputIsSeenUnchanged) {
  EXPECT_EQ(RunShell("printf 'a\\000b\\r\\n\\377'").out, std::string("a\0b\r\n\377", 6));
  EXPECT_EQ(RunShell("head -c 3000000 /dev/zero").out.size(), 3'000'000U);
}

TEST(Child, OutputGoesToAFileWhileItIsSeen) {
  const TestFolder folder;
  std::string seen;
  ChildOptions options{.command = {"sh", "-c", "echo out; echo err >&2"}};
  options.out = {.to = ChildOutput::To::kFile,
                 .file = folder.Path("out"),
                 .seen = [&](std::string_view piece) { seen += piece; }};
  options.err = {.to = ChildOutput::To::kFile, .file = folder.Path("err")};
  const auto child = Child::Start(options);
  ASSERT_TRUE(child);
  ASSERT_TRUE(WaitEnd(**child));
  EXPECT_EQ(seen, "out\n");
  EXPECT_EQ(TestFolder::Read(folder.Path("out")), "out\n");
  EXPECT_EQ(TestFolder::Read(folder.Path("err")), "err\n");
}

TEST(Child, EnvironmentFolderAndStdinAreAsAsked) {
  const TestFolder folder;
  ::setenv("SHAREWELL_TEST_OLD", "old", 1);
  const Ran ran =
      RunShell("echo $SHAREWELL_TEST_OLD $SHAREWELL_TEST_NEW; pwd; cat; echo end",
               {.command = {},
                .environment = {{"SHAREWELL_TEST_OLD", "changed"}, {"SHAREWELL_TEST_NEW", "a b"}},
                .folder = folder.path()});
  ::unsetenv("SHAREWELL_TEST_OLD");
  EXPECT_EQ(ran.out,
            "changed a b\n" + std::filesystem::canonical(folder.path()).string() + "\nend\n");
}

TEST(Child, RunsOnItsCpusAlone) {
  const int cpu = AllowedCpus().back();
  const Ran ran =
      RunShell("grep Cpus_allowed_list /proc/self/status", {.command = {}, .cpus = {cpu}});
  EXPECT_EQ(ran.out, "Cpus_allowed_list:\t" + std::to_string(cpu) + "\n");
  const core::Error error = StartError({.command = {"true"}, .cpus = {65000}});
  EXPECT_EQ(error.kind, core::ErrorKind::kUsage);
  EXPECT_THAT(error.message, HasSubstr("65000"));
}

TEST(Child, SaysWhyACommandCannotRun) {
  const TestFolder folder;
  const auto script = [&](const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = folder.Write(name, text);
    ::chmod(path.c_str(), mode);
    return path;
  };
  const struct {
    std::vector<std::string> command;
    std::string says;
  } cases[] = {
      {{"sharewell-no-such-command"}, "not found in PATH"},
      {{"slep", "1"}, "did you mean"},
      {{""}, "empty"},
      {{}, "no command"},
      {{folder.Path("missing")}, "No such file"},
      {{folder.path()}, "it is a folder"},
      {{script("plain", "#!/bin/sh\n", 0644)}, "chmod +x"},
      {{script("bad", "#!/no/such/interpreter\n", 0755)}, "interpreter"},
      {{script("binary",
               std::string("\x7f"
                           "ELFx\0\0",
                           7),
               0755)},
       "no program"},
      {{"true", std::string(8 << 20, 'x')}, "too long"},
      {{"true", std::string("a\0b", 3)}, "zero byte"},
  };
  for (const auto& [command, says] : cases) {
    const core::Error error = StartError({.command = command});
    EXPECT_EQ(error.kind, core::ErrorKind::kUsage) << error.message;
    EXPECT_THAT(error.message, HasSubstr(says));
    EXPECT_LT(error.message.size(), 400U);
  }
  EXPECT_THAT(StartError({.command = {"true"}, .folder = folder.Path("none")}).message,
              HasSubstr("cannot start in folder"));
  EXPECT_THAT(StartError({.command = {"true"}, .environment = {{"A=B", "x"}}}).message,
              HasSubstr("environment variable"));
}

TEST(Child, RunsAScriptWithoutAFirstLine) {
  const TestFolder folder;
  const std::string path = folder.Write("script", "exit 5\n");
  ::chmod(path.c_str(), 0755);
  const auto child = Child::Start({.command = {path}});
  ASSERT_TRUE(child) << child.error().message;
  const auto end = WaitEnd(**child);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 5);
}

// The command ends; a grandchild in a session of its own goes on, and is still the job's.
TEST(Child, WhatForksAwayIsStillItsOwn) {
  const auto child = Child::Start({.command = {"sh", "-c", "setsid sleep 300 & exit 3"}});
  ASSERT_TRUE(child);
  const auto end = WaitEnd(**child);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 3);
  const auto pids = (*child)->Pids();
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_NE(pids[0], (*child)->pid());
  const StopReport report = (*child)->Stop(Seconds(30));
  EXPECT_TRUE(report.was_running);
  EXPECT_FALSE(report.killed);
  EXPECT_TRUE((*child)->Pids().empty());
  EXPECT_NE(::kill(pids[0], 0), 0);
}

TEST(Child, TwoDoNotTakeEachOthersProcesses) {
  const ChildOptions options{.command = {"sh", "-c", "setsid sleep 300 & exit 0"}};
  const auto a = Child::Start(options), b = Child::Start(options);
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(WaitEnd(**a) && WaitEnd(**b));
  const auto of_a = (*a)->Pids(), of_b = (*b)->Pids();
  ASSERT_EQ(of_a.size(), 1U);
  ASSERT_EQ(of_b.size(), 1U);
  EXPECT_NE(of_a, of_b);
}

TEST(Child, OneThatIgnoresSigtermIsKilledAndToldOf) {
  bool ready = false;
  ChildOptions options{
      .command = {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}};
  options.out = {.to = ChildOutput::To::kNull, .seen = [&](std::string_view) { ready = true; }};
  const auto child = Child::Start(options);
  ASSERT_TRUE(child);
  Child* const one = child->get();
  for (int i = 0; i < 600 && !ready; ++i) WaitForChildren({&one, 1}, Seconds(0.1));
  const StopReport report = (*child)->Stop(Seconds(0.2));
  EXPECT_TRUE(report.killed);
  EXPECT_TRUE((*child)->Pids().empty());
  ASSERT_TRUE((*child)->Ended());
  EXPECT_EQ((*child)->Ended()->code, 137);
}

TEST(Child, StopOfWhatHasEndedIsNothing) {
  const auto child = Child::Start({.command = {"true"}});
  ASSERT_TRUE(child);
  ASSERT_TRUE(WaitEnd(**child));
  EXPECT_FALSE((*child)->Stop(Seconds(1)).was_running);
}

TEST(Child, GoesWithTheObject) {
  int pid = 0;
  {
    const auto child = Child::Start({.command = {"sleep", "300"}});
    ASSERT_TRUE(child);
    pid = (*child)->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Child, ASignalToUsIsKeptAndWakesTheWait) {
  PassedSignals signals;
  EXPECT_FALSE(signals.Next());
  const auto child = Child::Start({.command = {"sleep", "300"}});
  ASSERT_TRUE(child);
  ::kill(::getpid(), SIGTERM);
  Child* const one = child->get();
  WaitForChildren({&one, 1}, kPatience);
  const auto signal = signals.Next();
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->number, SIGTERM);
  EXPECT_FALSE(signal->from_terminal);
  EXPECT_FALSE((*child)->Ended());
  (*child)->Send(SIGTERM);
  const auto end = WaitEnd(**child);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 143);
}

// A receiver that reads no further must not hold us: the child hears of it as it would without us.
TEST(Child, AClosedReceiverEndsTheWriter) {
  PassedSignals ignores_broken_pipes;
  const TestFolder folder;
  const std::string fifo = folder.Path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto reader =
      Child::Start({.command = {"sh", "-c", "head -c 10 < " + fifo + " >/dev/null"}});
  ASSERT_TRUE(reader);
  ChildOptions options{.command = {"yes"}};
  options.out = {.to = ChildOutput::To::kFile, .file = fifo, .seen = [](std::string_view) {}};
  const auto writer = Child::Start(options);
  ASSERT_TRUE(writer) << writer.error().message;
  const auto end = WaitEnd(**writer);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGPIPE);
}

}  // namespace
}  // namespace sharewell::platform
