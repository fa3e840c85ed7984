#ifndef MUSTER_CLIENT_SRC_BASE_ERROR_NOTE_H_
#define MUSTER_CLIENT_SRC_BASE_ERROR_NOTE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "muster/error_facts.h"
#include "muster/exit_code.h"

// A note says to programs what an error means, beside its code and its text. It is one payload of
// the status, "muster.error", because Status::ToString() prints several payloads in random order.
// Its value is a readable text with fields in a fixed order:
//
//   exit=75 rank=3 node=gpu-7 pid=4411 missing=3,8-15 cause=killed by signal 9 (SIGKILL)
//
// Only the SDK makes notes: on the wire, an error is a code and a text.
namespace muster::internal {

struct ErrorNote {
  std::optional<int> exit_code;  // that ExitCode() returns
  ErrorFacts facts;
  bool may_be_lost_peer = false;  // see MayBeLostPeer() of client/nccl/device/errors.h
};

// Returns the text of a note, one line; empty for an empty note.
std::string EncodeNote(const ErrorNote& note);
// Returns the note of such a text; an empty note for any other text.
ErrorNote DecodeNote(absl::string_view text);

// Returns the note of an error; an empty one if it has none.
ErrorNote NoteOf(const absl::Status& status);

// Returns the error with this note in place of its own. OK stays OK.
absl::Status WithNote(absl::Status status, const ErrorNote& note);

// Notes in an error the exit code that ExitCode() returns for it. Keeps an earlier one. OK stays
// OK.
absl::Status WithExitCode(absl::Status status, int code);

// Notes in an error whom it names. Keeps earlier facts. OK stays OK.
absl::Status WithFacts(absl::Status status, const ErrorFacts& facts);

// Returns the error with another text, or another code and text, and with the note of `status`.
absl::Status Reworded(const absl::Status& status, absl::string_view text);
absl::Status Reworded(const absl::Status& status, absl::StatusCode code, absl::string_view text);

// Returns "ABORTED: the text", without the note, for logs and for other processes.
std::string CodeAndText(const absl::Status& status);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_ERROR_NOTE_H_
