// Desk: what the API asks of the server's heart. control::Service in the program, a fake in tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "control/service/service.h"

namespace sharewell::api {

// Any thread; answers may come on any, and must not wait.
class Desk {
 public:
  template <class T>
  using Answer = control::Service::Answer<T>;

  virtual ~Desk() = default;
  virtual void Submit(std::vector<core::Submission> jobs, const core::Account& who,
                      Answer<std::vector<control::JobPtr>> answer) = 0;
  virtual void Act(control::Action action, std::int64_t number, const core::Account& who,
                   Answer<control::JobPtr> answer) = 0;
  virtual void Drain(const std::string& gpu, bool drained, const core::Account& who,
                     Answer<void> answer) = 0;
  virtual void Consider(core::Submission job, const core::Account& who,
                        Answer<core::JobRecord> answer) = 0;
  virtual const control::JobBoard& board() const = 0;
  virtual control::EventHub& events() = 0;
  virtual control::ServiceView View() const = 0;
};

class ServiceDesk final : public Desk {
 public:
  explicit ServiceDesk(control::Service& service) : service_(service) {}

  void Submit(std::vector<core::Submission> jobs, const core::Account& who,
              Answer<std::vector<control::JobPtr>> answer) override {
    service_.Submit(std::move(jobs), who, std::move(answer));
  }
  void Act(control::Action action, std::int64_t number, const core::Account& who,
           Answer<control::JobPtr> answer) override {
    service_.Act(action, number, who, std::move(answer));
  }
  void Drain(const std::string& gpu, bool drained, const core::Account& who,
             Answer<void> answer) override {
    service_.Drain(gpu, drained, who, std::move(answer));
  }
  void Consider(core::Submission job, const core::Account& who,
                Answer<core::JobRecord> answer) override {
    service_.Consider(std::move(job), who, std::move(answer));
  }
  const control::JobBoard& board() const override { return service_.board(); }
  control::EventHub& events() override { return service_.events(); }
  control::ServiceView View() const override { return service_.View(); }

 private:
  control::Service& service_;
};

}  // namespace sharewell::api
