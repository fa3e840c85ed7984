#ifndef MUSTER_TESTS_FUZZ_FUZZED_DESK_H_
#define MUSTER_TESTS_FUZZ_FUZZED_DESK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/coordinator.h"
#include "server/core/inquiry_desk.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/members.h"
#include "tests/fuzz/message_filler.h"
#include "tests/fuzz/pending_calls.h"

namespace muster::fuzz {

// The desk of one daemon, with the launchers that wait for work at it and whoever has it ask them.
// Checks of it what is checked of the core, and that each inquiry ends with a verdict, in time.
class FuzzedDesk {
 public:
  // All must outlive this object.
  FuzzedDesk(ByteSource* bytes, const core::Options& options, const Knowledge& known,
             const std::vector<FuzzedMember>& members);

  // A call, or a call that is given up.
  void Step(core::Time now, const core::Coordinator& core);

  // As the daemon drives it.
  bool MayBegin(core::Time now, core::JobState state) const { return desk_.MayBegin(now, state); }
  void Begin(core::Time now, const core::InquiryCause& cause);
  core::Time NextDeadline() const { return desk_.NextDeadline(); }
  void Tick(core::Time now);
  // Nothing is left behind.
  void Drain(core::Time now);
  // What it has found out since it was asked last, for the core.
  std::optional<std::string> TakeVerdict() { return std::exchange(verdict_, std::nullopt); }

 private:
  void Write(v1::RequestInquiryRequest* request);
  void Write(v1::ReportInquiryRequest* request);
  void Write(v1::GetInquiryRequest* request);
  void Write(const FuzzedMember& member, v1::RankObservation* seen);
  void Forge(v1::ReportInquiryRequest* request);
  v1::LauncherIdentity Launcher();
  std::string Word(std::vector<std::string> words);

  template <typename Request>
  void Send(core::Time now, const core::Coordinator& core);
  void CancelOne(core::Time now);
  // How the job was when an inquiry began.
  void Note(const core::JobStatus& job);
  void Take(core::Time now, const core::Effects& effects);
  void CheckVerdicts(core::Time now, const core::Effects& effects);

  ByteSource* const bytes_;
  const Knowledge& known_;
  const std::vector<FuzzedMember>& members_;
  core::InquiryDesk desk_;
  core::WaiterId last_id_ = 0;
  PendingCalls calls_;
  uint64_t number_ = 0;         // of the latest inquiry
  core::Time began_;            // that one
  bool open_ = false;           // it is
  bool all_are_known_ = false;  // the job had formed then: all its processes are members
  std::optional<std::string> verdict_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_DESK_H_
