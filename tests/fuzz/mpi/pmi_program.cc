#include "tests/fuzz/mpi/pmi_program.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/pmi/process_mapping.h"
#include "client/launcher/pmi/wire.h"
#include "tests/fuzz/mpi/promise.h"

namespace muster::fuzz {
namespace {

std::string KeyOf(int rank, int round) { return absl::StrCat("own-", rank, "-", round); }
// A key whose value the rank puts in each round.
std::string RepeatedKeyOf(int rank) { return absl::StrCat("own-", rank, "-again"); }

// Returns the value in the answer to a get.
std::string ValueIn(const std::string& line) {
  constexpr char kBegin[] = "cmd=get_result rc=0 msg=success value=";
  Require(absl::StartsWith(line, kBegin), "a get after a barrier finds what was put: " + line);
  return line.substr(sizeof(kBegin) - 1);
}

}  // namespace

// Some are empty, and some have as many bytes as a value may.
std::string PmiRecord::ValueOf(int rank, int round) {
  const unsigned seed = 7u * rank + 13u * round;
  const size_t length = seed % 5 == 0 ? launcher::pmi::kMaxValueLength - 1 : seed % 7 * 4;
  std::string value;
  for (size_t i = 0; i < length; ++i) {
    constexpr char kBytes[] = "a= #$\\\xff\t/;";
    const char byte = kBytes[(seed + i * (i + 3)) % (sizeof(kBytes) - 1)];
    if (byte == ' ' || byte == '\\') value += '\\';
    value += byte;
  }
  return value;
}

std::optional<std::string> PmiProgram::Next() {
  if (waits_ || done_) return std::nullopt;
  waits_ = true;
  switch (step_) {
    case Step::kInit:
      return "cmd=init pmi_version=1 pmi_subversion=1\n";
    case Step::kMaxes:
      return "cmd=get_maxes\n";
    case Step::kSize:
      return "cmd=get_universe_size\n";
    case Step::kName:
      return "cmd=get_my_kvsname\n";
    case Step::kMapping:
      return "cmd=get kvsname=k key=PMI_process_mapping\n";
    case Step::kPut:
      return absl::StrCat("cmd=put kvsname=k key=", KeyOf(rank_, round_),
                          " value=", PmiRecord::ValueOf(rank_, round_), "\n");
    case Step::kPutAgain:
      return absl::StrCat("cmd=put kvsname=k key=", RepeatedKeyOf(rank_),
                          " value=", PmiRecord::ValueOf(rank_, round_), "\n");
    case Step::kBarrier:
      return "cmd=barrier_in\n";
    case Step::kGet:
      return absl::StrCat("cmd=get kvsname=k key=", KeyOf(other(), round_), "\n");
    case Step::kGetAgain:
      return absl::StrCat("cmd=get kvsname=k key=", RepeatedKeyOf(other()), "\n");
    case Step::kGetMissing:
      return "cmd=get kvsname=k key=own-nobody\n";
    case Step::kFinalize:
      return "cmd=finalize\n";
  }
  return std::nullopt;
}

void PmiProgram::Receive(const std::string& line) {
  Require(waits_ && !done_, "an answer comes to a request, and only one: " + line);
  waits_ = false;
  const auto is = [&line](const std::string& expected) {
    Require(line == expected, absl::StrCat("the answer is '", expected, "', and not '", line, "'"));
  };
  const bool checks_values =
      !record_->spoilt && !record_->world->hostile_keys && record_->world->honest[other()];
  switch (step_) {
    case Step::kInit:
      is("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
      break;
    case Step::kMaxes:
      is("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
      break;
    case Step::kSize:
      is(absl::StrCat("cmd=universe_size size=", record_->world->size()));
      break;
    case Step::kName:
      Require(absl::StartsWith(line, "cmd=my_kvsname kvsname="), "the name of a world: " + line);
      record_->names[rank_] = line;
      break;
    case Step::kMapping:
      if (record_->spoilt) break;
      is("cmd=get_result rc=0 msg=success value=" +
         launcher::pmi::ProcessMapping(record_->world->sizes));
      break;
    case Step::kPut:
    case Step::kPutAgain:
      is("cmd=put_result rc=0 msg=success");
      break;
    case Step::kBarrier:
      is("cmd=barrier_out");
      CheckBarrier();
      break;
    case Step::kGet:
      if (!checks_values) break;
      Require(ValueIn(line) == PmiRecord::ValueOf(other(), round_),
              "a get after a barrier returns what was put before it");
      break;
    case Step::kGetAgain: {
      if (!checks_values) break;
      const std::string value = ValueIn(line);
      Require(value == PmiRecord::ValueOf(other(), round_) ||
                  value == PmiRecord::ValueOf(other(), round_ + 1),
              "a get after a barrier returns the latest that was put before it, or a later one");
      break;
    }
    case Step::kGetMissing:
      is("cmd=get_result rc=-1 msg=key_own-nobody_not_found value=unknown");
      break;
    case Step::kFinalize:
      is("cmd=finalize_ack");
      done_ = true;
      return;
  }
  step_ = After();
}

PmiProgram::Step PmiProgram::After() {
  switch (step_) {
    case Step::kBarrier:
      next_rank_ = 0;
      return Step::kGet;
    case Step::kGetAgain:
      if (++next_rank_ < record_->world->size()) return Step::kGet;
      next_rank_ = 0;
      return Step::kGetMissing;
    case Step::kGetMissing:
      return ++round_ > record_->rounds ? Step::kFinalize : Step::kPut;
    default:
      return static_cast<Step>(static_cast<int>(step_) + 1);
  }
}

void PmiProgram::CheckBarrier() const {
  if (record_->world->hostile_keys) return;
  for (int rank = 0; rank < record_->world->size(); ++rank) {
    Require(record_->entered[rank] >= round_, "a barrier ends when every rank has come");
    Require(!record_->world->honest[rank] || record_->names[rank] == record_->names[rank_],
            absl::StrCat("all ranks know the world by one name: ", record_->names[rank], " and ",
                         record_->names[rank_]));
  }
}

}  // namespace muster::fuzz
