#include "server/core/diagnosis/inquiry_members.h"

#include <algorithm>

namespace muster::core {

InquiryMembers::InquiryMembers(const JobStatus& job)
    : complete_(job.epoch && job.state != JobState::kReforming) {
  for (const MemberStatus& member : job.members) {
    members_[member.member.incarnation] = {member.rank, ""};
    untold_ += member.rank.has_value();
  }
}

std::optional<uint32_t> InquiryMembers::RankOf(const Incarnation& process) const {
  const auto found = members_.find(process);
  return found == members_.end() ? std::nullopt : found->second.rank;
}

bool InquiryMembers::AreOfTheJob(const std::vector<Incarnation>& processes) const {
  return !complete_ || std::any_of(processes.begin(), processes.end(),
                                   [this](const Incarnation& one) { return Has(one); });
}

bool InquiryMembers::MayTell(const std::string& launcher,
                             const std::vector<Incarnation>& processes) const {
  return !complete_ || std::any_of(processes.begin(), processes.end(), [&](const Incarnation& one) {
    const auto found = members_.find(one);
    if (found == members_.end()) return false;
    return found->second.teller.empty() || found->second.teller == launcher;
  });
}

void InquiryMembers::Tell(const std::string& launcher, const std::vector<Incarnation>& processes) {
  std::vector<Member*>& told = told_by_[launcher];
  for (Member* member : told) {
    member->teller.clear();
    untold_ += member->rank.has_value();
  }
  told.clear();
  for (const Incarnation& one : processes) {
    const auto found = members_.find(one);
    if (found == members_.end() || !found->second.teller.empty()) continue;
    found->second.teller = launcher;
    untold_ -= found->second.rank.has_value();
    told.push_back(&found->second);
  }
}

}  // namespace muster::core
