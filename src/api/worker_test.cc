#include "api/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "platform/mutex.h"

namespace sharewell::api {
namespace {

TEST(Worker, UsersAreServedInTurn) {
  Worker worker(10);
  std::promise<void> begin, done;
  const std::shared_future<void> begun = begin.get_future().share();
  ASSERT_TRUE(worker.Put([begun] { begun.wait(); }));
  const auto ann = std::make_shared<http::Meter>(), bob = std::make_shared<http::Meter>();
  std::string order;  // the worker's thread alone writes it
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(worker.Put([&] { order += 'a'; }, ann));
  ASSERT_TRUE(worker.Put([&] { order += 'b'; }, bob));
  ASSERT_TRUE(worker.Put([&] { order += 'b'; }, bob));
  ASSERT_TRUE(worker.Put([&] { order += '.'; }));
  EXPECT_TRUE(worker.Put([&] { done.set_value(); }, ann));
  begin.set_value();
  done.get_future().wait();
  EXPECT_EQ(order, "ab.abaaa");
}

TEST(Worker, RefusesWhatIsTooMuchAndChargesTheUser) {
  Worker worker(2);
  std::promise<void> begin, begun;
  const auto meter = std::make_shared<http::Meter>();
  ASSERT_TRUE(worker.Put(
      [&] {
        begun.set_value();
        begin.get_future().wait();
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        while (std::chrono::steady_clock::now() < end) {
        }
      },
      meter));
  begun.get_future().wait();
  EXPECT_TRUE(worker.Put([] {}, meter));
  EXPECT_TRUE(worker.Put([] {}));
  EXPECT_FALSE(worker.Put([] {}));
  begin.set_value();
  worker.Stop();
  EXPECT_TRUE(meter->Wait(core::Seconds(0.01), {}));
}

}  // namespace
}  // namespace sharewell::api
