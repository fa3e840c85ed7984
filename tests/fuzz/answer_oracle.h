#ifndef MUSTER_TESTS_FUZZ_ANSWER_ORACLE_H_
#define MUSTER_TESTS_FUZZ_ANSWER_ORACLE_H_

#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "server/core/api/effects.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/promises/promises.h"

namespace muster::fuzz {

// The calls that wait for an answer. Checks that each gets exactly one.
class AnswerOracle {
 public:
  // `on_answer` is called with the answer, unless it is an error.
  void Add(core::WaiterId id, std::function<void(const core::Answer&)> on_answer) {
    calls_[id] = std::move(on_answer);
  }

  void Take(const core::Reply& reply) {
    const auto call = calls_.find(reply.waiter);
    Check(call != calls_.end(), "a call is answered once, and only while it waits");
    if (reply.status.ok()) {
      call->second(reply.answer);
    } else {
      CheckError(reply.status);
    }
    calls_.erase(call);
  }

  // Forgets one of the calls, if there are any, because its caller gives up. Returns its id.
  std::optional<core::WaiterId> RemoveRandomCall(ByteSource* bytes) {
    if (calls_.empty()) return std::nullopt;
    const auto call = std::next(calls_.begin(), bytes->Byte() % calls_.size());
    const core::WaiterId id = call->first;
    calls_.erase(call);
    return id;
  }

  bool empty() const { return calls_.empty(); }
  void clear() { calls_.clear(); }

 private:
  std::map<core::WaiterId, std::function<void(const core::Answer&)>> calls_;
};

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_ANSWER_ORACLE_H_
