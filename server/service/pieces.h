#ifndef MUSTER_SERVER_SERVICE_PIECES_H_
#define MUSTER_SERVER_SERVICE_PIECES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "google/protobuf/message_lite.h"
#include "server/core/types.h"

namespace muster::service {

// An encoded message as pieces that are to be concatenated. Large payloads are pieces by
// themselves, shared with the core and not copied.
using Pieces = std::vector<core::Bytes>;

// Encodes length-delimited fields of one message.
class PieceWriter {
 public:
  // Payloads below this size are copied, next to one another: a piece costs every answer that it
  // is part of some hundred bytes, a copy costs them all together the payload once.
  static constexpr size_t kOwnPiece = 64 * 1024;

  void AddBytes(int field, const core::Bytes& content);
  void AddMessage(int field, const google::protobuf::MessageLite& message);
  // The fields of `part`, without its tag.
  void AddFields(const google::protobuf::MessageLite& part);
  // The tag of an embedded message: its fields, of so many bytes together, follow.
  void OpenMessage(int field, size_t size);
  // The size of AddBytes(field, content).
  static size_t SizeOfBytes(int field, const core::Bytes& content);

  Pieces Take() &&;

 private:
  void CloseRun();

  Pieces pieces_;
  std::string run_;  // what was added since the last piece
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_PIECES_H_
