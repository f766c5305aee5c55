// SpaceReserve: room on the disk of a SQLite store, kept so that the ends of jobs can be stored
// when the disk is full. It is a file beside the store, FILE-reserve, and a write-ahead log that
// has its room beforehand: what goes there needs none of the disk's.
//
// For the store's one server. One thread.
#pragma once

#include <string>

#include "core/result.h"

namespace sharewell::store {

class SpaceReserve {
 public:
  explicit SpaceReserve(std::string store) : store_(std::move(store)) {}

  // Makes it whole, where it is not. Fails where there is no room for that, or where what is left
  // beside it is nearly nothing: new work is not to be taken then. Says how much is free.
  core::Result<void> Keep() const;
  // Gives its room to whoever writes next, which should be the store. False: there was none.
  bool Use() const;
  // Whether the disk has no room worth the name.
  bool DiskIsFull() const;

 private:
  std::string store_;
};

}  // namespace sharewell::store
