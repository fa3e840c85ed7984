#include "tests/fuzz/fuzzed_torch_clients.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "client/launcher/torch/wire.h"
#include "tests/client/launcher/torch/torch_clients.h"
#include "tests/fuzz/byte_source.h"

namespace muster::fuzz {
namespace {

using launcher::torch::Clients;
using launcher::torch::Request;
using launcher::torch::RequestReader;

constexpr int kClients = 3;

void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

// Returns the requests of these bytes, and the error at their end, as text.
std::vector<std::string> ReadAll(const std::string& bytes, size_t piece) {
  RequestReader reader;
  std::vector<std::string> read;
  for (size_t begin = 0; begin < bytes.size(); begin += piece) {
    reader.Add(bytes.substr(begin, piece));
    for (;;) {
      const absl::StatusOr<std::optional<Request>> next = reader.Next();
      if (!next.ok()) {
        read.emplace_back(next.status().message());
        return read;
      }
      if (!next->has_value()) break;
      const Request& request = **next;
      std::string text(1, static_cast<char>(request.op));
      for (const std::string& key : request.keys) text += launcher::torch::Blob(key);
      for (const std::string& value : request.values) text += launcher::torch::Blob(value);
      read.push_back(text + launcher::torch::I64(request.number));
    }
  }
  return read;
}

}  // namespace

void RunFuzzedTorchClients(const uint8_t* data, size_t size) {
  const std::string whole(reinterpret_cast<const char*>(data), size);
  Require(ReadAll(whole, 1) == ReadAll(whole, whole.size() + 1),
          "a request does not depend on how its bytes arrive");
  ByteSource source(data, size);
  Clients clients(kClients);
  while (!source.empty()) {
    const int client = static_cast<int>(source.Below(kClients));
    if (source.OneIn(4)) {
      clients.HoldAnswers();
    } else {
      clients.ReleaseAnswers();
    }
    if (source.OneIn(2)) clients.Greet(client);
    if (clients.closed(client).empty()) clients.Send(client, source.Text(source.Byte() % 64));
    Require(clients.session(client).buffered() <= launcher::torch::kMaxRequestBytes + size,
            "a session keeps no more than one request's bytes");
  }
  clients.ReleaseAnswers();
  for (int client = 0; client < kClients; ++client) clients.Disconnect(client);
  for (int client = 0; client < kClients; ++client) {
    Require(clients.session(client).finished(),
            "when all clients are gone, no operation is in progress");
  }
}

}  // namespace muster::fuzz
