// For tests: where the stores of a test program lie. The same tests run on SQLite and PostgreSQL,
// in two programs; each has its own of this.
#pragma once

#include <memory>
#include <string>

namespace sharewell::store {

class TestPlace {
 public:
  virtual ~TestPlace() = default;
  virtual std::string where() const = 0;  // for Open
  // Runs SQL beside the store.
  virtual void Run(const std::string& sql) const = 0;
  // What the database's own check finds wrong; empty: nothing.
  virtual std::string Damage() const = 0;
};

// An empty one.
std::unique_ptr<TestPlace> NewTestPlace();

}  // namespace sharewell::store
