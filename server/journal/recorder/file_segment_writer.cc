#include "server/journal/recorder/file_segment_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/journal/journal.pb.h"
#include "server/journal/records/encoder.h"
#include "server/journal/records/format.h"

namespace muster::journal {
namespace {

// The number of segments within the bound. A rotation removes the oldest one, so little is lost at
// a time.
constexpr uint64_t kSegments = 8;
// The least size of a segment, in checkpoints: half of it must be left for steps.
constexpr uint64_t kMinSegmentCheckpoints = 2;
// More files than any bound leaves.
constexpr int kMaxFiles = 1000;
constexpr size_t kMaxHeaderBytes = 4096;
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

uint64_t SizeOf(const std::string& path) {
  struct stat file = {};
  return stat(path.c_str(), &file) == 0 ? static_cast<uint64_t>(file.st_size) : 0;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// Returns `size` bytes from `offset` on, or fewer if the file ends.
std::string ReadAt(int fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = pread(fd, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace

FileSegmentWriter::FileSegmentWriter(std::string path, uint64_t max_bytes, std::string musterd)
    : path_(std::move(path)),
      max_bytes_(max_bytes),
      segment_bytes_(max_bytes / kSegments),
      musterd_(std::move(musterd)) {}

FileSegmentWriter::~FileSegmentWriter() {
  if (fd_ >= 0) close(fd_);
}

absl::Status FileSegmentWriter::Failure(const char* what) const {
  return absl::FailedPreconditionError(absl::StrCat(what, " ", path_, ": ", strerror(errno)));
}

absl::Status FileSegmentWriter::Open() {
  // O_NOFOLLOW: a rotation would rename a symbolic link and leave its file in place.
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, kOwnerOnly);
  if (fd_ < 0 && errno == ELOOP) return Refusal("is a symbolic link; name the file itself");
  if (fd_ < 0) return Failure("cannot open");
  if (absl::Status s = Lock(); !s.ok()) return s;
  struct stat file = {};
  if (fstat(fd_, &file) != 0) return Failure("cannot inspect");
  if (!S_ISREG(file.st_mode)) return Refusal("is not a regular file");
  if (file.st_uid != geteuid()) {
    return Refusal("belongs to another user than musterd runs as; name another file");
  }
  const bool is_empty = file.st_size == 0;
  if (!is_empty && ReadAt(fd_, 0, kMagic.size()) != kMagic) {
    return Refusal("is there and is not a journal; name another file");
  }
  // Another program may have created the file with other permissions. Session keys go into it.
  if ((file.st_mode & ACCESSPERMS) != kOwnerOnly && fchmod(fd_, kOwnerOnly) != 0) {
    return Failure("cannot restrict access to");
  }
  return is_empty ? Begin() : Resume(file.st_size);
}

absl::Status FileSegmentWriter::Refusal(const char* why) const {
  return absl::FailedPreconditionError(absl::StrCat(path_, " ", why));
}

absl::Status FileSegmentWriter::Lock() const {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("another process writes ", path_, "; give each daemon a journal of its own"));
}

absl::Status FileSegmentWriter::Resume(uint64_t file_bytes) {
  size_ = WholeBytes(file_bytes);
  if (size_ <= kMagic.size()) size_ = 0;
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0 ||
      lseek(fd_, 0, SEEK_END) != static_cast<off_t>(size_)) {
    return Failure("cannot continue");
  }
  if (size_ == 0) return Begin();
  return full() || !HasCurrentFormat() ? Rotate() : absl::OkStatus();
}

// Follows the frames. Readers check the content of the blocks.
uint64_t FileSegmentWriter::WholeBytes(uint64_t file_bytes) const {
  uint64_t whole = kMagic.size();
  while (true) {
    const std::string bytes = ReadAt(fd_, whole, kFrameBytes);
    if (bytes.size() < kFrameBytes) return whole;
    const std::optional<Frame> frame = DecodeFrame(bytes);
    if (!frame || whole + kFrameBytes + frame->size > file_bytes) return whole;
    whole += kFrameBytes + frame->size;
  }
}

bool FileSegmentWriter::HasCurrentFormat() const {
  const std::string bytes = ReadAt(fd_, kMagic.size(), kFrameBytes + kMaxHeaderBytes);
  if (bytes.size() < kFrameBytes) return false;
  const std::optional<Frame> frame = DecodeFrame(bytes);
  Block block;
  return frame && block.ParseFromString(bytes.substr(kFrameBytes, frame->size)) &&
         block.records_size() > 0 && block.records(0).header().format() == kFormat;
}

absl::Status FileSegmentWriter::Begin() {
  Record record;
  record.mutable_header()->set_format(kFormat);
  record.mutable_header()->set_musterd(musterd_);
  std::string block;
  Encoder::Append(record, &block);
  if (absl::Status s = Write(kMagic); !s.ok()) return s;
  size_ = kMagic.size();
  return Append(block);
}

absl::Status FileSegmentWriter::Append(absl::string_view block) {
  absl::Status written = Write(EncodeFrame(block));
  if (written.ok()) written = Write(block);
  if (written.ok()) {
    size_ += kFrameBytes + block.size();
  } else if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) {
    return written;  // a reader recognizes the incomplete block
  }
  return written;
}

absl::Status FileSegmentWriter::Write(absl::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failure("cannot write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Makes each segment older by one, and removes the oldest ones.
absl::Status FileSegmentWriter::ShiftSegments() const {
  int oldest = 0;
  uint64_t bytes = 0;
  while (oldest < kMaxFiles && Exists(SegmentPath(path_, oldest))) {
    bytes += SizeOf(SegmentPath(path_, oldest++));
  }
  while (oldest > 0 && bytes + 2 * segment_bytes_ > max_bytes_) {
    const std::string path = SegmentPath(path_, --oldest);
    bytes -= std::min(bytes, SizeOf(path));
    unlink(path.c_str());
  }
  for (int age = oldest - 1; age >= 0; --age) {
    const std::string older = SegmentPath(path_, age + 1);
    if (rename(SegmentPath(path_, age).c_str(), older.c_str()) != 0) return Failure("cannot move");
  }
  return absl::OkStatus();
}

absl::Status FileSegmentWriter::CheckRoomAfter(size_t checkpoint_bytes) const {
  if (kMinSegmentCheckpoints * checkpoint_bytes <= segment_bytes_) return absl::OkStatus();
  constexpr uint64_t kMiB = 1 << 20;
  const uint64_t enough = kSegments * kMinSegmentCheckpoints * checkpoint_bytes;
  return absl::FailedPreconditionError(
      absl::StrCat("it keeps within --journal-max-bytes, ", max_bytes_, " bytes, in ", kSegments,
                   " segments, and each begins with a checkpoint, which takes ", checkpoint_bytes,
                   " bytes of this job; start musterd with --journal-max-bytes ",
                   (enough + kMiB - 1) / kMiB, "MiB or more"));
}

absl::Status FileSegmentWriter::Rotate() {
  if (absl::Status s = ShiftSegments(); !s.ok()) return s;
  close(fd_);
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (fd_ < 0) return Failure("cannot begin");
  if (absl::Status s = Lock(); !s.ok()) return s;
  return Begin();
}

}  // namespace muster::journal
