#ifndef MUSTER_SERVER_JOURNAL_RECORDS_FORMAT_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// The bytes of a journal's file: magic, then frames with blocks. journal.proto says what a block
// contains.
namespace muster::journal {

inline constexpr absl::string_view kMagic = "MUSTERJ\n";
// The version of journal.proto. A reader accepts this version and older ones.
inline constexpr uint32_t kFormat = 1;

// The frame before each Block.
inline constexpr size_t kFrameBytes = 8;
struct Frame {
  uint32_t size = 0;
  uint32_t checksum = 0;
};
// The largest block. A larger size means that the bytes are not a frame.
inline constexpr uint32_t kMaxBlockBytes = 256 << 20;

uint32_t ChecksumOf(absl::string_view block);
std::string EncodeFrame(absl::string_view block);
// Decodes kFrameBytes bytes. Returns nullopt if they cannot be a frame.
std::optional<Frame> DecodeFrame(absl::string_view bytes);

// Returns the path of a segment. Before FILE comes FILE.1 (age 1), and before that FILE.2.
std::string SegmentPath(const std::string& path, int age);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_FORMAT_H_
