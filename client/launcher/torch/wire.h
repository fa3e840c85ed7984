#ifndef MUSTER_CLIENT_LAUNCHER_TORCH_WIRE_H_
#define MUSTER_CLIENT_LAUNCHER_TORCH_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// The wire of TCPStore, the key-value store that PyTorch's processes share. PyTorch's source is its
// only specification: torch/csrc/distributed/c10d, TCPStoreLibUvBackend.cpp.
//
//   0x01 | u64 2 | "/a" | u64 1 | "x"     SET: no reply
//   0x03 | u64 2 | "/a"                   GET
//                                         u64 1 | "x"
//
// Integers are little-endian. A connection begins with VALIDATE and a magic number. In PyTorch 2.0
// and older it does not, and each code is lower by one.
namespace muster::launcher::torch {

// The kind of a request. The numbers are the codes of PyTorch 2.1 and newer; 13 and higher came
// later.
enum class Op : uint8_t {
  kValidate = 0,
  kSet = 1,
  kCompareSet = 2,
  kGet = 3,
  kAdd = 4,
  kCheck = 5,
  kWait = 6,
  kGetNumKeys = 7,
  kDeleteKey = 8,
  kAppend = 9,
  kMultiGet = 10,
  kMultiSet = 11,
  kCancelWait = 12,
  kPing = 13,
  kQueuePush = 14,
  kQueuePop = 15,
  kQueueLen = 16,
  kListKeys = 17,
  kBarrier = 18,
};

// The limits of PyTorch's own server.
inline constexpr uint64_t kMaxKeyBytes = 8 * 1024;
inline constexpr uint64_t kMaxValueBytes = 8 * 1024 * 1024;
inline constexpr uint64_t kMaxKeys = 128 * 1024;
// The limit of a request with several keys, which PyTorch's server does not have.
inline constexpr size_t kMaxRequestBytes = 64 * 1024 * 1024;

// A request of a client. Only the fields that its operation has are set.
struct Request {
  Op op = Op::kPing;
  std::vector<std::string> keys;
  // One for each key, of SET, APPEND, MULTI_SET and QUEUE_PUSH; the expected and the new value, of
  // COMPARE_SET.
  std::vector<std::string> values;
  int64_t number = 0;  // of ADD; the world size, of BARRIER; the nonce, of PING
};

// Cuts a connection's bytes into requests.
class RequestReader {
 public:
  // Adds bytes of the connection.
  void Add(absl::string_view bytes);
  // Returns the next request, or nullopt if its end has not arrived yet. INVALID_ARGUMENT: the
  // bytes are not TCPStore's, or beyond its limits. Then no other request follows.
  absl::StatusOr<std::optional<Request>> Next();
  // Returns whether the client is of PyTorch 2.0 or older. It gives up a wait without CANCEL_WAIT.
  bool is_old_client() const { return dialect_ == Dialect::kOld; }
  // Returns how many bytes have arrived that no request was made of.
  size_t buffered() const { return buffer_.size() - begin_; }

 private:
  // Which codes the client has, once its first bytes are known.
  enum class Dialect { kUnknown, kCurrent, kOld };

  // Reads the beginning of the connection. Returns whether it has arrived.
  absl::StatusOr<bool> Greet();
  void Consume(size_t bytes);

  Dialect dialect_ = Dialect::kUnknown;
  std::string buffer_;
  size_t begin_ = 0;   // of the next request in the buffer
  size_t needed_ = 1;  // that the next request has at least so many bytes is known
};

// The replies. A blob or string is its length as u64, and then its bytes.
enum class WaitReply : uint8_t { kStopWaiting = 0, kCancelled = 1 };
enum class CheckReply : uint8_t { kReady = 0, kNotReady = 1 };
void AppendByte(uint8_t byte, std::string* out);
void AppendU32(uint32_t number, std::string* out);
void AppendI64(int64_t number, std::string* out);
void AppendBlob(absl::string_view blob, std::string* out);

}  // namespace muster::launcher::torch

#endif  // MUSTER_CLIENT_LAUNCHER_TORCH_WIRE_H_
