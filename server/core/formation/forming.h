#ifndef MUSTER_SERVER_CORE_FORMATION_FORMING_H_
#define MUSTER_SERVER_CORE_FORMATION_FORMING_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/formation/formation.h"
#include "server/core/formation/joining.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"

namespace muster::core {

// The formation of epochs. Decides when the next one forms and which members are in it
// (forming.cc). Takes an elastic job from a broken epoch to the next one (elastic.cc).
class Forming {
 public:
  Forming(JobContext& job, Lifecycle& life, MemberTable& members, Calls& calls, Joining& joining)
      : job_(job), life_(life), members_(members), calls_(calls), joining_(joining) {}

  // ---- The next epoch, in the order of the calls ----
  struct Choice {
    std::vector<Member*> members;
    std::string reason;     // why they form an epoch
    std::string forbidden;  // why they may not, so that the job fails; empty: they may
  };
  // Chooses the members of the next epoch. Returns nullopt if none forms yet.
  std::optional<Choice> Choose();
  // Makes the epoch the current one. Returns the previous epoch, or null.
  std::unique_ptr<Epoch> Form(const Choice& choice);
  // Answers the candidates, and logs the epoch.
  void Announce(const Choice& choice);

  // Decides from counts whether the next epoch may form, because every step of an elastic job asks.
  FormationDecision Decide() const { return DecideFormation(Candidates()); }
  Time NextStep() const;

  // ---- After a broken epoch ---- Starts the rejoin time-out of the survivors.
  void StartReforming();
  // Returns survivors that have not called Rejoin in time.
  std::vector<Member*> SilentSurvivors() const;
  // Fails the job if the rejoin time-out is over. Returns whether it did.
  bool TryFail();
  void Fail(const std::string& reason);

  absl::Status DescribeTimeout(const ParkedCall& call, const WaitForPlace& wait);
  // Drops the text that calls which time out together share.
  void ForgetAwaitedText() { awaited_text_.reset(); }

  // Does what Coordinator::FindWrongCounts() says.
  std::string FindWrongCounts() const;

 private:
  std::vector<Member*> ChooseMembers() const;
  FormationInput Candidates() const;
  Roster PlacesOf(const std::vector<Member*>& chosen) const;
  std::unique_ptr<Epoch> MakeEpoch(const std::vector<Member*>& chosen);
  // Returns text such as "; gone since the previous epoch: rank 3", or an empty text.
  std::string DescribeGone(const std::vector<Member*>& chosen) const;
  // Returns how many of them take places that others had before.
  uint32_t ReplacementsAmong(const std::vector<Member*>& chosen) const;
  // Returns why the next epoch may not form with them, or an empty text if it may.
  std::string TooManyReplacements(const std::vector<Member*>& chosen) const;
  void AnswerCandidates();
  void LogFormed(const std::string& reason);
  // Warns of members that run with something else than the others.
  void CompareMembers();
  bool RejoinIsOver() const;
  bool Settled() const;
  Time SettleEnd() const;
  absl::Status JoinTimeout(const ParkedCall& call);
  absl::Status RejoinTimeout(const ParkedCall& call);
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  Lifecycle& life_;
  MemberTable& members_;
  Calls& calls_;
  Joining& joining_;
  std::optional<Time> enough_since_;  // when there were enough, but for the settle time
  Time rejoin_deadline_;              // while the job re-forms
  // The text about members that have not rejoined, while the calls that time out together share it.
  std::optional<std::string> awaited_text_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_FORMING_H_
