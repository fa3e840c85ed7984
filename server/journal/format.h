#ifndef MUSTER_SERVER_JOURNAL_FORMAT_H_
#define MUSTER_SERVER_JOURNAL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// How the bytes of a journal's file stand: journal.proto says what they mean.
namespace muster::journal {

inline constexpr absl::string_view kMagic = "MUSTERJ\n";
// Of journal.proto. A reader takes this one and older ones.
inline constexpr uint32_t kFormat = 1;

// Before each Block.
inline constexpr size_t kFrameBytes = 8;
struct Frame {
  uint32_t size = 0;
  uint32_t checksum = 0;
};
// No block is larger; what says so is no frame.
inline constexpr uint32_t kMaxBlockBytes = 256 << 20;

uint32_t ChecksumOf(absl::string_view block);
std::string EncodeFrame(absl::string_view block);
// Of kFrameBytes bytes; nullopt if it cannot be one.
std::optional<Frame> DecodeFrame(absl::string_view bytes);

// The segment before FILE is FILE.1, the one before that FILE.2.
std::string SegmentPath(const std::string& path, int age);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_FORMAT_H_
