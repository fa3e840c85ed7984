#ifndef MUSTER_TESTS_SERVER_CORE_NODE_COLLECTIVES_H_
#define MUSTER_TESTS_SERVER_CORE_NODE_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {

// A job with some ranks on node "a" and the following ones on node "b".
class NodeCollectivesTest : public ::testing::Test {
 protected:
  explicit NodeCollectivesTest(uint32_t on_a = 2, uint32_t on_b = 1)
      : NodeCollectivesTest(Harness::DefaultOptions(on_a + on_b), on_a) {}
  NodeCollectivesTest(const core::Options& options, uint32_t on_a) : h(options) {
    std::vector<WaiterId> joins;
    for (uint32_t i = 0; i < options.world_size; ++i) {
      p.push_back(h.Attached(i < on_a ? "a" : "b"));
      p.back().rank = i;
    }
    for (Process& process : p) joins.push_back(h.Join(process));
    for (size_t i = 0; i < p.size(); ++i) h.TakePlace(p[i], joins[i]);
  }

  // Returns the next call of each of these ranks.
  std::vector<CollectiveRequest> Calls(const std::vector<uint32_t>& ranks,
                                       CollectiveKind kind = CollectiveKind::kBarrier) {
    std::vector<CollectiveRequest> calls;
    for (uint32_t rank : ranks) {
      const bool brings = kind != CollectiveKind::kBarrier;
      calls.push_back(h.Request(p[rank], kind, brings ? absl::StrCat("of ", rank) : ""));
    }
    return calls;
  }
  NodeCollectiveRequest Batch(const std::vector<uint32_t>& ranks,
                              CollectiveKind kind = CollectiveKind::kBarrier) {
    return Harness::Together(Calls(ranks, kind));
  }
  WaiterId Together(const std::vector<uint32_t>& ranks,
                    CollectiveKind kind = CollectiveKind::kBarrier) {
    return h.Send(Batch(ranks, kind));
  }
  // Sends, as the rank's own call, the call that it has made together with others.
  WaiterId Alone(uint32_t rank, CollectiveKind kind = CollectiveKind::kBarrier) {
    --p[rank].next[""];
    return h.Send(Calls({rank}, kind).front());
  }
  bool IsResent(WaiterId id) {
    return !h.Parked(id) && h.StatusOf(id).ok() && h.CompletedOf(id).empty();
  }
  std::vector<uint32_t> Missing() {
    const JobStatus status = h.coordinator().GetStatus(h.now());
    return status.pending.empty() ? std::vector<uint32_t>{99} : status.pending[0].missing;
  }
  std::vector<uint32_t> Arrived() {
    const JobStatus status = h.coordinator().GetStatus(h.now());
    return status.pending.empty() ? std::vector<uint32_t>() : status.pending[0].arrived;
  }
  std::string Log() {
    std::string text;
    for (const LogLine& line : h.log()) absl::StrAppend(&text, line.text, "\n");
    return text;
  }

  Harness h;
  std::vector<Process> p;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_NODE_COLLECTIVES_H_
