#ifndef MUSTER_TESTS_SERVER_CORE_LEASES_NAIVE_LEASES_H_
#define MUSTER_TESTS_SERVER_CORE_LEASES_NAIVE_LEASES_H_

#include <optional>
#include <string>
#include <vector>

#include "server/core/leases/lease_table.h"

namespace muster::core {

// Returns the answers and the state of a LeaseTable as texts that compare with NaiveLeases' own.
std::vector<std::string> TextsOf(const LeaseTable::Step& step);
std::string StateOf(const LeaseTable& table);

// A model of LeaseTable, written from its header, that searches lists: no index, nothing
// incremental. The names are those of the job's leases. Answers and state are texts.
class NaiveLeases {
 public:
  NaiveLeases(const Limits& limits, ByteBudget* budget) : limits_(limits), budget_(budget) {}

  using Answers = std::vector<std::string>;  // "waiter: outcome"

  Answers Acquire(const std::string& name, const LeaseTable::Request& request, uint64_t attempt,
                  WaiterId waiter);
  Answers GrantAll();
  Answers Complete(const std::string& name, const Incarnation& member, uint64_t token,
                   const std::string& value, std::string* outcome);
  Answers Abandon(const std::string& name, const LeaseTable::Request& request);
  void Withdraw(const std::string& name, const LeaseTable::Request& request);
  bool AdoptHolder(const std::string& name, const LeaseTable::Request& request, uint64_t token);
  Answers AdoptResult(const std::string& name, const Incarnation& claimant, uint64_t token,
                      const std::string& value, std::string* outcome);
  void KeepOnly(const Incarnation& member, const std::vector<uint64_t>& tokens);
  void Forget(const Incarnation& member);

  // Returns one line for each lease, by name.
  std::string State() const;

 private:
  struct Lease {
    std::string name;
    std::optional<LeaseTable::Request> holder;
    uint64_t token = 0;  // the token of the holder or of the result
    std::optional<std::string> result;
    Incarnation publisher;
    int64_t used = 0;
    std::vector<LeaseTable::Waiting> queue;
  };

  Lease* Find(const std::string& name);
  Lease* FindOrAdd(const std::string& name);
  void Sweep();  // removes leases without content
  uint32_t CountOf(const Incarnation& member) const;
  uint64_t ResultBytes() const;
  Lease* FirstToGo(bool by_bytes);
  bool MakeRoomForName(const std::string& name);
  bool MakeRoomForBytes(uint64_t bytes);
  void ForgetResult(Lease* lease);
  Answers Publish(Lease* lease, uint64_t token, const std::string& value);

  const Limits limits_;
  ByteBudget* const budget_;
  std::vector<Lease> leases_;
  std::vector<LeaseTable::Request> abandoned_;
  std::vector<uint64_t> forgotten_;
  uint64_t highest_token_ = 0;
  int64_t newest_ = 0;
  int64_t oldest_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_LEASES_NAIVE_LEASES_H_
