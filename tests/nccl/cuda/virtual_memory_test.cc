// Tests of cuMem: memory without an address, addresses without memory, and both together, also
// between two processes.

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/cuda/test_process.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// The driver's functions that the tests call.
struct CuMem {
  decltype(cuMemCreate)* create = Driver<decltype(cuMemCreate)>("cuMemCreate");
  decltype(cuMemRelease)* release = Driver<decltype(cuMemRelease)>("cuMemRelease");
  decltype(cuMemAddressReserve)* reserve =
      Driver<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(cuMemAddressFree)* free = Driver<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(cuMemMap)* map = Driver<decltype(cuMemMap)>("cuMemMap");
  decltype(cuMemUnmap)* unmap = Driver<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(cuMemSetAccess)* set_access = Driver<decltype(cuMemSetAccess)>("cuMemSetAccess");
  decltype(cuMemExportToShareableHandle)* give =
      Driver<decltype(cuMemExportToShareableHandle)>("cuMemExportToShareableHandle");
  decltype(cuMemImportFromShareableHandle)* take =
      Driver<decltype(cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle");
  decltype(cuMemRetainAllocationHandle)* retain =
      Driver<decltype(cuMemRetainAllocationHandle)>("cuMemRetainAllocationHandle");
  decltype(cuMemGetAllocationPropertiesFromHandle)* properties =
      Driver<decltype(cuMemGetAllocationPropertiesFromHandle)>(
          "cuMemGetAllocationPropertiesFromHandle");
  decltype(cuMemGetAllocationGranularity)* granularity =
      Driver<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(cuMemGetAddressRange)* range =
      Driver<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange");
};

constexpr size_t kBytes = size_t{2} << 20;

CUmemAllocationProp On(CUmemLocationType type, int id) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = type;
  properties.location.id = id;
  return properties;
}

