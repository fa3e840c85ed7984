// Sends random and spoilt requests to the launcher's store of PyTorch programs, without a fuzzer,
// so that every build can.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "client/launcher/torch/wire.h"
#include "gtest/gtest.h"
#include "tests/client/launcher/torch/torch_clients.h"
#include "tests/fuzz/fuzzed_torch_clients.h"

namespace muster::fuzz {
namespace {

using launcher::torch::Blob;
using launcher::torch::Code;
using launcher::torch::Hello;
using launcher::torch::I64;
using launcher::torch::Keys;
using launcher::torch::Op;

#ifdef __SANITIZE_ADDRESS__
constexpr int kInputs = 2000;
#else
constexpr int kInputs = 20000;
#endif

// Returns a valid request over few keys.
std::string RandomRequest(std::mt19937* random) {
  const auto op = static_cast<Op>((*random)() % 18 + 1);
  const std::string key(1, static_cast<char>('a' + (*random)() % 3));
  const std::string value(1, static_cast<char>('0' + (*random)() % 3));
  switch (op) {
    case Op::kCompareSet:
      return Code(op) + Blob(key) + Blob(value) + Blob("1");
    case Op::kSet:
    case Op::kAppend:
    case Op::kQueuePush:
      return Code(op) + Blob(key) + Blob(value);
    case Op::kAdd:
    case Op::kBarrier:
      return Code(op) + Blob(key) + I64((*random)() % 3);
    case Op::kCheck:
    case Op::kWait:
    case Op::kMultiGet:
      return Code(op) + ((*random)() % 2 == 0 ? Keys({key}) : Keys({"a", key}));
    case Op::kMultiSet:
      return Code(op) + I64(1) + Blob(key) + Blob(value);
    case Op::kPing:
      return Code(op) + "ping";
    case Op::kGetNumKeys:
    case Op::kCancelWait:
    case Op::kListKeys:
      return Code(op);
    default:
      return Code(op) + Blob(key);
  }
}

// Returns an input in which three clients, which have greeted, send whole requests.
std::string RandomInput(std::mt19937* random) {
  std::string input;
  for (int i = 0; i < 12; ++i) {
    const std::string request = RandomRequest(random);
    input += static_cast<char>((*random)() % 3);  // the client
    input += static_cast<char>((*random)() % 4);  // whether answers are held
    input += '\1';                                // greets
    input += static_cast<char>(request.size());   // at most 63 bytes
    input += request;
  }
  return input;
}

void RunInput(const std::string& input) {
  RunFuzzedTorchClients(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

TEST(TorchFuzzTest, WholeRequestsBreakNoPromise) {
  std::mt19937 random(1);
  for (int i = 0; i < kInputs; ++i) RunInput(RandomInput(&random));
}

TEST(TorchFuzzTest, SpoiltRequestsBreakNoPromise) {
  std::mt19937 random(2);
  for (int i = 0; i < kInputs; ++i) {
    std::string input = Hello() + RandomInput(&random);
    for (int byte = 0; byte < 3; ++byte) input[random() % input.size()] = random() % 256;
    RunInput(input.substr(0, random() % input.size() + 1));
  }
}

}  // namespace
}  // namespace muster::fuzz
