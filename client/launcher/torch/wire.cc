#include "client/launcher/torch/wire.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/base/macros.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster::launcher::torch {
namespace {

constexpr uint32_t kMagic = 0x3C85F7CE;
constexpr size_t kGreetingBytes = 1 + sizeof(kMagic);
constexpr uint8_t kLastOp = static_cast<uint8_t>(Op::kBarrier);

// The codes of PyTorch 2.0 and older. kValidate stands for WATCH_KEY, which is not offered.
constexpr std::array<Op, 9> kOldOps = {Op::kSet,        Op::kCompareSet, Op::kGet,
                                       Op::kAdd,        Op::kCheck,      Op::kWait,
                                       Op::kGetNumKeys, Op::kValidate,   Op::kDeleteKey};

// Reads one request from the bytes that have arrived. Once a read has failed, all later ones fail.
class Cursor {
 public:
  // If `measures`, only finds the end of the request, without copies of its keys and values.
  Cursor(absl::string_view bytes, bool measures) : bytes_(bytes), measures_(measures) {}

  uint64_t Integer(size_t size) {
    if (!Has(size)) return 0;
    uint64_t number = 0;
    for (size_t i = 0; i < size; ++i) {
      number |= uint64_t{static_cast<unsigned char>(bytes_[position_ + i])} << (8 * i);
    }
    position_ += size;
    return number;
  }

  std::string Bytes(const char* what, uint64_t limit) {
    const uint64_t size = Integer(sizeof(uint64_t));
    if (size > limit) Reject(absl::StrCat(what, " of ", size, " bytes; the limit is ", limit));
    if (!status_.ok() || !Has(size)) return "";
    position_ += size;
    return measures_ ? "" : std::string(bytes_.substr(position_ - size, size));
  }

  std::string Key() { return Bytes("a key", kMaxKeyBytes); }
  std::string Value() { return Bytes("a value", kMaxValueBytes); }

  uint64_t Count() {
    const uint64_t count = Integer(sizeof(uint64_t));
    if (count > kMaxKeys) Reject(absl::StrCat(count, " keys; the limit is ", kMaxKeys));
    return status_.ok() ? count : 0;
  }

  void Reject(const std::string& what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat("it sent ", what));
  }

  const absl::Status& status() const { return status_; }
  bool complete() const { return status_.ok() && !truncated_; }
  size_t position() const { return position_; }
  // Returns how many bytes the request has at least, if it is not complete.
  size_t needed() const { return needed_; }

 private:
  bool Has(uint64_t size) {
    if (!complete()) return false;
    needed_ = position_ + size;
    if (needed_ > kMaxRequestBytes) {
      Reject(absl::StrCat("a request of more than ", kMaxRequestBytes, " bytes"));
      return false;
    }
    truncated_ = bytes_.size() < needed_;
    return !truncated_;
  }

  const absl::string_view bytes_;
  const bool measures_;
  size_t position_ = 0;
  size_t needed_ = 0;
  bool truncated_ = false;
  absl::Status status_;
};

void ReadKeys(Cursor* cursor, Request* request) {
  const uint64_t count = cursor->Count();
  for (uint64_t i = 0; i < count && cursor->complete(); ++i) request->keys.push_back(cursor->Key());
}

void ReadPairs(Cursor* cursor, Request* request) {
  const uint64_t count = cursor->Count();
  for (uint64_t i = 0; i < count && cursor->complete(); ++i) {
    request->keys.push_back(cursor->Key());
    request->values.push_back(cursor->Value());
  }
}