CUmemGenericAllocationHandle Create(const CuMem& mem, const CUmemAllocationProp& properties) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(mem.create(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
  return handle;
}

CUresult Allow(const CuMem& mem, CUdeviceptr pointer, CUmemLocationType type) {
  CUmemAccessDesc access = {};
  access.location.type = type;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return mem.set_access(pointer, kBytes, &access, 1);
}

// Maps the memory, and gives device 0 access to it.
char* Map(const CuMem& mem, CUmemGenericAllocationHandle handle) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(mem.reserve(&pointer, kBytes, kBytes, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(pointer % kBytes, 0u);
  EXPECT_EQ(mem.map(pointer, kBytes, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(fake_cuda::Reach(reinterpret_cast<void*>(pointer), 1), nullptr) << "not allowed yet";
  EXPECT_EQ(Allow(mem, pointer, CU_MEM_LOCATION_TYPE_DEVICE), CUDA_SUCCESS);
  return reinterpret_cast<char*>(pointer);
}

CUdeviceptr AddressOf(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

TEST(FakeCudaVirtualMemory, LivesAsLongAsItIsMappedOrHeld) {
  ExpectInProcess({}, [] {
    const CuMem mem;
    const auto handle = Create(mem, On(CU_MEM_LOCATION_TYPE_DEVICE, 0));
    EXPECT_EQ(fake_cuda::CurrentCounters().device_bytes, static_cast<int64_t>(kBytes));
    char* const memory = Map(mem, handle);
    EXPECT_EQ(mem.release(handle), CUDA_SUCCESS);
    const std::string sent = "sent";
    char received[5] = {};
    EXPECT_EQ(cudaMemcpy(memory + 7, sent.data(), 4, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(received, memory + 7, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(received, sent);
    CUmemGenericAllocationHandle retained = 0;
    EXPECT_EQ(mem.retain(&retained, memory + 7), CUDA_SUCCESS);
    EXPECT_EQ(retained, handle);
    CUdeviceptr base = 0;
    size_t size = 0;
    EXPECT_EQ(mem.range(&base, &size, AddressOf(memory + 7)), CUDA_SUCCESS);
    EXPECT_EQ(base, AddressOf(memory));
    EXPECT_EQ(size, kBytes);
    EXPECT_EQ(mem.unmap(base, size), CUDA_SUCCESS);
    EXPECT_EQ(fake_cuda::CurrentCounters().device_bytes, static_cast<int64_t>(kBytes));
    EXPECT_EQ(mem.release(retained), CUDA_SUCCESS);
    EXPECT_EQ(fake_cuda::CurrentCounters().device_bytes, 0);
    EXPECT_EQ(mem.free(base, size), CUDA_SUCCESS);
  });
}

TEST(FakeCudaVirtualMemory, TheHostTouchesOnlyItsOwn) {
  ExpectInProcess({}, [] {
    const CuMem mem;
    char* const memory = Map(mem, Create(mem, On(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)));
    EXPECT_EQ(Allow(mem, AddressOf(memory), CU_MEM_LOCATION_TYPE_HOST_NUMA), CUDA_SUCCESS);
    memory[3] = 'x';
    EXPECT_EQ(*static_cast<char*>(fake_cuda::Reach(memory + 3, 1)), 'x');
  });
  const RankExit end = RunInProcess([] {
    const CuMem mem;
    char* const memory = Map(mem, Create(mem, On(CU_MEM_LOCATION_TYPE_DEVICE, 0)));
    EXPECT_NE(Allow(mem, AddressOf(memory), CU_MEM_LOCATION_TYPE_HOST_NUMA), CUDA_SUCCESS);
    signal(SIGSEGV, SIG_DFL);  // the address sanitizer would end the process in its own way
    memory[3] = 'x';
  });
  EXPECT_TRUE(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSEGV) << end.status;
}

TEST(FakeCudaVirtualMemory, IsLimitedAndOfAGranularity) {
  ExpectInProcess({{"FAKE_CUDA_MEMORY", std::to_string(kBytes)}}, [] {
    const CuMem mem;
    const CUmemAllocationProp device = On(CU_MEM_LOCATION_TYPE_DEVICE, 0);
    size_t granularity = 0;
    EXPECT_EQ(mem.granularity(&granularity, &device, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              CUDA_SUCCESS);
    EXPECT_EQ(granularity, kBytes);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(mem.create(&handle, kBytes - 1, &device, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(mem.create(&handle, 2 * kBytes, &device, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(mem.create(&handle, kBytes, &device, 0), CUDA_SUCCESS);
  });
}

TEST(FakeCudaVirtualMemory, AReleasedHandleMustNotBeUsed) {
  const RankExit end = RunInProcess([] {
    const CuMem mem;
    const auto handle = Create(mem, On(CU_MEM_LOCATION_TYPE_DEVICE, 0));
    EXPECT_EQ(mem.release(handle), CUDA_SUCCESS);
    mem.release(handle);
  });
  EXPECT_THAT(end.output, HasSubstr("VIOLATION: a call names memory handle"));
}

// ---- Between processes ----

struct Exported {
  int process;
  int file;
};

void Offer(IdExchange& exchange, int slot, int file) {
  const Exported exported{getpid(), file};
  ncclUniqueId id = {};
  std::memcpy(&id, &exported, sizeof exported);
  exchange.Put(slot, id);
}

// Returns a copy of the descriptor that the other process has offered, as if it had come over a
// socket.
int Taken(IdExchange& exchange, int slot) {
  const ncclUniqueId id = exchange.Get(slot);
  Exported exported;
  std::memcpy(&exported, &id, sizeof exported);
  const std::string path =
      "/proc/" + std::to_string(exported.process) + "/fd/" + std::to_string(exported.file);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

void Export(IdExchange& exchange) {
  const CuMem mem;
  const auto handle = Create(mem, On(CU_MEM_LOCATION_TYPE_DEVICE, 3));
  char* const memory = Map(mem, handle);
  EXPECT_EQ(cudaMemset(memory, 42, kBytes), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  int file = -1;
  EXPECT_EQ(mem.give(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  Offer(exchange, 0, file);
  exchange.AwaitAll(2);
}

void Import(IdExchange& exchange) {
  const CuMem mem;
  const int file = Taken(exchange, 0);
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(mem.take(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(close(file), 0) << "the handle has its own descriptor";
  CUmemAllocationProp properties = {};
  EXPECT_EQ(mem.properties(&properties, handle), CUDA_SUCCESS);
  EXPECT_EQ(properties.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(properties.location.id, 3);
  char received = 0;
  char* const memory = Map(mem, handle);
  EXPECT_EQ(cudaMemcpy(&received, memory + kBytes - 1, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(received, 42);
  EXPECT_EQ(fake_cuda::CurrentCounters().device_bytes, 0) << "it is the other process's memory";
  exchange.AwaitAll(2);
}

TEST(FakeCudaVirtualMemory, AnotherProcessMapsIt) {
  ExpectForked(
      2, [](int rank, IdExchange& exchange) { rank == 0 ? Export(exchange) : Import(exchange); });
}

TEST(FakeCudaVirtualMemory, OnlyExportedMemoryIsImported) {
  ExpectInProcess({}, [] {
    const CuMem mem;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(mem.take(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              CUDA_ERROR_INVALID_VALUE);
  });
}

// ---- cudaIpc ----

TEST(FakeCudaIpc, AnotherProcessMapsAnAllocation) {
  ExpectForked(2, [](int rank, IdExchange& exchange) {
    cudaIpcMemHandle_t handle = {};
    ncclUniqueId id = {};
    static_assert(sizeof handle <= sizeof id);
    void* memory = nullptr;
    if (rank == 0) {
      ASSERT_EQ(cudaMalloc(&memory, 100), cudaSuccess);
      ASSERT_EQ(cudaMemset(memory, 42, 100), cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_EQ(cudaIpcGetMemHandle(&handle, memory), cudaSuccess);
      std::memcpy(&id, &handle, sizeof handle);
      exchange.Put(0, id);
    } else {
      id = exchange.Get(0);
      std::memcpy(&handle, &id, sizeof handle);
      ASSERT_EQ(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
      char received = 0;
      EXPECT_EQ(cudaMemcpy(&received, static_cast<char*>(memory) + 99, 1, cudaMemcpyDeviceToHost),
                cudaSuccess);
      EXPECT_EQ(received, 42);
      EXPECT_EQ(cudaIpcCloseMemHandle(memory), cudaSuccess);
    }
    exchange.AwaitAll(2);
  });
}

}  // namespace
}  // namespace muster::testing
