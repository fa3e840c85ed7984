#include "tests/client/errors/command_errors.h"
#include "tests/client/errors/first_errors.h"

// The errors of commands and of the environment. See first_errors.h.
namespace muster::testing {

std::vector<FirstError> ErrorsOfMuster() {
  return {
      {"muster without a command", [] { return MusterSays({}); },
       "muster: no command given; expected run, status, debug, health, replay, token, completion, "
       "help or version\n"
       "Try 'muster --help'."},
      {"a command that does not exist", [] { return MusterSays({"rnu"}); },
       "muster: unknown command: rnu; did you mean run?\n"
       "Try 'muster --help'."},
      {"a misspelt flag",
       [] {
         return MusterSays({"run", "--nproc-per-nod=2", "./train"});
       },
       "muster: unknown flag: --nproc-per-nod=2; did you mean --nproc-per-node?\n"
       "Try 'muster run --help'."},
      {"a flag of torchrun",
       [] {
         return MusterSays({"run", "--rdzv-endpoint=head:29400", "./train"});
       },
       "muster: unknown flag: --rdzv-endpoint=head:29400; did you mean --coordinator HOST:PORT, "
       "where musterd listens?\n"
       "Try 'muster run --help'."},
      {"muster run without a program",
       [] { return RunFlagsSay([](auto* f) { f->program.clear(); }); },
       "no program given; put it after --: muster run [flags] -- program [arguments]"},
      {"a flag after the program",
       [] {
         return MusterSays({"run", "./train", "--nproc-per-node=2"});
       },
       "muster: --nproc-per-node follows the program './train'; if it is a flag of muster run, put "
       "it before the program; if it is the program's own, put -- before the program\n"
       "Try 'muster run --help'."},
      {"an unclear program",
       [] {
         return MusterSays({"run", "./train", "--", "--epochs=3"});
       },
       "muster: it is unclear whether the program is './train' or what follows --; put the flags "
       "first, then -- and the program\n"
       "Try 'muster run --help'."},
      {"no ranks", [] { return RunFlagsSay([](auto* f) { f->nproc_per_node = "0"; }); },
       "--nproc-per-node is '0'; expected a whole number from 1 to 4096, gpu, cpu or auto"},
      {"a rank for each GPU, without a GPU",
       [] { return RunFlagsSay([](auto* f) { f->nproc_per_node = "gpu"; }); },
       "--nproc-per-node is 'gpu', and this machine has no visible GPU; check nvidia-smi and "
       "CUDA_VISIBLE_DEVICES, or give a number"},
      {"several nodes without a coordinator",
       [] { return RunFlagsSay([](auto* f) { f->nnodes = "2"; }); },
       "--nnodes is 2, which needs --coordinator: start one musterd for the job and give its "
       "address on every node"},
      {"several nodes without a node rank",
       [] {
         return RunFlagsSay([](auto* f) {
           f->nnodes = "2";
           f->coordinator = "head:7370";
         });
       },
       "--nnodes is 2, which needs --node-rank: 0 to 1, different on each node"},
      {"torchrun's range of nodes", [] { return RunFlagsSay([](auto* f) { f->nnodes = "1:4"; }); },
       "--nnodes is '1:4'; expected one number, the nodes that are started. Give the range of an "
       "elastic job to musterd (on one node, to muster run) as --min-world-size and "
       "--max-world-size"},
      {"a coordinator without a port",
       [] { return RunFlagsSay([](auto* f) { f->coordinator = "head"; }); },
       "--coordinator: 'head' is not a valid address: it has no port; expected host:port or "
       "[ipv6]:port"},
      {"a token for muster run's own coordinator",
       [] { return RunFlagsSay([](auto* f) { f->credentials.token_file = "token"; }); },
       "--token-file needs --coordinator: the coordinator that muster run starts has a token of "
       "its own, which its ranks get without a flag"},
      {"a duration without a unit", [] { return RunFlagsSay([](auto* f) { f->grace = "5"; }); },
       "--grace is '5'; expected a duration such as 5s, 500ms or 1m30s"},
      {"a program that does not exist",
       [] {
         return MusterSays({"run", "trian"});
       },
       "muster: cannot execute trian: not found in PATH; give its path, or add its folder to PATH"},
      {"a program that is not executable",
       [] {
         return MusterSays({"run", "/etc/passwd"});
       },
       "muster: cannot execute /etc/passwd: Permission denied"},
      {"muster status without a coordinator", [] { return MusterSays({"status"}); },
       "muster: no coordinator runs on this machine for this user; muster run starts one, and "
       "HOST:PORT or MUSTER_COORDINATOR names one elsewhere"},
      {"muster status of a coordinator that is gone",
       [] {
         return MusterSays({"status", "127.0.0.1:9"});
       },
       "muster: no status from the coordinator at 127.0.0.1:9: GRPC; check that musterd is running "
       "there and reachable"},
  };
}

std::vector<FirstError> ErrorsOfMusterd() {
  return {
      {"a misspelt flag of musterd", [] { return MusterdFlagsSay({"--portfile=port"}); },
       "musterd: unknown flag or argument: --portfile=port; did you mean --port-file?\n"
       "Run 'musterd --help' for the flags."},
      {"a grace without a unit", [] { return MusterdFlagsSay({"--member-grace=5"}); },
       "musterd: --member-grace (MUSTER_MEMBER_GRACE): \"5\" is not a duration; expected numbers "
       "with units (ms, s, m, h), such as 500ms, 2s or 1m30s\n"
       "Run 'musterd --help' for the flags."},
      {"a size in decimal units", [] { return MusterdFlagsSay({"--max-payload-bytes=64MB"}); },
       "musterd: --max-payload-bytes (MUSTER_MAX_PAYLOAD_BYTES): \"64MB\" is not a size; expected "
       "bytes (1048576), or a number with KiB, MiB or GiB\n"
       "Run 'musterd --help' for the flags."},
      {"a world size that is no number", [] { return MusterdFlagsSay({"--world-size=all"}); },
       "musterd: --world-size (MUSTER_WORLD_SIZE): \"all\" is not a whole number from 0 to "
       "4294967295\n"
       "Run 'musterd --help' for the flags."},
      {"a port in use", [] { return ServingAtATakenPortSays(); },
       "cannot listen on 127.0.0.1:PORT: another process uses this port, or another flag of this "
       "one does. Stop that process, or choose another port with --listen (port 0 picks a free "
       "one)"},
      {"an address of another machine",
       [] {
         return ServingSays({"--listen=192.0.2.1:7370", "--insecure"});
       },
       "cannot listen on 192.0.2.1:7370: no interface of this machine has this address. Choose one "
       "that `ip address` shows, with --listen"},
      {"an address without a port", [] { return ServingSays({"--listen=0.0.0.0"}); },
       "listen address: '0.0.0.0' is not a valid address: it has no port; expected host:port or "
       "[ipv6]:port, such as 127.0.0.1:PORT, [::1]:7370 or 0.0.0.0:0"},
      {"other machines without credentials", [] { return ServingSays({"--listen=0.0.0.0:0"}); },
       "refusing to listen on 0.0.0.0:0: other machines could reach it, and anybody there could "
       "join the job or stop it. Give it credentials: --token-file with a token that every rank "
       "gets too (umask 077; muster token > FILE), or --tls-cert, --tls-key and --tls-client-ca "
       "for mutual TLS. Or listen on a loopback address (127.0.0.1, [::1] or localhost); or, on a "
       "network where every peer is trusted, add --insecure"},
      {"a token file that does not exist",
       [] { return ServingSays({"--token-file=/no/such/token"}); },
       "cannot read the token file '/no/such/token': No such file or directory"},
      {"a token that can be guessed", [] { return ServingWithATokenFileSays("secret"); },
       "the token file 'DIR/token' cannot be used: its token has 6 characters and could be "
       "guessed; expected at least 22; make one with: (umask 077; muster token > FILE)"},
      {"a certificate without its key", [] { return ServingSays({"--tls-cert=cert.pem"}); },
       "a TLS certificate needs its key, and a key its certificate; only 'cert.pem' was given"},
      {"a job that starts below its minimum",
       [] {
         return ServingSays({"--min-world-size=4", "--world-size=2"});
       },
       "--min-world-size 4 is over the 2 members of the job"},
  };
}

std::vector<FirstError> ErrorsOfVariables() {
  return {
      {"an unknown variable", [] { return WarningAbout("MUSTER_COORDINATR=head:7370"); },
       "the variable MUSTER_COORDINATR means nothing to Muster; did you mean MUSTER_COORDINATOR?"},
      {"a rank that is no number",
       [] {
         return VariablesSay({{"MUSTER_COORDINATOR", "head:7370"}, {"MUSTER_RANK", "first"}});
       },
       "MUSTER_RANK is 'first'; expected a rank of at least 0"},
      {"a rank that is not below the world size",
       [] {
         return VariablesSay({{"MUSTER_COORDINATOR", "head:7370"},
                              {"MUSTER_RANK", "4"},
                              {"MUSTER_WORLD_SIZE", "4"}});
       },
       "MUSTER_RANK is 4 but MUSTER_WORLD_SIZE is 4; expected a rank below the world size"},
      {"several ranks without a coordinator",
       [] {
         return VariablesSay({{"MUSTER_WORLD_SIZE", "4"}});
       },
       "MUSTER_WORLD_SIZE says that the job has 4 processes, but MUSTER_COORDINATOR is not set, "
       "and without a coordinator each would run alone; set it to host:port of musterd, or use "
       "muster run"},
      {"a coordinator without a port in the environment",
       [] {
         return VariablesSay({{"MUSTER_COORDINATOR", "head"}});
       },
       "JobOptions::coordinator (MUSTER_COORDINATOR): 'head' is not a valid address: it has no "
       "port; expected host:port or [ipv6]:port"},
      {"an empty variable",
       [] {
         return VariablesSay({{"MUSTER_COORDINATOR", ""}});
       },
       "MUSTER_COORDINATOR is set but empty; expected host:port or [ipv6]:port, or unset it"},
      {"a time-out without a unit",
       [] {
         return VariablesSay({{"MUSTER_TIMEOUT", "90"}});
       },
       "MUSTER_TIMEOUT is '90'; expected a positive, finite duration such as 90s or 30m"},
      {"launchers that contradict each other",
       [] {
         return VariablesSay({{"MUSTER_COORDINATOR", "head:7370"},
                              {"MUSTER_RANK", "1"},
                              {"RANK", "2"},
                              {"WORLD_SIZE", "4"}});
       },
       "MUSTER_RANK is 1 but RANK is 2; both say where this process stands in its job: unset the "
       "one that is wrong"},
      {"a certificate without its key in the environment",
       [] {
         return VariablesSay({{"MUSTER_TLS_CERT", "cert.pem"}});
       },
       "JobOptions: tls_cert (MUSTER_TLS_CERT) and tls_key (MUSTER_TLS_KEY) belong together, and "
       "only one of them is given; give both"},
  };
}

}  // namespace muster::testing
