#include "tests/nccl/real/kernels/transfer/ring.h"

#include <algorithm>
#include <cstring>

#include "tests/nccl/real/kernels/kernel_reduction.h"
#include "tests/nccl/real/kernels/transfer/pipe.h"

namespace cpu_nccl {
namespace {

// A ring as one rank sees it: position 0 is this rank, and position n - 1 the rank before it.
class Ring {
 public:
  explicit Ring(const Block& block)
      : size_(block.comm.nRanks),
        index_(block.channel.ring.index),
        ranks_(block.memory.Reach(block.channel.ring.userRanks, size_, "a ring's ranks")) {}

  int size() const { return size_; }
  int RankAt(int position) const { return ranks_[position]; }

  // Returns the index in the ring of the rank at a position from here.
  int IndexAt(int position) const { return (index_ + position) % size_; }

 private:
  const int size_;
  const int index_;
  const int* const ranks_;
};

// The part of a collective that belongs to one channel, in elements.
struct Part {
  ssize_t total = 0;  // of all channels
  ssize_t begin = 0;
  ssize_t count = 0;
  ssize_t chunk = 0;
};

Part PartOf(const Block& block, ncclDevWorkColl* work, size_t element_bytes) {
  Part part;
  ncclCollCbdPart(work, block.channel_id, NCCL_PROTO_SIMPLE, static_cast<int>(element_bytes),
                  &part.total, &part.begin, &part.count, &part.chunk);
  return part;
}

// One collective on one channel.
struct Task {
  Part part;
  Ring ring;
  Pipe pipe;
  int root;
  size_t element_bytes;
};

// The chunks of one round of an all-reduce, one for each rank. The last one may be short.
class Round {
 public:
  Round(const Task& task, ssize_t begin)
      : ring_(task.ring), rest_(task.part.count - begin), begin_(task.part.begin + begin) {
    chunk_ = task.part.chunk;
    if (rest_ >= chunk_ * ring_.size()) return;
    const ssize_t unit = 16 / task.element_bytes;
    const ssize_t even = (rest_ + ring_.size() - 1) / ring_.size();
    chunk_ = (even + unit - 1) / unit * unit;
  }

  // Returns a move of the chunk that belongs to the rank at `position`. Its sources and targets are
  // not set yet.
  Move Chunk(int position, ssize_t* offset) const {
    const ssize_t from = ring_.IndexAt(position) * chunk_;
    *offset = begin_ + from;
    Move move;
    move.count = std::min(chunk_, rest_ - from);
    return move;
  }

