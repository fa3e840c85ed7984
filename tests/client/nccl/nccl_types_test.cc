// Tests how Muster's types and reductions map to NCCL's.

#include "client/nccl/device/nccl_types.h"

#include <cstdlib>

#include "gtest/gtest.h"
#include "muster/nccl.h"

namespace muster::internal {
namespace {

TEST(NcclTypesTest, EveryTypeHasItsOwn) {
  EXPECT_EQ(*NcclType(DataTypeOf<float>()), ncclFloat32);
  EXPECT_EQ(*NcclType(DataTypeOf<double>()), ncclFloat64);
  EXPECT_EQ(*NcclType(DataTypeOf<int8_t>()), ncclInt8);
  EXPECT_EQ(*NcclType(DataTypeOf<uint8_t>()), ncclUint8);
  EXPECT_EQ(*NcclType(DataTypeOf<int32_t>()), ncclInt32);
  EXPECT_EQ(*NcclType(DataTypeOf<uint32_t>()), ncclUint32);
  EXPECT_EQ(*NcclType(DataTypeOf<int64_t>()), ncclInt64);
  EXPECT_EQ(*NcclType(DataTypeOf<uint64_t>()), ncclUint64);
  EXPECT_EQ(*NcclType(DataTypeOf<__half>()), ncclFloat16);
  EXPECT_EQ(*NcclType(DataTypeOf<__nv_bfloat16>()), ncclBfloat16);
}

#if NCCL_VERSION_CODE >= 22400
TEST(NcclTypesTest, EightBitFloatsHaveTheHeadersValues) {
  EXPECT_EQ(*NcclType(DataType::kFloat8E4m3), ncclFloat8e4m3);
  EXPECT_EQ(*NcclType(DataType::kFloat8E5m2), ncclFloat8e5m2);
}
#endif

TEST(NcclTypesTest, EightBitFloatsNeedANewNccl) {
  setenv("FAKE_NCCL_VERSION", "22304", 1);
  const absl::Status status = NcclType(DataType::kFloat8E4m3).status();
  unsetenv("FAKE_NCCL_VERSION");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "float8_e4m3 needs NCCL 2.24.0 or newer; this process has loaded NCCL 2.23.4");
}

TEST(NcclTypesTest, TypesAndReductionsThatNcclLacksAreRejected) {
  for (DataType type : {DataType::kBool, DataType::kInt16, DataType::kUint16}) {
    EXPECT_EQ(NcclType(type).status().code(), absl::StatusCode::kUnimplemented);
  }
  for (ReduceOp op : {ReduceOp::kBitwiseAnd, ReduceOp::kBitwiseOr}) {
    EXPECT_EQ(NcclOp(op).status().code(), absl::StatusCode::kUnimplemented);
  }
}

TEST(NcclTypesTest, InvalidTypesAreRejected) {
  EXPECT_EQ(NcclType(static_cast<DataType>(99)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NcclTypesTest, VersionsAreReadable) {
  EXPECT_EQ(NcclVersionText(22809), "2.28.9");
  EXPECT_EQ(NcclVersionText(23107), "2.31.7");
}

TEST(NcclTypesTest, OperationsAreDescribedWithCountAndType) {
  EXPECT_EQ(DescribeOperation("AllReduce", 10, DataType::kBfloat16, ReduceOp::kAverage),
            "AllReduce of 10 bfloat16 (average)");
  EXPECT_EQ(DescribeOperation("Send", 3, DataType::kInt8), "Send of 3 int8");
}

}  // namespace
}  // namespace muster::internal
