#include "server/core/diagnosis/inquiry_members.h"

#include <algorithm>

namespace muster::core {

InquiryMembers::InquiryMembers(const JobStatus& job)
    : complete_(job.epoch && job.state != JobState::kReforming) {
  for (const MemberStatus& member : job.members) {
    members_[member.member.incarnation] = {member.rank, ""};
    unreported_ += member.rank.has_value();
  }
}

std::optional<uint32_t> InquiryMembers::RankOf(const Incarnation& process) const {
  const auto found = members_.find(process);
  return found == members_.end() ? std::nullopt : found->second.rank;
}

bool InquiryMembers::AreOfTheJob(const std::vector<Incarnation>& processes) const {
  return !complete_ || std::any_of(processes.begin(), processes.end(),
                                   [this](const Incarnation& process) { return Has(process); });
}

bool InquiryMembers::MayReportOn(const std::string& launcher,
                                 const std::vector<Incarnation>& processes) const {
  return !complete_ ||
         std::any_of(processes.begin(), processes.end(), [&](const Incarnation& process) {
           const auto found = members_.find(process);
           if (found == members_.end()) return false;
           return found->second.reporter.empty() || found->second.reporter == launcher;
         });
}

void InquiryMembers::NoteReport(const std::string& launcher,
                                const std::vector<Incarnation>& processes) {
  std::vector<Member*>& reported = reported_by_[launcher];
  for (Member* member : reported) {
    member->reporter.clear();
    unreported_ += member->rank.has_value();
  }
  reported.clear();
  for (const Incarnation& process : processes) {
    const auto found = members_.find(process);
    if (found == members_.end() || !found->second.reporter.empty()) continue;
    found->second.reporter = launcher;
    unreported_ -= found->second.rank.has_value();
    reported.push_back(&found->second);
  }
}

}  // namespace muster::core
