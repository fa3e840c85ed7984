#ifndef MUSTER_SERVER_SERVICE_CONVERSION_MESSAGE_CHUNKS_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_MESSAGE_CHUNKS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "google/protobuf/message_lite.h"
#include "server/core/api/types.h"

namespace muster::service {

// An encoded message as chunks to concatenate. A large payload is a chunk of its own, which the
// core and all answers share without a copy.
using MessageChunks = std::vector<core::Bytes>;

// An encoder of one message's length-delimited fields.
class MessageChunkWriter {
 public:
  // Smaller payloads are copied next to one another. A chunk costs some hundred bytes in every
  // answer that contains it, while a copy costs its size once for all answers.
  static constexpr size_t kMinOwnChunkBytes = 64 * 1024;

  void AddBytes(int field, const core::Bytes& content);
  void AddMessage(int field, const google::protobuf::MessageLite& message);
  // Appends the fields of `part` without a tag.
  void AddFields(const google::protobuf::MessageLite& part);
  // Appends the tag of an embedded message. Its fields, `size` bytes in all, must follow.
  void OpenMessage(int field, size_t size);
  // Returns the number of bytes that AddBytes(field, content) appends.
  static size_t SizeOfBytes(int field, const core::Bytes& content);

  MessageChunks Take() &&;

 private:
  void CloseRun();

  MessageChunks chunks_;
  std::string run_;  // bytes added since the last chunk
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_MESSAGE_CHUNKS_H_
