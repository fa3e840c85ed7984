#ifndef MUSTER_TOOLKITS_H_
#define MUSTER_TOOLKITS_H_

// What SpeechBrain, Axolotl, Ignite, VirTex and ModelOpt call their distributed utilities, for
// programs that come from there: docs/toolkits.md has the names side by side. All of it stands on
// muster/muster.h, and new programs need nothing of it. Link //client:toolkits.
//
//   the process's current job            Initialize, Finalize, CurrentJob,    current_job.h
//                                        AdoptLatestJob
//   who am I, also before joining        GetRank, GetLocalRank, SetLocalRank, current_job.h
//                                        GetWorldSize, GetNprocPerNode, GetNnodes,
//                                        GetNodeRank, GetHostname
//   am I the one who ...                 IsMainProcess, IsLocalRankZero,      current_job.h
//                                        IsDistributed
//   log lines that say who writes them   RankPrefixedMessage                  current_job.h
//   on what do I compute                 InferDevice, DeviceOf, GpuMemUsage   device.h
//   with what do I communicate           BackendOf, AvailableBackends,        device.h
//                                        CommunicationModel
//     all of that in a log line          ShowConfig                           device.h
//
//   to wait for all                      Barrier, Synchronize                 run_on.h
//   to run a function
//     on main, its value to all          RunOnMain, MainOnly                  run_on.h
//     on any rank, its value to all      ComputeAndBroadcast                  run_on.h
//     on one rank, nothing to others     OneRankOnly                          run_on.h
//     on one rank of each node
//       while the others wait            RunOnLocalRankZero                   run_on.h
//       while nobody waits               OncePerNode                          run_on.h
//     on some ranks first                ZeroFirst                            run_on.h
//   a block for main                     ZeroOnly                             run_on.h
//
//   small objects of all ranks           Broadcast, AllGather                 gather.h
//     from a function                    GatherFromAllRanks,                  gather.h
//                                        GatherScalarFromAllRanks
//     folded into one value              ReduceAndBroadcast                   gather.h
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
