#ifndef MUSTER_TOOLKITS_H_
#define MUSTER_TOOLKITS_H_

// The distributed utilities of SpeechBrain, Axolotl, Ignite, VirTex and ModelOpt under their own
// names, for programs that are ported from them. docs/toolkits.md lists the names side by side. New
// programs use muster/muster.h, on which these functions are built. Link //client:toolkits.
//
//   the process's current job            Initialize, Finalize, CurrentJob,    current_job.h
//                                        AdoptLatestJob
//   my place in the job, before joining  GetRank, GetLocalRank, SetLocalRank, current_job.h
//                                        GetWorldSize, GetNprocPerNode, GetNnodes,
//                                        GetNodeRank, GetHostname
//   am I rank 0, or local rank 0         IsMainProcess, IsLocalRankZero,      current_job.h
//                                        IsDistributed
//   log lines with the rank              RankPrefixedMessage                  current_job.h
//   the device to compute on             InferDevice, DeviceOf, GpuMemUsage   device.h
//   the data plane                       BackendOf, AvailableBackends,        device.h
//                                        CommunicationModel
//     all of that in a log line          ShowConfig                           device.h
//
//   to wait for all ranks                Barrier, Synchronize                 run_on.h
//   to run a function
//     on rank 0, its value to all        RunOnMain, MainOnly                  run_on.h
//     on any rank, its value to all      ComputeAndBroadcast                  run_on.h
//     on one rank, others get nothing    OneRankOnly                          run_on.h
//     on one rank of each node
//       while the others wait            RunOnLocalRankZero                   run_on.h
//       while the others go on           OncePerNode                          run_on.h
//     on some ranks first                ZeroFirst                            run_on.h
//   a block of code for rank 0           ZeroOnly                             run_on.h
//
//   small objects of all ranks           Broadcast, AllGather                 gather.h
//     from a function                    GatherFromAllRanks,                  gather.h
//                                        GatherScalarFromAllRanks
//     combined into one value            ReduceAndBroadcast                   gather.h
//   numbers and tensors of all ranks
//     reduced                            AllReduce                            tensor_collectives.h
//     stacked                            AllGather                            tensor_collectives.h
//     gradients, averaged                AverageAcrossProcesses               tensor_collectives.h

#include "muster/cxx17.h"

#include "muster/toolkits/current_job.h"
#include "muster/toolkits/device.h"
#include "muster/toolkits/gather.h"
#include "muster/toolkits/run_on.h"
#include "muster/toolkits/tensor_collectives.h"

#endif  // MUSTER_TOOLKITS_H_
