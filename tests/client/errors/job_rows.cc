#include <optional>
#include <stdexcept>

#include "tests/client/errors/call_errors.h"
#include "tests/client/errors/first_errors.h"
#include "tests/client/errors/join_errors.h"

// The errors of joining and of the calls of a job. See first_errors.h.
namespace muster::testing {
namespace {

const CallOptions kSoon = {absl::Milliseconds(200)};

absl::Status GatherTooMuch(Job& job) {
  return job.AllGather(std::string(900 - 10 * job.rank(), 'x')).status();
}
absl::Status ThrowOnRank1(Job& job) {
  return job.RunOnRank(1, [] { throw std::runtime_error("disk full"); });
}
absl::Status MakeCommunicator(Job& job) { return Communicator::Create(job).status(); }

}  // namespace

std::vector<FirstError> ErrorsOfJoin() {
  return {
      {"no coordinator", [] { return JoiningNobodySays(); },
       "joining job 'default': timed out after 3s while connecting to the coordinator at "
       "127.0.0.1:PORT (GRPC); check that musterd runs there, and that both sides use TLS or "
       "neither (MUSTER_TLS_CA)"},
      {"another job's coordinator", [] { return JoiningAnotherJobSays(); },
       "registering with 127.0.0.1:PORT: job 'training': this coordinator serves job 'training', "
       "not 'evaluation'; check MUSTER_JOB and MUSTER_COORDINATOR of the caller"},
      {"no token", [] { return JoiningWithTokenSays(std::nullopt); },
       "registering with 127.0.0.1:PORT: the coordinator at 127.0.0.1:PORT has refused this "
       "process, which sent no token: no token came with the call, and this coordinator asks for "
       "one: give the caller a copy of its token file (MUSTER_TOKEN_FILE, JobOptions::token_file "
       "or --token-file)"},
      {"a wrong token", [] { return JoiningWithTokenSays(std::string(43, 'x')); },
       "registering with 127.0.0.1:PORT: the coordinator at 127.0.0.1:PORT has refused this "
       "process, which sent the token in 'DIR/file': the token that came with the call is not, or "
       "no longer, this coordinator's: give the caller a copy of its token file as it is now "
       "(MUSTER_TOKEN_FILE, JobOptions::token_file or --token-file)"},
      {"TLS, but the coordinator has none",
       [] { return JoiningWithTlsSays(/*coordinator_has_tls=*/false); },
       "joining job 'default': timed out after 3s while connecting to the coordinator at "
       "127.0.0.1:PORT (GRPC); check that musterd runs there, and that both sides use TLS or "
       "neither (MUSTER_TLS_CA)"},
      {"a certificate of another authority",
       [] { return JoiningWithTlsSays(/*coordinator_has_tls=*/true); },
       "joining job 'default': timed out after 3s while connecting to the coordinator at "
       "127.0.0.1:PORT (GRPC); check that musterd runs there, and that both sides use TLS or "
       "neither (MUSTER_TLS_CA)"},
      {"no TLS, but the coordinator has it", [] { return JoiningWithoutTlsSays(); },
       "joining job 'default': timed out after 3s while connecting to the coordinator at "
       "127.0.0.1:PORT (GRPC); check that musterd runs there, and that both sides use TLS or "
       "neither (MUSTER_TLS_CA)"},
      {"a second Join in one process", [] { return JoiningTwiceSays(); },
       "this process has already joined job 'default', as rank 0; use the Job that it has"},
      {"another version of the protocol", [] { return AttachingWithANewerProtocolSays(); },
       "job 'train': the versions do not match: SDK 9.0.0 speaks protocol 9, musterd 1.2.3 speaks "
       "protocol 1; install releases that speak the same protocol version"},
      {"a wrong world size",
       [] {
         return JoiningSays(4, std::nullopt, {2, std::nullopt});
       },
       "job 'train': world sizes disagree: process (node 'n1', host HOST, pid PID) expects 2 "
       "members, musterd --world-size says 4; give all of them one world size (MUSTER_WORLD_SIZE, "
       "musterd --world-size)"},
      {"two world sizes",
       [] {
         return JoiningSays(0, Wish{4, std::nullopt}, {8, std::nullopt});
       },
       "job 'train': world sizes disagree: process (node 'n1', host HOST, pid PID) expects 8 "
       "members, process (node 'n0', host HOST, pid PID) says 4; give all of them one world size "
       "(MUSTER_WORLD_SIZE, musterd --world-size)"},
      {"a rank out of range",
       [] {
         return JoiningSays(4, std::nullopt, {0, 4});
       },
       "job 'train': rank 4 is out of range: the job has 4 members, so it must be below that"},
      {"two processes that ask for one rank",
       [] {
         return JoiningSays(2, Wish{0, 1}, {0, 1});
       },
       "job 'train': rank 1 is asked for twice: process (node 'n0', host HOST, pid PID) holds it, "
       "and process (node 'n1', host HOST, pid PID) asks for it; give each process a rank of its "
       "own, or stop the other one first"},
      {"a rank for one process and none for the other",
       [] {
         return JoiningSays(2, Wish{0, 1}, {});
       },
       "job 'train': either every member asks for a rank or none does: process (node 'n1', host "
       "HOST, pid PID) asks for none, process (node 'n0', host HOST, pid PID) asks for rank 1; set "
       "MUSTER_RANK for all processes or for none"},
      {"missing ranks at the deadline", [] { return MissingRanksSay(); },
       "job 'train': waited 60s for members: 1 of 3 have joined; missing: ranks 0,2; present: "
       "process (node 'n1', host HOST, pid PID); check that every process was started and reaches "
       "this coordinator"},
      {"an unknown world size at the deadline", [] { return MissingWorldSizeSays(); },
       "job 'train': waited 60s for members: 1 of an unknown number have joined; present: process "
       "(node 'n1', host HOST, pid PID); no process and no flag has given the world size: set "
       "MUSTER_WORLD_SIZE or musterd --world-size"},
      {"a full job", [] { return JoiningAFullJobSays(); },
       "job 'train': the job is full: all of its 2 members have joined; another run needs a "
       "musterd of its own"},
      {"a finished job", [] { return JoiningAFinishedJobSays(); },
       "job 'train': the job is finished: its members have left; another run needs a musterd of "
       "its own"},
      {"a failed job", [] { return JoiningAFailedJobSays(); },
       "job 'train': the job has failed: rank 1 (node 'n0', host HOST, pid PID) was lost at TIME: "
       "killed by signal 9 (SIGKILL); no call so far"},
  };
}

std::vector<FirstError> ErrorsOfCollectives() {
  return {
      {"a rank that does not come to a barrier",
       [] { return RankSays([](Job& job) { return job.Barrier("save", kSoon); }); },
       "job 'default': Barrier('save') op 0 of the world waited TIME; missing 1 of 2: rank 1 (node "
       "'n1', host HOST, pid PID), no call so far"},
      {"another label",
       [] {
         return PairSays([](Job& job) { return job.Barrier("save"); },
                         [](Job& job) { return job.Barrier("load"); });
       },
       "job 'default': ranks disagree on op 0 of the world: rank 0 called Barrier('save') at "
       "FILE:N, rank 1 called Barrier('load') at FILE:N; all ranks must call the same collectives "
       "in the same order"},
      {"another operation",
       [] {
         return PairSays([](Job& job) { return job.Barrier(); },
                         [](Job& job) { return job.AllGather(1).status(); });
       },
       "job 'default': ranks disagree on op 0 of the world: rank 0 called Barrier() at FILE:N, "
       "rank 1 called AllGather(int32) at FILE:N; all ranks must call the same collectives in the "
       "same order"},
      {"another type",
       [] {
         return PairSays([](Job& job) { return job.AllReduce(1).status(); },
                         [](Job& job) { return job.AllReduce(1.0).status(); });
       },
       "job 'default': ranks disagree on op 0 of the world: rank 0 called AllReduce(sum of int32, "
       "4 bytes) at FILE:N, rank 1 called AllReduce(sum of float64, 8 bytes) at FILE:N; all ranks "
       "must call the same collectives in the same order"},
      {"another size",
       [] {
         return PairSays([](Job& job) { return job.AllReduce(std::vector<int>(2)).status(); },
                         [](Job& job) { return job.AllReduce(std::vector<int>(3)).status(); });
       },
       "job 'default': ranks disagree on op 0 of the world: rank 0 called AllReduce(sum of int32, "
       "8 bytes) at FILE:N, rank 1 called AllReduce(sum of int32, 12 bytes) at FILE:N; all ranks "
       "must call the same collectives in the same order"},
      {"another reduction",
       [] {
         return PairSays([](Job& job) { return job.AllReduce(1, ReduceOp::kSum).status(); },
                         [](Job& job) { return job.AllReduce(1, ReduceOp::kMax).status(); });
       },
       "job 'default': ranks disagree on op 0 of the world: rank 0 called AllReduce(sum of int32, "
       "4 bytes) at FILE:N, rank 1 called AllReduce(max of int32, 4 bytes) at FILE:N; all ranks "
       "must call the same collectives in the same order"},
      {"another root",
       [] {
         return PairSays([](Job& job) { return job.Broadcast(1, 0).status(); },
                         [](Job& job) { return job.Broadcast(1, 1).status(); });
       },
       "job 'default': ranks disagree on op 0 of the world: rank 0 called Broadcast(root 0, int32) "
       "at FILE:N, rank 1 called Broadcast(root 1, int32) at FILE:N; all ranks must call the same "
       "collectives in the same order"},
      {"a root out of range",
       [] { return RankSays([](Job& job) { return job.Broadcast(1, 2).status(); }); },
       "Broadcast(int32): root 2 is out of range: the world has 2 ranks, 0 to 1"},
      {"a payload that is too large",
       [] {
         return RankSays([](Job& job) { return job.Broadcast(std::string(2000, 'x')).status(); });
       },
       "the payload of rank 0 of job 'default' has 2008 bytes; the coordinator takes at most 1000 "
       "(musterd --max-payload-bytes); tensors go through a Communicator"},
      {"an answer that is too large", [] { return PairSays(GatherTooMuch, GatherTooMuch); },
       "job 'default': AllGather(string) op 0 of the world is refused for all its ranks: with the "
       "payloads of 2 ranks the answer has 1834 bytes already; the limit is 1500 (musterd "
       "--max-answer-bytes raises it, up to 2147483647). The largest payloads: rank 0 (908 bytes), "
       "rank 1 (898 bytes). Nothing was recorded: all ranks may call again, with smaller payloads"},
      {"a label of two lines",
       [] { return RankSays([](Job& job) { return job.Barrier("epoch\n1"); }); },
       "the label 'epoch\\n1' has a control character at position 5; expected printable text"},
      {"a negative time-out",
       [] { return RankSays([](Job& job) { return job.Barrier("", {absl::Seconds(-1)}); }); },
       "CallOptions::timeout is -1s; expected a finite duration of 0s or more: every call has a "
       "deadline"},
      {"a lost rank", [] { return ALossSays(); },
       "job 'default': rank 1 (node 'n1', host HOST, pid PID) was lost at TIME: its connection "
       "ended (process died, node down or network cut) and it did not come back within 100ms; no "
       "call so far"},
      {"a second thread in the same group", [] { return ASecondThreadSays(); },
       "Barrier('save') op 0 of the world is in progress in another thread, and Barrier('load') "
       "was called; a group does one collective at a time"},
      {"another call after a time-out",
       [] {
         return RankSays([](Job& job) {
           job.Barrier("save", kSoon).IgnoreError();
           return job.Barrier("load", kSoon);
         });
       },
       "Barrier('save') op 0 of the world was sent and has not completed, and Barrier('load') was "
       "called; repeat the first call until it completes, since other ranks may count on it"},
      {"a call after Leave()",
       [] {
         return AloneSays([](Job& job) {
           job.Leave().IgnoreError();
           return job.Barrier();
         });
       },
       "rank 0 has left job 'default': no calls are possible after Leave()"},
      {"Leave() while another rank stays",
       [] { return RankSays([](Job& job) { return job.Leave(kSoon); }); },
       "job 'default': Leave waited TIME; not leaving yet: rank 1 (node 'n1', host HOST, pid PID), "
       "no call so far; this process now counts as lost"},
      {"Rejoin() of a job that is not elastic",
       [] { return RankSays([](Job& job) { return job.Rejoin(kSoon); }); },
       "job 'default': the job is not elastic, so Rejoin() cannot follow a loss: start the job "
       "again, or make it elastic (musterd --min-world-size)"},
      {"a function that throws", [] { return PairSays(ThrowOnRank1, ThrowOnRank1); },
       "rank 1 (node 'n1', pid PID): the function threw: disk full"},
      {"work for a rank that does not exist",
       [] { return RankSays([](Job& job) { return job.RunOnRank(2, [] {}); }); },
       "RunOnRank(rank 2): root 2 is out of range: the world has 2 ranks, 0 to 1"},
      {"a call of an earlier session", [] { return AnOldSessionSays(); },
       "job 'train': session 1 is over: either its process has attached again and must use its "
       "newer session, or it was detached for longer than the grace of 2s and is lost. Start a "
       "lost process again"},
      {"a lost process that wakes up", [] { return ALostProcessSays(); },
       "job 'train': this process, rank 1 (node 'n0', host HOST, pid PID), was lost: its "
       "connection ended (process died, node down or network cut) and it did not come back within "
       "2s"},
  };
}

std::vector<FirstError> ErrorsOfObjects() {
  return {
      {"a group without its caller",
       [] { return RankSays([](Job& job) { return job.NewGroup("tp", {1}).status(); }); },
       "group 'tp' (ranks 1) does not include rank 0, which calls NewGroup(); only the members of "
       "a group create it"},
      {"a group with a rank that does not exist",
       [] { return RankSays([](Job& job) {
              return job.NewGroup("tp", {0, 2}).status();
            }); },
       "group 'tp' names rank 2, which is out of range: the job has 2 ranks, 0 to 1"},
      {"a group that names a rank twice",
       [] { return RankSays([](Job& job) {
              return job.NewGroup("tp", {0, 0}).status();
            }); },
       "group 'tp' names rank 0 twice"},
      {"two groups of one name",
       [] {
         return RankSays([](Job& job) {
           const auto first = job.NewGroup("tp", {0, 1});
           return job.NewGroup("tp", {1, 0}).status();
         });
       },
       "group 'tp' exists with ranks 0,1; ranks 1,0 are the same ranks in another order: groups of "
       "one name must be the same list or share no rank"},
      {"a lease that another rank holds", [] { return AHeldLeaseSays(); },
       "job 'default': lease 'unpack' of the job waited TIME; held by rank 0 (node 'n0', host "
       "HOST, pid PID) for TIME under token TOKEN; wait longer if the work takes that long, or "
       "find out what the holder is doing (muster debug)"},
      {"a lease whose work is done", [] { return ALeaseOfAnotherSays(); },
       "lease 'unpack' is not held by this process: another process has done the work, and this "
       "Lease has its result"},
      {"a lease that is completed twice",
       [] {
         return AloneSays([](Job& job) {
           absl::StatusOr<Lease> lease = job.AcquireLease("unpack", LeaseScope::kJob);
           lease->Complete("1").IgnoreError();
           return lease->Complete("2");
         });
       },
       "lease 'unpack' is not held by this process any more: it was completed, failed or released "
       "before"},
      {"a lease that fails with OK",
       [] {
         return AloneSays([](Job& job) {
           return job.AcquireLease("unpack", LeaseScope::kJob)->Fail(absl::OkStatus());
         });
       },
       "lease 'unpack': Fail() takes an error; use Complete()"},
      {"a lease that moved on", [] { return AnOldTokenSays(); },
       "job 'train': rank 0 (node 'n0', host HOST, pid PID): token TOKEN of lease 'unpack' of the "
       "job is not current; it is held under token TOKEN; discard what was done under that token, "
       "and acquire the lease again"},
      {"no data plane", [] { return PairSays(MakeCommunicator, MakeCommunicator); },
       "no communicator backend is linked; link //client:muster, or //client/gloo or //client/nccl "
       "beside //client:core"},
      {"tensors of different sizes",
       [] {
         return CommunicatorSays([](Communicator& c) {
           const std::vector<float> in(3);
           std::vector<float> out(2);
           return c.AllReduce(in, out);
         });
       },
       "AllReduce on rank 0 of 1: in has 3 elements and out has 2, expected the same number"},
      {"a communicator's root out of range",
       [] {
         return CommunicatorSays([](Communicator& c) {
           std::vector<float> data(1);
           return c.Broadcast(data, 1);
         });
       },
       "Broadcast on rank 0 of 1: root is 1, expected a rank from 0 to 0"},
      {"Start() inside Start()",
       [] {
         return CommunicatorSays([](Communicator& c) {
           return c
               .Start([](Communicator& own) {
                 return own.Start([](Communicator&) { return absl::OkStatus(); }).Wait();
               })
               .Wait();
         });
       },
       "Start on rank 0 of 1: called inside a function that Start() runs; call the operations "
       "there directly"},
      {"a callback that throws",
       [] {
         return CommunicatorSays([](Communicator& c) {
           return c
               .Start([](Communicator&) -> absl::Status { throw std::runtime_error("disk full"); })
               .Wait();
         });
       },
       "the function given to Start threw: disk full"},
  };
}

}  // namespace muster::testing
