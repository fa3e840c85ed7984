#ifndef MUSTER_TESTS_UTIL_FAKES_STAR_CONTROL_PLANE_H_
#define MUSTER_TESTS_UTIL_FAKES_STAR_CONTROL_PLANE_H_

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/group/group_state.h"
#include "tests/util/fakes/stub_control_plane.h"

namespace muster::testing {

// Sockets between rank 0 and each other rank, for processes that are forked afterwards.
class Star {
 public:
  explicit Star(int ranks) : hub_(ranks, -1), tips_(ranks, -1) {
    for (int rank = 1; rank < ranks; ++rank) {
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) continue;
      hub_[rank] = ends[0];
      tips_[rank] = ends[1];
    }
  }
  ~Star() {
    for (const int end : hub_) close(end);
    for (const int end : tips_) close(end);
  }
  Star(const Star&) = delete;
  Star& operator=(const Star&) = delete;

  int hub(int rank) const { return hub_[rank]; }
  int tip(int rank) const { return tips_[rank]; }

 private:
  std::vector<int> hub_, tips_;  // by rank; none for rank 0
};

// A job of processes. Rank r is on "node-N", where N is nodes[r], and has pid 1000 + r. AllGather
// is its only collective, and it knows of no loss.
class StarControlPlane final : public StubControlPlane {
 public:
  StarControlPlane(const std::vector<int>& nodes, int rank, const Star* star)
      : StubControlPlane("star", MembersOn(nodes), rank), star_(star) {}

  absl::StatusOr<std::vector<std::string>> RunCollective(const std::string&,
                                                         const std::vector<int>&,
                                                         internal::CollectiveCall call,
                                                         const CallOptions&) override {
    const int ranks = static_cast<int>(members().size());
    std::vector<std::string> all(ranks);
    if (rank() != 0) {
      Write(star_->tip(rank()), call.payload);
      for (std::string& one : all) one = Read(star_->tip(rank()));
      return all;
    }
    all[0] = std::move(call.payload);
    for (int peer = 1; peer < ranks; ++peer) all[peer] = Read(star_->hub(peer));
    for (int peer = 1; peer < ranks; ++peer) {
      for (const std::string& one : all) Write(star_->hub(peer), one);
    }
    return all;
  }

 private:
  static std::vector<Member> MembersOn(const std::vector<int>& nodes) {
    std::vector<Member> members;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int rank = static_cast<int>(i);
      members.push_back(
          Member{rank, 0, nodes[i], absl::StrCat("node-", nodes[i]), "host", 1000 + rank});
    }
    return members;
  }
  static void Write(int socket, const std::string& bytes) {
    if (write(socket, bytes.data(), bytes.size()) < 0) _exit(1);
  }
  static std::string Read(int socket) {
    std::string bytes(64 << 10, '\0');
    const ssize_t size = read(socket, bytes.data(), bytes.size());
    if (size < 0) _exit(1);
    bytes.resize(size);
    return bytes;
  }

  const Star* const star_;
};

inline Group WorldOf(std::shared_ptr<StarControlPlane> control) {
  auto state = std::make_shared<internal::GroupState>();
  for (const Member& member : control->members()) state->ranks.push_back(member.rank);
  state->rank = control->rank();
  state->control = std::move(control);
  return Group(std::move(state));
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_FAKES_STAR_CONTROL_PLANE_H_