void ReadArguments(Cursor* cursor, Request* request) {
  switch (request->op) {
    case Op::kValidate:
    case Op::kGetNumKeys:
    case Op::kCancelWait:
    case Op::kListKeys:
      return;
    case Op::kPing:
      request->number = static_cast<int64_t>(cursor->Integer(sizeof(uint32_t)));
      return;
    case Op::kCheck:
    case Op::kWait:
    case Op::kMultiGet:
      return ReadKeys(cursor, request);
    case Op::kMultiSet:
      return ReadPairs(cursor, request);
    default:
      break;
  }
  request->keys.push_back(cursor->Key());
  switch (request->op) {
    case Op::kCompareSet:
      request->values.push_back(cursor->Value());
      ABSL_FALLTHROUGH_INTENDED;
    case Op::kSet:
    case Op::kAppend:
    case Op::kQueuePush:
      request->values.push_back(cursor->Value());
      return;
    case Op::kAdd:
    case Op::kBarrier:
      request->number = static_cast<int64_t>(cursor->Integer(sizeof(int64_t)));
      return;
    default:
      return;
  }
}

Request ReadRequest(bool old_codes, Cursor* cursor) {
  const auto code = static_cast<uint8_t>(cursor->Integer(1));
  Request request;
  if (old_codes) {
    request.op = code < kOldOps.size() ? kOldOps[code] : Op::kValidate;
  } else {
    request.op = code <= kLastOp ? static_cast<Op>(code) : Op::kValidate;
  }
  if (request.op == Op::kValidate) {
    cursor->Reject(absl::StrCat("request code ", code, ", which is not offered"));
  }
  ReadArguments(cursor, &request);
  return request;
}

}  // namespace

void RequestReader::Add(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }

void RequestReader::Consume(size_t bytes) {
  begin_ += bytes;
  needed_ = 1;
  // Moves the rest forward only now and then, so that many small requests do not move it often.
  if (begin_ < buffer_.size() / 2) return;
  buffer_.erase(0, begin_);
  begin_ = 0;
}

absl::StatusOr<bool> RequestReader::Greet() {
  if (dialect_ != Dialect::kUnknown) return true;
  if (buffered() == 0) return false;
  if (buffer_[begin_] != static_cast<char>(Op::kValidate)) {
    dialect_ = Dialect::kOld;
    return true;
  }
  if (buffered() < kGreetingBytes) return false;
  // An old client's first request may have the code 0, too. Its next bytes are then the length of a
  // key, and no key is as long as the magic number.
  Cursor cursor(absl::string_view(buffer_).substr(begin_ + 1, sizeof(kMagic)), true);
  const uint64_t word = cursor.Integer(sizeof(kMagic));
  dialect_ = word == kMagic ? Dialect::kCurrent : Dialect::kOld;
  if (word == kMagic) {
    Consume(kGreetingBytes);
  } else if (word > kMaxKeyBytes) {
    return absl::InvalidArgumentError("it did not begin as a client of TCPStore does");
  }
  return true;
}

absl::StatusOr<std::optional<Request>> RequestReader::Next() {
  const absl::StatusOr<bool> greeted = Greet();
  if (!greeted.ok()) return greeted.status();
  if (!*greeted || buffered() < needed_) return std::nullopt;
  const absl::string_view bytes = absl::string_view(buffer_).substr(begin_);
  const bool old_codes = dialect_ == Dialect::kOld;
  Cursor end(bytes, /*measures=*/true);
  ReadRequest(old_codes, &end);
  if (!end.status().ok()) return end.status();
  if (!end.complete()) {
    needed_ = end.needed();
    return std::nullopt;
  }
  Cursor cursor(bytes, /*measures=*/false);
  Request request = ReadRequest(old_codes, &cursor);
  Consume(cursor.position());
  return request;
}

void AppendByte(uint8_t byte, std::string* out) { out->push_back(static_cast<char>(byte)); }

void AppendU32(uint32_t number, std::string* out) {
  for (size_t i = 0; i < sizeof(number); ++i) AppendByte(number >> (8 * i) & 0xFF, out);
}

void AppendI64(int64_t number, std::string* out) {
  const auto bits = static_cast<uint64_t>(number);
  for (size_t i = 0; i < sizeof(bits); ++i) AppendByte(bits >> (8 * i) & 0xFF, out);
}

void AppendBlob(absl::string_view blob, std::string* out) {
  AppendI64(static_cast<int64_t>(blob.size()), out);
  out->append(blob.data(), blob.size());
}

}  // namespace muster::launcher::torch
