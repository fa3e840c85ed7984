// Joins a daemon's job as its only member, prints "joined", and stays until it is killed.
#include <unistd.h>

#include <iostream>

#include "tests/server/service/test_member.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: member_process HOST:PORT\n";
    return 2;
  }
  muster::testing::TestMember member(argv[1]);
  const absl::Status attached = member.Attach();
  if (!attached.ok()) {
    std::cerr << attached << "\n";
    return 1;
  }
  const auto joined = member.Join(/*world_size=*/1);
  if (!joined.ok()) {
    std::cerr << joined.status() << "\n";
    return 1;
  }
  std::cout << "joined" << std::endl;
  pause();
}
