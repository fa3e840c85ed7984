#include "client/cli/run/log_files.h"

#include <fcntl.h>
#include <string.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::cli {

absl::StatusOr<int> LogFiles::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  Log& log = logs_.emplace_back();
  log.path = path;
  log.sink = writer_.AddSink(fd, path);
  return static_cast<int>(logs_.size()) - 1;
}

int LogFiles::AddStream(int log) { return logs_[log].lines.AddStream(""); }

void LogFiles::Write(int log_number, int stream, absl::string_view chunk) {
  Log* const log = &logs_[log_number];
  if (writer_.pending() + chunk.size() > kMaxBacklog) return DropOutput(log, chunk.size());
  NoteDroppedBytes(log);
  writer_.Write(log->sink, log->lines.Feed(stream, chunk));
}

void LogFiles::Finish(int log_number, int stream) {
  Log* const log = &logs_[log_number];
  NoteDroppedBytes(log);
  writer_.Write(log->sink, log->lines.Finish(stream, /*end_line=*/false));
}

std::vector<std::string> LogFiles::TakeWarnings() {
  for (const AsyncWriter::Failure& failure : writer_.TakeFailures()) {
    warnings_.push_back(absl::StrCat("cannot write ", failure.name, ": ", strerror(failure.error),
                                     "; the rest of this rank's output is only shown"));
  }
  return std::exchange(warnings_, {});
}

void LogFiles::DropOutput(Log* log, size_t bytes) {
  log->missing += bytes;
  if (std::exchange(log->was_slow, true)) return;
  warnings_.push_back(absl::StrCat(log->path,
                                   " cannot be written as fast as the rank writes: parts of its "
                                   "output are left out there, and only shown"));
}

void LogFiles::NoteDroppedBytes(Log* log) {
  if (log->missing == 0) return;
  const int note = log->lines.AddStream("muster: ");
  const size_t missing = std::exchange(log->missing, 0);
  writer_.Write(log->sink, log->lines.Feed(note, absl::StrCat(missing,
                                                              " bytes are missing here, "
                                                              "since this file could not be "
                                                              "written fast enough\n")));
  log->lines.Finish(note, /*end_line=*/false);
}

}  // namespace muster::cli
