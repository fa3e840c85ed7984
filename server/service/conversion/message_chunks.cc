#include "server/service/conversion/message_chunks.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace muster::service {
namespace {

using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kLengthDelimited = 2;  // protobuf's wire type of bytes and messages

uint32_t TagOf(int field) { return static_cast<uint32_t>(field) << 3 | kLengthDelimited; }

}  // namespace

void MessageChunkWriter::OpenMessage(int field, size_t size) {
  google::protobuf::io::StringOutputStream stream(&run_);
  CodedOutputStream out(&stream);
  out.WriteTag(TagOf(field));
  out.WriteVarint64(size);
}

size_t MessageChunkWriter::SizeOfBytes(int field, const core::Bytes& content) {
  return CodedOutputStream::VarintSize32(TagOf(field)) +
         CodedOutputStream::VarintSize64(content->size()) + content->size();
}

void MessageChunkWriter::AddBytes(int field, const core::Bytes& content) {
  OpenMessage(field, content->size());
  if (content->size() < kMinOwnChunkBytes) {
    run_ += *content;
    return;
  }
  CloseRun();
  chunks_.push_back(content);
}

void MessageChunkWriter::AddMessage(int field, const google::protobuf::MessageLite& message) {
  OpenMessage(field, message.ByteSizeLong());
  AddFields(message);
}

void MessageChunkWriter::AddFields(const google::protobuf::MessageLite& part) {
  part.AppendToString(&run_);
}

MessageChunks MessageChunkWriter::Take() && {
  CloseRun();
  return std::move(chunks_);
}

void MessageChunkWriter::CloseRun() {
  if (run_.empty()) return;
  run_.shrink_to_fit();
  chunks_.push_back(std::make_shared<const std::string>(std::move(run_)));
  run_.clear();
}

}  // namespace muster::service
