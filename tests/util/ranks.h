#ifndef MUSTER_TESTS_UTIL_RANKS_H_
#define MUSTER_TESTS_UTIL_RANKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {

// The processes of one job, each with its own output, and a daemon of their own, without a
// launcher. Rank r is on the node "node-(r / per_node)". A process that ends without leaving is
// lost 300 ms later.
class Ranks {
 public:
  // `env` is added to what each of them finds in its environment.
  Ranks(int size, int per_node, const std::vector<std::string>& command,
        const std::map<std::string, std::string>& env = {});

  int size() const { return static_cast<int>(processes_.size()); }
  TestDaemon& daemon() const { return *daemon_; }
  Process& operator[](int rank) const { return *processes_[rank]; }

  // How they have ended, and what they have written until then. Wait for that.
  Exit exit(int rank) const { return processes_[rank]->Wait(); }
  std::vector<Exit> exits() const;
  std::string output(int rank) const;
  std::vector<std::string> outputs() const;

 private:
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_RANKS_H_