 private:
  const Ring& ring_;
  const ssize_t rest_;
  const ssize_t begin_;
  ssize_t chunk_;
};

// The sources and targets that a move uses, all of them at the same offset.
struct Uses {
  bool input = false;
  bool receive = false;
  bool output = false;
  bool send = false;
  bool last = false;
};

void RunChunk(Task& task, const Round& round, int position, Uses uses) {
  ssize_t offset = 0;
  Move move = round.Chunk(position, &offset);
  if (uses.input) move.input = offset;
  if (uses.output) move.output = offset;
  move.receive = uses.receive;
  move.send = uses.send;
  move.last = uses.last;
  task.pipe.Run(move);
}

// Sends each chunk around the ring twice: first to reduce it, and then to give the result to all
// ranks.
void AllReduce(Task& task) {
  const int size = task.ring.size();
  for (ssize_t begin = 0; begin < task.part.count; begin += task.part.chunk * size) {
    const Round round(task, begin);
    RunChunk(task, round, size - 1, {/*input=*/true, /*receive=*/false, false, /*send=*/true});
    for (int step = 2; step < size; ++step) {
      RunChunk(task, round, size - step, {/*input=*/true, /*receive=*/true, false, /*send=*/true});
    }
    RunChunk(task, round, 0, {true, true, /*output=*/true, /*send=*/true, /*last=*/true});
    for (int step = 1; step < size - 1; ++step) {
      RunChunk(task, round, size - step, {false, true, /*output=*/true, /*send=*/true});
    }
    RunChunk(task, round, 1, {false, /*receive=*/true, /*output=*/true, false});
  }
}

// Calls `body` with the offset and the count of each chunk of the channel's part.
template <class Body>
void ForEachChunk(const Part& part, Body body) {
  for (ssize_t begin = 0; begin < part.count; begin += part.chunk) {
    body(part.begin + begin, std::min(part.chunk, part.count - begin));
  }
}

Move MoveOf(ssize_t count, ssize_t input, bool receive, ssize_t output, bool send) {
  Move move;
  move.count = count;
  move.input = input;
  move.receive = receive;
  move.output = output;
  move.send = send;
  return move;
}

void AllGather(Task& task) {
  const int size = task.ring.size();
  ForEachChunk(task.part, [&](ssize_t offset, ssize_t count) {
    const auto place = [&](int position) {
      return offset + task.ring.RankAt(position) * task.part.total;
    };
    const bool in_place = task.pipe.IsInPlace(offset, place(0));
    task.pipe.Run(MoveOf(count, offset, false, in_place ? Move::kNone : place(0), /*send=*/true));
    for (int step = 1; step < size - 1; ++step) {
      task.pipe.Run(
          MoveOf(count, Move::kNone, /*receive=*/true, place(size - step), /*send=*/true));
    }
    task.pipe.Run(MoveOf(count, Move::kNone, /*receive=*/true, place(1), false));
  });
}

void ReduceScatter(Task& task) {
  const int size = task.ring.size();
  ForEachChunk(task.part, [&](ssize_t offset, ssize_t count) {
    const auto place = [&](int position) {
      return offset + task.ring.RankAt(position) * task.part.total;
    };
    task.pipe.Run(MoveOf(count, place(size - 1), false, Move::kNone, /*send=*/true));
    for (int step = 2; step < size; ++step) {
      task.pipe.Run(
          MoveOf(count, place(size - step), /*receive=*/true, Move::kNone, /*send=*/true));
    }
    Move final_move = MoveOf(count, place(0), /*receive=*/true, offset, false);
    final_move.last = true;
    task.pipe.Run(final_move);
  });
}

void Broadcast(Task& task) {
  const bool is_root = task.ring.RankAt(0) == task.root;
  const bool sends = task.ring.RankAt(1) != task.root;
  const bool in_place = task.pipe.IsInPlace(0, 0);
  ForEachChunk(task.part, [&](ssize_t offset, ssize_t count) {
    const ssize_t input = is_root ? offset : Move::kNone;
    const ssize_t output = is_root && in_place ? Move::kNone : offset;
    task.pipe.Run(MoveOf(count, input, !is_root, output, is_root || sends));
  });
}

void Reduce(Task& task) {
  const bool is_root = task.ring.RankAt(0) == task.root;
  const bool is_first = task.ring.RankAt(task.ring.size() - 1) == task.root;
  ForEachChunk(task.part, [&](ssize_t offset, ssize_t count) {
    Move move = MoveOf(count, offset, !is_first, is_root ? offset : Move::kNone, !is_root);
    move.last = is_root;
    task.pipe.Run(move);
  });
}

// How a collective is run, and how many parts of a rank's size its buffers have.
struct Plan {
  void (*run)(Task&);
  Slices slices;
  int inputs;
  int outputs;
};

Plan PlanOf(const Function& function, int ranks) {
  if (function.algorithm == NCCL_ALGO_RING && function.protocol == NCCL_PROTO_SIMPLE) {
    switch (function.collective) {
      case ncclFuncAllReduce:
        return {
            AllReduce, {ALLREDUCE_CHUNKSTEPS / ALLREDUCE_SLICESTEPS, ALLREDUCE_SLICESTEPS}, 1, 1};
      case ncclFuncAllGather:
        return {AllGather,
                {ALLGATHER_CHUNKSTEPS / ALLGATHER_SLICESTEPS, ALLGATHER_SLICESTEPS},
                1,
                ranks};
      case ncclFuncReduceScatter:
        return {ReduceScatter,
                {REDUCESCATTER_CHUNKSTEPS / REDUCESCATTER_SLICESTEPS, REDUCESCATTER_SLICESTEPS},
                ranks,
                1};
      case ncclFuncBroadcast:
        return {
            Broadcast, {BROADCAST_CHUNKSTEPS / BROADCAST_SLICESTEPS, BROADCAST_SLICESTEPS}, 1, 1};
      case ncclFuncReduce:
        return {Reduce, {REDUCE_CHUNKSTEPS / REDUCE_SLICESTEPS, REDUCE_SLICESTEPS}, 1, 1};
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
      case ncclFuncAllGatherV:
        return {nullptr, {1, 1}, 1, 1};  // see RunBroadcasts()
#endif
      default:
        break;
    }
  }
  Refuse("no kernel for %s: set NCCL_ALGO=Ring and NCCL_PROTO=Simple", NameOf(function).c_str());
}

void RefuseRegistered(const ncclDevWorkColl& work) {
  bool registered = work.regUsed != 0;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
  registered = registered || work.netRegUsed != 0;
#endif
  if (registered) {
    Refuse("no kernel for registered buffers: set NCCL_LOCAL_REGISTER=0 and NCCL_GRAPH_REGISTER=0");
  }
}

// Returns the operation's argument. User-made operations may keep it in device memory.
uint64_t ArgumentOf(const Block& block, const Function& function, const ncclDevWorkColl& work) {
  if (!work.redOpArgIsPtr || !Reduction::HasArgument(function)) return work.redOpArg;
  const size_t bytes = Reduction::ArgumentBytes(function);
  const auto* const device = reinterpret_cast<const char*>(work.redOpArg);
  uint64_t argument = 0;
  std::memcpy(&argument, block.memory.Reach(device, bytes, "an operation's scalar"), bytes);
  return argument;
}

}  // namespace

void RunRing(Block& block, const Function& function, ncclDevWorkColl work) {
  const Plan plan = PlanOf(function, block.comm.nRanks);
  RefuseRegistered(work);
  const Reduction reduction(function, ArgumentOf(block, function, work));
  const size_t element_bytes = reduction.element_bytes();
  const Part part = PartOf(block, &work, element_bytes);
  const size_t bytes = part.total * element_bytes;
  Task task{part, Ring(block),
            Pipe(block, plan.slices, reduction,
                 UserBuffer(block.memory, work.sendbuff, bytes * plan.inputs),
                 UserBuffer(block.memory, work.recvbuff, bytes * plan.outputs)),
            static_cast<int>(work.root), element_bytes};
  plan.run(task);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)

namespace {

// Moves the next chunk of one of the broadcasts.
void RunBroadcastChunk(const Block& block, Pipe& pipe, ncclDevWorkBcast& work) {
  const size_t count = std::min<size_t>(work.bytes, work.chunkSize);
  if (count == 0) return;
  const bool is_root = work.ringDepth == 0;
  const size_t end = work.bytes_done + work.bytes;
  pipe.SetBuffers(UserBuffer(block.memory, work.sendbuff, end),
                  UserBuffer(block.memory, work.recvbuff, end));
  const auto offset = static_cast<ssize_t>(work.bytes_done);
  const bool keeps = !is_root || work.sendbuff != work.recvbuff;
  pipe.Run(MoveOf(count, is_root ? offset : Move::kNone, !is_root, keeps ? offset : Move::kNone,
                  work.ringDepth != block.comm.nRanks - 1));
  work.bytes -= count;
  work.bytes_done += count;
}

}  // namespace

// Moves one chunk of each broadcast in turn, as every rank does.
void RunBroadcasts(Block& block, const Function& function, std::vector<ncclDevWorkBcast> works) {
  const Plan plan = PlanOf(function, block.comm.nRanks);
  const Reduction reduction(function, 0);
  const UserBuffer none(block.memory, nullptr, 0);
  Pipe pipe(block, plan.slices, reduction, none, none);
  const auto unfinished = [](const ncclDevWorkBcast& work) { return work.bytes > 0; };
  while (std::any_of(works.begin(), works.end(), unfinished)) {
    for (ncclDevWorkBcast& work : works) RunBroadcastChunk(block, pipe, work);
  }
}

#endif

}  // namespace cpu_nccl
