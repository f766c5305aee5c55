// Against a stand-in for libcuda (fake_checkpoint.cc), with real processes that do nothing.
#include "platform/process/cuda_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "platform/files/test_folder.h"
#include "platform/process/process_tree.h"

namespace sharewell::platform {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string FakeLibrary() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() /
          "libfake_checkpoint.so")
      .string();
}

class CudaCheckpointTest : public testing::Test {
 protected:
  CudaCheckpointTest() { ::setenv("SHAREWELL_FAKE_CHECKPOINT", world_.path().c_str(), 1); }
  ~CudaCheckpointTest() override {
    for (const int pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    ::unsetenv("SHAREWELL_FAKE_CHECKPOINT");
  }

  int Process(bool cuda = true) {
    const int pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    pids_.push_back(pid);
    if (cuda) Set(std::to_string(pid), "0");
    return pid;
  }
  void Set(const std::string& name, const std::string& text) {
    std::ofstream(world_.Path(name)) << text;
  }
  void Unset(const std::string& name) { std::filesystem::remove(world_.Path(name)); }
  std::string Calls() {
    std::ifstream file(world_.Path("calls"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static CudaCheckpoint Cuda() {
    auto cuda = CudaCheckpoint::Open(FakeLibrary());
    EXPECT_TRUE(cuda) << cuda.error().message;
    return std::move(*cuda);
  }

  TestFolder world_;
  std::vector<int> pids_;
};

TEST_F(CudaCheckpointTest, WithoutTheDriverItIsAbsent) {
  const auto none = CudaCheckpoint::Open("/nonexistent/libcuda.so.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(none.error().message, HasSubstr("CUDA driver library"));
}

TEST_F(CudaCheckpointTest, ALibraryThatIsTooOldIsAbsent) {
  const auto old = CudaCheckpoint::Open("libc.so.6");
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(old.error().message, HasSubstr("drivers from 570 on"));
}

TEST_F(CudaCheckpointTest, PausesAndResumes) {
  const auto cuda = Cuda();
  const int pid = Process();
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kRunning);
  ASSERT_TRUE(cuda.Pause({pid}));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kCheckpointed);
  ASSERT_TRUE(cuda.Pause({pid}));  // it is there already
  ASSERT_TRUE(cuda.Resume({pid}));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kRunning);
  ASSERT_TRUE(cuda.Resume({pid}));
  const std::string p = std::to_string(pid);
  EXPECT_EQ(Calls(), "lock " + p + "\ncheckpoint " + p + "\nrestore " + p + "\nunlock " + p + "\n");
}

TEST_F(CudaCheckpointTest, AllAreHeldBeforeOneIsMoved) {
  const auto cuda = Cuda();
  const int a = Process(), b = Process();
  ASSERT_TRUE(cuda.Pause({a, b}));
  EXPECT_EQ(Calls(), "lock " + std::to_string(a) + "\nlock " + std::to_string(b) + "\ncheckpoint " +
                         std::to_string(a) + "\ncheckpoint " + std::to_string(b) + "\n");
}

TEST_F(CudaCheckpointTest, WhereOneCannotBeHeldTheOthersGoOn) {
  const auto cuda = Cuda();
  const int a = Process(), b = Process();
  Set(std::to_string(b), "3");  // it has failed
  const auto paused = cuda.Pause({a, b});
  ASSERT_FALSE(paused);
  EXPECT_EQ(cuda.StateOf(a), CudaState::kRunning);
}

TEST_F(CudaCheckpointTest, WhatHasNoCudaIsPassedOver) {
  const auto cuda = Cuda();
  const int with = Process(), without = Process(false);
  ASSERT_TRUE(cuda.Pause({without, with}));
  EXPECT_EQ(cuda.StateOf(with), CudaState::kCheckpointed);
  const auto nothing = cuda.Pause({without});
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("none of its processes uses CUDA"));
}

TEST_F(CudaCheckpointTest, AClientOfMpsIsRefusedWithTheReason) {
  const auto cuda = Cuda();
  const int pid = Process();
  Set("lock", "801");
  const auto paused = cuda.Pause({pid});
  ASSERT_FALSE(paused);
  EXPECT_THAT(paused.error().message, HasSubstr("MPS"));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kRunning);
}

TEST_F(CudaCheckpointTest, WhatCannotBeMovedIsLetGoOn) {
  const auto cuda = Cuda();
  const int a = Process(), b = Process();
  Set("checkpoint", "2");
  ASSERT_FALSE(cuda.Pause({a, b}));
  for (const int pid : {a, b}) EXPECT_EQ(cuda.StateOf(pid), CudaState::kRunning) << Calls();
}

TEST_F(CudaCheckpointTest, WhatCannotBeBroughtBackStaysOnTheHost) {
  const auto cuda = Cuda();
  const int pid = Process();
  ASSERT_TRUE(cuda.Pause({pid}));
  Set("restore", "2");
  ASSERT_FALSE(cuda.Resume({pid}));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kCheckpointed);
  Unset("restore");
  ASSERT_TRUE(cuda.Resume({pid}));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kRunning);
}

TEST_F(CudaCheckpointTest, OneThatWasLeftHeldIsBroughtToEitherEnd) {
  const auto cuda = Cuda();
  const int pid = Process();
  Set(std::to_string(pid), "1");
  ASSERT_TRUE(cuda.Resume({pid}));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kRunning);
  Set(std::to_string(pid), "1");
  ASSERT_TRUE(cuda.Pause({pid}));
  EXPECT_EQ(cuda.StateOf(pid), CudaState::kCheckpointed);
}

TEST_F(CudaCheckpointTest, ProcessesWithoutCudaAreLeftOut) {
  const auto cuda = Cuda();
  const int with = Process(), without = Process(false);
  EXPECT_EQ(CudaProcesses(cuda, {without, with}), std::vector<int>{with});
  const std::vector<int> tree = ProcessTree(::getpid());
  EXPECT_THAT(tree, Contains(with));
  EXPECT_THAT(tree, Contains(without));
  EXPECT_THAT(tree, Not(Contains(::getpid())));
}

}  // namespace
}  // namespace sharewell::platform
