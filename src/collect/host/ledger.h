// ProcessLedger: one total over processes that come and go, which never falls.
//
// A process that ends takes its figure with it. If its parent waited for it, the kernel has added
// the figure to the parent's (cutime and cstime; read_bytes of /proc/PID/io), and it must not be
// counted twice; if nobody did (its parent had died, or ignores SIGCHLD), the last figure seen is
// all there is, and is kept.
#pragma once

#include <cstdint>
#include <map>

namespace sharewell::collect {

class ProcessLedger {
 public:
  void Begin();
  // A process that is alive. `absorbing`: the part of `total` that rises by a child's total when
  // the child is waited for.
  void Add(int pid, std::uint64_t start, int parent, double total, double absorbing);
  // The total now.
  double End();

 private:
  struct Process {
    std::uint64_t start = 0;
    int parent = 0;
    double total = 0, absorbing = 0;
    double absorbed = 0;  // in this round
    bool seen = false;
  };

  // The nearest process above `pid` that still lives; 0: none.
  int LivingAncestor(int pid) const;

  std::map<int, Process> processes_;
  std::map<int, double> lost_;  // in this round: by living ancestor, what ended below it
  double kept_ = 0;             // of ended processes that nobody absorbed
  double computed_ = 0, total_ = 0;
  bool any_ = false;
};

}  // namespace sharewell::collect
