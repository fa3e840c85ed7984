#ifndef MUSTER_TESTS_FUZZ_MEMBERS_H_
#define MUSTER_TESTS_FUZZ_MEMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/fuzzed_options.h"

namespace muster::fuzz {

// A process of the job. It keeps what the daemon has told it, and writes the requests of an honest
// member. With these, a fuzzer gets to the states in which its noise matters.
class FuzzedMember {
 public:
  // `world_size`: the size that it asks for; 0 asks for none. `endless_groups`: it calls each named
  // group only once, and names another one for the next collective.
  FuzzedMember(int number, const FuzzedJob& job, uint32_t world_size, bool endless_groups);

  const v1::MemberIdentity& identity() const { return identity_; }
  const std::string& secret() const { return secret_; }
  bool attached() const { return session_.has_value(); }
  bool Has(const v1::SessionId& session) const {
    return session_ && session_->counter() == session.counter() && session_->key() == session.key();
  }
  bool joined() const { return place_.has_value(); }

  void Write(ByteSource* bytes, v1::AttachRequest* request);
  void Write(ByteSource* bytes, v1::JoinRequest* request);
  void Write(ByteSource* bytes, v1::RejoinRequest* request);
  void Write(ByteSource* bytes, v1::BarrierRequest* request);
  void Write(ByteSource* bytes, v1::BroadcastRequest* request);
  void Write(ByteSource* bytes, v1::GatherRequest* request);
  void Write(ByteSource* bytes, v1::AllGatherRequest* request);
  // Writes a call of this member alone. The member is the sender.
  void Write(ByteSource* bytes, v1::NodeCollectiveRequest* request);
  // Adds this member's part to another member's call. Does nothing if the two do not make the same
  // call.
  void Add(v1::NodeCollectiveRequest* request);
  void Write(ByteSource* bytes, v1::WithdrawArrivalRequest* request);
  // Reports the next collectives of a group as completed on the node.
  void Write(ByteSource* bytes, v1::ReportCommitsRequest* request);
  // Releases its groups, or acknowledges that they are closed.
  void Write(ByteSource* bytes, v1::ReleaseGroupsRequest* request);
  void Write(ByteSource* bytes, v1::AcquireLeaseRequest* request);
  void Write(ByteSource* bytes, v1::CompleteLeaseRequest* request);
  void Write(ByteSource* bytes, v1::AbandonLeaseRequest* request);
  void Write(ByteSource* bytes, v1::LeaveRequest* request);
  void Write(ByteSource* bytes, v1::ReportExitRequest* request);
  void Write(ByteSource* bytes, v1::ReportProcessStateRequest* request);
  // Writes any other call of a member: its request only identifies the caller.
  template <typename Request>
  void Write(ByteSource*, Request* request) {
    *request->mutable_call() = NewCall();
  }

  // Take the answers to this member's requests.
  void Learn(const v1::Attached& attached) { session_ = attached.session(); }
  void Learn(const v1::NeedRoster&) { must_list_roster_ = true; }
  void Learn(const v1::EpochBroken& broken);
  void Learn(const v1::GroupsClosed& closings);
  void Learn(const v1::JoinResponse& place);
  void Learn(const v1::AcquireLeaseRequest& request, const v1::AcquireLeaseResponse& response);
  void Learn(const v1::BarrierRequest& request, const v1::BarrierResponse&) {
    Completed(request.context());
  }
  void Learn(const v1::BroadcastRequest& request, const v1::BroadcastResponse&) {
    Completed(request.context());
  }
  void Learn(const v1::GatherRequest& request, const v1::GatherResponse&) {
    Completed(request.context());
  }
  void Learn(const v1::AllGatherRequest& request, const v1::AllGatherResponse&) {
    Completed(request.context());
  }
  // Called for each part that has completed.
  void Learn(const v1::NodeCollectiveRequest& request, const v1::NodeCollectiveResponse&) {
    Completed(request.context());
  }
  void Learn(const v1::ReleaseGroupsRequest&, const v1::ReleaseGroupsResponse& response);
  // Called at each member of the node once one of them has completed collectives there. Does
  // nothing if this member has called something else.
  void LearnCommits(const v1::ReportCommitsRequest& report);
  template <typename Request, typename Response>
  void Learn(const Request&, const Response&) {}  // nothing to keep
  void Detach() { session_.reset(); }

 private:
  v1::CallContext NewCall();
  void Completed(const v1::CollectiveContext& collective);
  void Fill(ByteSource* bytes, v1::CollectiveContext* context);
  void FillClaim(v1::Claim* claim) const;
  // Returns the group of its next collective that is not the world's.
  std::string GroupName() const;
  // Returns the groups that it may release.
  std::vector<std::string> DoneGroups() const;
  std::string DigestOf(const std::string& group) const;
  // Returns the group of this digest among those that it has called and not forgotten, or "" if
  // it knows no such group.
  std::string FindGroup(const std::string& digest) const;
  void Forget(const std::string& digest);
  v1::EpochId epoch() const { return place_ ? place_->epoch() : v1::EpochId(); }

  std::string secret_;
  v1::MemberIdentity identity_;
  const uint32_t world_size_;
  const bool commits_on_node_;
  const bool endless_groups_;
  uint64_t groups_ = 0;  // how many named groups it is done with, if they are without end
  uint64_t attempts_ = 0;
  uint64_t requests_ = 0;
  std::optional<v1::SessionId> session_;
  std::optional<v1::JoinResponse> place_;
  std::optional<v1::EpochBroken> broken_;
  bool must_list_roster_ = false;         // the next Attach must list the roster
  std::map<std::string, uint64_t> next_;  // sequence number by group
  std::set<std::string> closed_;          // groups that it must acknowledge
  std::vector<v1::HeldLease> held_;
  uint64_t highest_token_ = 0;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_MEMBERS_H_
