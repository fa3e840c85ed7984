// A program with its own gRPC, protobuf and copy of Muster's messages, beside those in
// libmuster.so.
#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <iostream>

#include "muster/muster.h"
#include "muster/v1/coordinator.pb.h"

int main() {
  muster::v1::GetStatusRequest request;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  if (pool->FindFileByName("muster/v1/coordinator.proto") == nullptr) return 3;
  auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return 4;
  const auto channel =
      grpc::CreateChannel(std::getenv("MUSTER_COORDINATOR"), grpc::InsecureChannelCredentials());
  const auto until = std::chrono::system_clock::now() + std::chrono::seconds(60);
  if (!channel->WaitForConnected(until)) return 5;
  if (!(*job)->Barrier("both").ok() || !(*job)->Leave().ok()) return 6;
  std::cout << request.GetTypeName() << " and gRPC " << grpc::Version() << " of its own"
            << std::endl;
}
