#include "tests/nccl/real/kernels/work_batch.h"

namespace cpu_nccl {
namespace {

const ncclDevWorkBatch& HeaderAt(const ncclDevKernelArgs& arguments, int index) {
  return reinterpret_cast<const ncclDevWorkBatch*>(&arguments + 1)[index];
}

const char* Find(const Memory& memory, const ncclDevKernelArgs& arguments, uint32_t offset,
                 size_t bytes) {
  if (arguments.workStorageType == ncclDevWorkStorageTypeArgs) {
    return reinterpret_cast<const char*>(&arguments) + offset;
  }
  const auto* const work = static_cast<const char*>(arguments.workBuf);
  return memory.Reach(work + (offset & arguments.workMask), bytes, "work");
}

// Appends the structures whose bits are set.
void Append(const Memory& memory, const ncclDevKernelArgs& arguments,
            const ncclDevWorkBatch& header, Batch& batch) {
  const size_t size = ncclDevWorkSize(batch.type);
  for (uint32_t bit = 0; bit < 64; ++bit) {
    if ((header.offsetBitset >> bit & 1) == 0) continue;
    const auto offset = static_cast<uint32_t>(header.offsetBase + bit * size);
    const char* const work = Find(memory, arguments, offset, size);
    batch.bytes.insert(batch.bytes.end(), work, work + size);
    batch.consumed = static_cast<uint32_t>(offset + size);
  }
}

}  // namespace

Batch LoadBatch(const Memory& memory, const ncclDevKernelArgs& arguments, int index) {
  Batch batch;
  bool extends = true;
  while (extends) {
    const ncclDevWorkBatch& header = HeaderAt(arguments, index);
    batch.type = static_cast<ncclDevWorkType>(header.workType);
    batch.function_id = header.funcId;
    batch.next = header.nextJump == 0 ? -1 : index + static_cast<int>(header.nextJump);
    Append(memory, arguments, header, batch);
    extends = header.nextExtends != 0;
    index = batch.next;
  }
  return batch;
}

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 23, 0)

void ReleaseWork(const Block& block, const ncclDevKernelArgs& arguments, const Batch& batch) {
  if (arguments.workStorageType != ncclDevWorkStorageTypeFifo) return;
  uint32_t* const consumed = block.memory.Reach(block.comm.workConsumed, MAXCHANNELS, "counters");
  __atomic_store_n(consumed + block.channel_id, batch.consumed, __ATOMIC_RELEASE);
}

#else

void ReleaseWork(const Block& /*block*/, const ncclDevKernelArgs& /*arguments*/,
                 const Batch& /*batch*/) {}

#endif

}  // namespace cpu_nccl
