#include "server/journal/replay/reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text/utf8.h"
#include "server/journal/records/format.h"

namespace muster::journal {
namespace {

// The most bytes to allocate at once. The size in a damaged frame may be far more than the file
// contains.
constexpr size_t kMaxReadBytes = 1 << 20;
constexpr int kAttempts = 10;

// Returns the next `size` bytes, or fewer if the file ends.
std::string ReadBytes(std::istream& in, size_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    const size_t before = bytes.size();
    bytes.resize(std::min(size, before + kMaxReadBytes));
    in.read(&bytes[before], static_cast<std::streamsize>(bytes.size() - before));
    const auto got = static_cast<size_t>(in.gcount());
    bytes.resize(before + got);
    if (got == 0) break;
  }
  return bytes;
}

// The identity of a file. It stays the same when the file is renamed.
using Inode = std::pair<dev_t, ino_t>;
std::vector<Inode> InodesOf(const std::vector<std::string>& paths) {
  std::vector<Inode> inodes;
  for (const std::string& path : paths) {
    struct stat file = {};
    inodes.push_back(stat(path.c_str(), &file) == 0 ? Inode(file.st_dev, file.st_ino) : Inode());
  }
  return inodes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> Reader::Open(const std::string& path) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", strerror(errno)));
  }
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a folder; name the file that musterd --journal writes"));
  }
  return Open(std::move(file), path);
}

absl::StatusOr<std::unique_ptr<Reader>> Reader::Open(std::unique_ptr<std::istream> in,
                                                     const std::string& name) {
  std::unique_ptr<Reader> reader(new Reader(std::move(in), name));
  if (absl::Status s = reader->ReadHeader(); !s.ok()) return s;
  return reader;
}

Reader::Reader(std::unique_ptr<std::istream> in, std::string name)
    : in_(std::move(in)), name_(std::move(name)) {}

absl::Status Reader::ReadHeader() {
  const std::string magic = ReadBytes(*in_, kMagic.size());
  if (magic.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_, " is empty: no musterd has written to it"));
  }
  if (magic != kMagic) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_, " is not a journal; musterd --journal writes them"));
  }
  offset_ = kMagic.size();
  const std::optional<Record> first = Next();
  if (!first) return absl::OkStatus();  // the daemon was killed before its first write
  header_ = first->header();
  if (first->has_header() && header_.format() > 0 && header_.format() <= kFormat) {
    return absl::OkStatus();
  }
  if (header_.format() > kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat(name_, " is of format ", header_.format(), ", written by musterd ",
                     ReplaceUnprintable(header_.musterd()), "; this program reads up to format ",
                     kFormat, ": use the muster of that version"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name_, " is damaged: it does not begin with a header"));
}

std::optional<Record> Reader::Next() {
  while (next_ >= block_.records_size()) {
    if (!ReadBlock()) return std::nullopt;
  }
  return std::move(*block_.mutable_records(next_++));
}

bool Reader::EndHere(const std::string& why) {
  block_.Clear();
  next_ = 0;
  ending_ = why;
  return false;
}

bool Reader::ReadBlock() {
  if (!ending_.empty()) return false;
  const uint64_t begin = offset_;
  const std::string head = ReadBytes(*in_, kFrameBytes);
  if (head.empty()) return EndHere("");
  const auto torn = [&](size_t bytes) {
    return EndHere(absl::StrCat("the last ", bytes, " bytes of ", name_,
                                " belong to a block that was not written completely"));
  };
  const auto damaged = [&] {
    damaged_ = true;
    return EndHere(absl::StrCat(name_, " is damaged at byte ", begin, "; the rest is left out"));
  };
  if (head.size() < kFrameBytes) return torn(head.size());
  const std::optional<Frame> frame = DecodeFrame(head);
  if (!frame) return damaged();
  const std::string bytes = ReadBytes(*in_, frame->size);
  if (bytes.size() < frame->size) return torn(kFrameBytes + bytes.size());
  offset_ += kFrameBytes + bytes.size();
  block_.Clear();
  next_ = 0;
  if (ChecksumOf(bytes) != frame->checksum || !block_.ParseFromString(bytes)) return damaged();
  return true;
}

std::vector<std::string> SegmentsOf(const std::string& path) {
  std::vector<std::string> found = {path};
  // A daemon that is killed during a rotation leaves no newest file, or an empty one.
  struct stat newest = {};
  const bool has_none = stat(path.c_str(), &newest) != 0 ? errno == ENOENT : newest.st_size == 0;
  if (has_none && access(SegmentPath(path, 1).c_str(), F_OK) == 0) found.clear();
  for (int age = 1; access(SegmentPath(path, age).c_str(), F_OK) == 0; ++age) {
    found.push_back(SegmentPath(path, age));
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<absl::StatusOr<std::unique_ptr<Reader>>> OpenSegments(const std::string& path) {
  // If a rotation happened meanwhile, opens the files again. Rotations are seconds apart, so a few
  // attempts are enough.
  for (int attempt = 1;; ++attempt) {
    const std::vector<std::string> paths = SegmentsOf(path);
    const std::vector<Inode> before = InodesOf(paths);
    std::vector<absl::StatusOr<std::unique_ptr<Reader>>> readers;
    for (const std::string& segment : paths) readers.push_back(Reader::Open(segment));
    const bool rotated = InodesOf(SegmentsOf(path)) != before;
    if (!rotated || attempt == kAttempts) return readers;
  }
}

}  // namespace muster::journal
