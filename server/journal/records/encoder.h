#ifndef MUSTER_SERVER_JOURNAL_RECORDS_ENCODER_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_ENCODER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/effects.h"
#include "server/core/api/input.h"
#include "server/core/api/options.h"
#include "server/journal/journal.pb.h"
#include "server/journal/records/kept_request.h"

namespace muster::journal {

// The input of one step, without its time.
struct StepInput {
  core::WaiterId id = 0;  // the call or stream; 0 if there is none
  const core::Input& input;
  const KeptRequest* kept = nullptr;  // of a request; else null
};

// An encoder of what happens to one core, as the Records of a Block. Does no I/O. An arrival takes
// some hundred nanoseconds: the caller holds the core's lock, which all calls wait for.
class Encoder {
 public:
  void AppendStart(const core::Options& options, core::Time now, std::string* out);
  // `draws` are the numbers that Options::random returned during the step.
  void AppendStep(const StepInput& step, core::Time now, absl::Span<const uint64_t> draws,
                  const core::Effects& effects, std::string* out);
  // Returns a checkpoint's record without its state. The state is large, so another thread may add
  // and encode it. `steps` is the number of steps since the start.
  Record BeginCheckpoint(const core::Options& options, core::Time now, uint64_t steps);
  static void AppendEnd(absl::string_view reason, uint64_t missing_steps, std::string* out);
  static void Append(Record record, std::string* out);

 private:
  core::Time last_;  // the time that the next step's time is relative to
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_ENCODER_H_
