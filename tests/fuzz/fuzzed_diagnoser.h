#ifndef MUSTER_TESTS_FUZZ_FUZZED_DIAGNOSER_H_
#define MUSTER_TESTS_FUZZ_FUZZED_DIAGNOSER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/coordinator.h"
#include "server/core/diagnosis/hang_diagnoser.h"
#include "tests/fuzz/answer_oracle.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/members.h"
#include "tests/fuzz/message_filler.h"

namespace muster::fuzz {

// The hang diagnoser of one daemon, with launchers that wait for work and callers that start
// inquiries. Checks the same promises as for the core, and that each inquiry ends in time, with a
// verdict.
class FuzzedDiagnoser {
 public:
  // All must outlive this object.
  FuzzedDiagnoser(ByteSource* bytes, const core::Options& options, const Knowledge& known,
                  const std::vector<FuzzedMember>& members);

  // Makes a call, or cancels one.
  void Step(core::Time now, const core::Coordinator& core);

  // The following functions drive the diagnoser as the daemon does.
  bool MayBegin(core::Time now, core::JobState state) const {
    return diagnoser_.MayBegin(now, state);
  }
  void Begin(core::Time now, const core::InquiryCause& cause);
  core::Time NextDeadline() const { return diagnoser_.NextDeadline(); }
  void Tick(core::Time now);
  // Drains the diagnoser. Checks that no call is left.
  void Drain(core::Time now);
  // Returns the latest verdict since the last call, for the core.
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
  void CancelRandomCall(core::Time now);
  // Notes the state of the job when an inquiry begins.
  void Note(const core::JobStatus& job);
  void Take(core::Time now, const core::Effects& effects);
  void CheckVerdicts(core::Time now, const core::Effects& effects);

  ByteSource* const bytes_;
  const Knowledge& known_;
  const std::vector<FuzzedMember>& members_;
  core::HangDiagnoser diagnoser_;
  core::WaiterId last_id_ = 0;
  AnswerOracle calls_;
  uint64_t number_ = 0;          // the number of the latest inquiry
  core::Time began_;             // when it began
  bool open_ = false;            // whether it is open
  bool job_has_formed_ = false;  // the job had formed when it began
  std::optional<std::string> verdict_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_DIAGNOSER_H_
