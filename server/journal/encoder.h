#ifndef MUSTER_SERVER_JOURNAL_ENCODER_H_
#define MUSTER_SERVER_JOURNAL_ENCODER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/core/effects.h"
#include "server/core/input.h"
#include "server/core/options.h"
#include "server/core/vocabulary.h"
#include "server/journal/journal.pb.h"
#include "server/journal/kept_request.h"

namespace muster::journal {

// What goes into the core in one step, but for the time.
struct StepInput {
  core::WaiterId id = 0;  // of the call or stream, where there is one
  const core::Input& input;
  const KeptRequest* kept = nullptr;  // of a request
};

// Encodes what happens to one core, one Record after the other, as they stand in a Block. Pure.
// An arrival costs some hundred nanoseconds: the caller holds a lock that everybody waits for.
class Encoder {
 public:
  void AppendStart(const core::Options& options, core::Time now, std::string* out);
  // `draws`: what Options::random has returned in the step.
  void AppendStep(const StepInput& step, core::Time now, absl::Span<const uint64_t> draws,
                  const core::Effects& effects, std::string* out);
  // A checkpoint's record, but for the state, which is large, and may be put in and encoded
  // elsewhere. `steps`: how many there were since the start.
  Record BeginCheckpoint(const core::Options& options, core::Time now, uint64_t steps);
  static void AppendEnd(absl::string_view reason, uint64_t missing_steps, std::string* out);
  static void Append(Record record, std::string* out);

 private:
  core::Time last_;  // what the next step's time is told from
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_ENCODER_H_
