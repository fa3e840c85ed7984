#!/usr/bin/python3
"""A member of a Muster job in Python: joins, meets a barrier, reads the status, leaves.

Muster's protocol is plain gRPC, so any language that has gRPC can take part. This program generates
its stubs from the .proto at start-up, into a temporary directory. With a coordinator at 7370:

    musterd --world-size 2 &
    examples/python_client.py & examples/python_client.py

Needs protoc with its gRPC plugin for Python, python3-grpcio and python3-protobuf (tools/install-deps).
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import grpc

PROTO = "muster/v1/coordinator.proto"
PROTOCOL_VERSION = 1
# The delay of a call's own deadline after the daemon's, so that it passes only if the daemon is
# gone.
DEADLINE_SLACK_SECONDS = 5


def load_stubs(proto_root):
    """Generates and imports the messages and stubs. Returns the two modules."""
    plugin = shutil.which("grpc_python_plugin")
    if plugin is None or shutil.which("protoc") is None:
        sys.exit("python_client: needs protoc and grpc_python_plugin; tools/install-deps installs them")
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            ["protoc", f"-I{proto_root}", "-I/usr/include", f"--python_out={out}", f"--grpc_python_out={out}",
             f"--plugin=protoc-gen-grpc_python={plugin}", PROTO],
            check=True)
        sys.path.insert(0, out)
        from muster.v1 import coordinator_pb2, coordinator_pb2_grpc
        sys.path.remove(out)
    return coordinator_pb2, coordinator_pb2_grpc


class Member:
    """One process of the job."""

    def __init__(self, pb, stub, args):
        self.pb = pb
        self.stub = stub
        self.job = args.job
        self.timeout = args.timeout
        self.metadata = ()
        if args.token_file:
            token = pathlib.Path(args.token_file).read_text().strip()
            self.metadata = (("authorization", f"Bearer {token}"),)
        self.attempt = 0
        self.sequence = 0
        # Proves to the daemon that a caller is this process. Its hash names the process to others.
        self.secret = os.urandom(16)
        self.identity = pb.MemberIdentity(
            incarnation=hashlib.sha256(self.secret).digest()[:16],
            node_id=args.node_id,
            hostname=socket.gethostname(),
            pid=os.getpid())
        self.identity.start_time.GetCurrentTime()

    def next_attempt(self):
        self.attempt += 1
        return self.attempt

    def attach(self):
        """Opens a stream that shows the daemon that this process lives. It stays open for the process's lifetime."""
        self.events = self.stub.Attach(self.pb.AttachRequest(
            job_id=self.job, member=self.identity, protocol_version=PROTOCOL_VERSION,
            sdk_version="python example", attempt=self.next_attempt(), secret=self.secret), metadata=self.metadata)
        self.session = next(self.events).attached.session
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        """Reads the stream's later events, so that the loss of a member is known at once."""
        try:
            for event in self.events:
                if event.HasField("epoch_broken"):
                    print(f"the job is broken: {event.epoch_broken.reason}", file=sys.stderr)
        except grpc.RpcError:
            pass  # the stream ends with the daemon or the job; calls report the cause

    def context(self):
        context = self.pb.CallContext(job_id=self.job, session=self.session, attempt=self.next_attempt())
        context.wait_timeout.FromSeconds(self.timeout)
        return context

    def call(self, method, request):
        return method(request, timeout=self.timeout + DEADLINE_SLACK_SECONDS, metadata=self.metadata)

    def join(self, world_size):
        """Blocks until all members have joined."""
        joined = self.call(self.stub.Join, self.pb.JoinRequest(call=self.context(), world_size=world_size))
        self.epoch, self.rank, self.roster = joined.epoch, joined.rank, joined.roster

    def barrier(self, label):
        """Blocks until every rank has arrived. `sequence` numbers the collectives of the world."""
        context = self.pb.CollectiveContext(call=self.context(), epoch=self.epoch, group=self.pb.Group(),
                                            sequence=self.sequence, label=label)
        self.call(self.stub.Barrier, self.pb.BarrierRequest(context=context))
        self.sequence += 1

    def status(self):
        return self.call(self.stub.GetStatus, self.pb.GetStatusRequest(job_id=self.job))

    def leave(self):
        """Blocks until every member is leaving."""
        self.call(self.stub.Leave, self.pb.LeaveRequest(call=self.context(), epoch=self.epoch))


def print_status(pb, status):
    print(f"job '{status.job_id}': {name_of(pb.JobState, status.state)}, world size {status.world_size}")
    for member in status.members:
        rank = member.rank if member.HasField("rank") else "-"
        print(f"  rank {rank}: node {member.member.node_id}, process {member.member.pid},"
              f" {name_of(pb.MemberState, member.state)}, last in {member.last_collective or 'none'}")


def name_of(enum, value):
    """Returns 'running' for JOB_STATE_RUNNING."""
    return enum.Name(value).split("STATE_")[1].lower()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coordinator", default=os.environ.get("MUSTER_COORDINATOR", "127.0.0.1:7370"),
                        help="address of musterd (%(default)s)")
    parser.add_argument("--job", default=os.environ.get("MUSTER_JOB", "default"), help="the job's id (%(default)s)")
    parser.add_argument("--world-size", type=int, default=0, help="members of the job; default: as the daemon says")
    parser.add_argument("--node-id", default=os.environ.get("MUSTER_NODE_ID") or socket.gethostname(),
                        help="names the node that this process runs on (%(default)s)")
    parser.add_argument("--token-file", default=os.environ.get("MUSTER_TOKEN_FILE"),
                        help="file with the coordinator's token")
    parser.add_argument("--timeout", type=int, default=60, help="longest wait of a call, in seconds (%(default)s)")
    parser.add_argument("--proto-root", default=pathlib.Path(__file__).resolve().parent.parent / "proto",
                        help=f"directory that {PROTO} is in")
    args = parser.parse_args()
    if args.world_size < 0 or args.timeout <= 0:
        parser.error("--world-size must not be negative, and --timeout must be positive")
    return args


def main():
    args = parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)  # progress is seen at once through a pipe too
    pb, pb_grpc = load_stubs(args.proto_root)
    # Ignores a proxy of the environment, since the coordinator is in the cluster.
    with grpc.insecure_channel(args.coordinator, options=[
            ("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", -1)]) as channel:
        member = Member(pb, pb_grpc.CoordinatorServiceStub(channel), args)
        try:
            grpc.channel_ready_future(channel).result(args.timeout)
            member.attach()
            member.join(args.world_size)
            print(f"joined as rank {member.rank} of {len(member.roster)}")
            member.barrier("hello from Python")
            print("met the barrier")
            print_status(pb, member.status())
            member.leave()
            print("left")
        except grpc.FutureTimeoutError:
            sys.exit(f"python_client: no coordinator at {args.coordinator} after {args.timeout} s; is musterd running?")
        except grpc.RpcError as error:
            sys.exit(f"python_client: {error.code().name}: {error.details()}")


if __name__ == "__main__":
    main()
