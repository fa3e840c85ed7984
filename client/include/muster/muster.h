#ifndef MUSTER_MUSTER_H_
#define MUSTER_MUSTER_H_

// All of the SDK but muster/nccl.h (CUDA streams) and muster/protobuf.h (messages as values). What
// you need, and where it is. Who comes from SpeechBrain, Axolotl, Ignite, VirTex or ModelOpt finds
// the names known there in docs/toolkits.md.
//
//   to join a job, and leave it          Job::Join, Job::Leave                job.h
//     with what the environment says     JobOptions::FromEnvironment          job_options.h
//     as the process's current job       Initialize, Finalize, Sync,          current_job.h
//                                        CurrentJob
//   to start a job's processes           Launch, Spawn                        launch.h
//
//   who am I                             Job::rank, local_rank, node_rank,    job.h
//                                        world_size, local_world_size, num_nodes
//     before joining, or without a Job   GetRank, GetLocalRank, SetLocalRank, current_job.h
//                                        GetWorldSize, GetNprocPerNode, GetNnodes,
//                                        GetNodeRank, GetHostname
//     am I the one who ...               IsMainProcess, IsLocalRankZero,      current_job.h
//                                        IsDistributed
//   on what do I compute                 InferDevice, DeviceOf, GpuMemUsage   device.h
//   with what do I communicate           BackendOf, AvailableBackends,        device.h
//                                        ModelName
//     all of that in a log line          ShowConfig                           device.h
//   log lines that say who writes them   RankPrefixedMessage                  current_job.h
//   where log lines go                   SetLogSink, Log                      log.h
//
//   to wait for all                      Barrier, Synchronize                 run_on.h
//   to run a function
//     on main, its value to all          RunOnMain, MainOnly                  run_on.h
//     on any rank, its value to all      ComputeAndBroadcast                  run_on.h
//     on one rank, nothing to others     OneRankOnly                          run_on.h
//     once per node, the others wait     RunOncePerNode                       run_on.h
//     once per node, nobody waits        OncePerNode                          run_on.h
//     on some ranks first                ZeroFirst                            run_on.h
//     once, whoever comes first          Job::RunOncePerNode, RunOncePerJob   job.h
//       with a token, as it goes on      Job::AcquireLease, Lease             job.h, lease.h
//   a block
//     for main                           MainScope, ZeroOnly                  scopes.h
//     for one process of each node       OncePerNodeScope                     scopes.h
//     in which collectives do not wait   PreventBlock                         scopes.h
//
//   small objects of all ranks           Broadcast, AllGather                 gather.h
//     from a function                    GatherFromAllRanks,                  gather.h
//                                        GatherScalarFromAllRanks
//     folded into one value              ReduceAndBroadcast                   gather.h
//     of types of my own                 Codec                                codec.h
//     among some of the ranks            Job::NewGroup, Group                 job.h, group.h
//
//   numbers and tensors of all ranks
//     reduced                            AllReduce                            tensor_collectives.h
//     stacked                            AllGather                            tensor_collectives.h
//     gradients, averaged                AverageAcrossProcesses               tensor_collectives.h
//     fast, in a loop                    Communicator                         communicator.h
//     the operations, and the types      ReduceOp, DataType                   reduce_op.h,
//                                                                             data_type.h
//   weights and configurations           Workspace                            workspace.h
//     through shared memory              GetConfigsParallel,                  parallel_exchange.h
//                                        GetTensorsParallel
//   how tensors are described            TensorView, ViewOf                   tensor.h
//
//   a time-out, to cancel a call         CallOptions, Cancellation            call_options.h
//   a rank is lost: to hear of it        Job::OnFailure, health               job.h
//     and to go on without it            Job::Rejoin, NewcomersWaiting        job.h
//   to stop all ranks at one step        Job::RequestStop, StopRequested      job.h

#include "muster/call_options.h"
#include "muster/codec.h"
#include "muster/communicator.h"
#include "muster/current_job.h"
#include "muster/data_type.h"
#include "muster/device.h"
#include "muster/gather.h"
#include "muster/group.h"
#include "muster/job.h"
#include "muster/job_options.h"
#include "muster/launch.h"
#include "muster/lease.h"
#include "muster/log.h"
#include "muster/parallel_exchange.h"
#include "muster/reduce_op.h"
#include "muster/run_on.h"
#include "muster/scopes.h"
#include "muster/tensor.h"
#include "muster/tensor_collectives.h"
#include "muster/version.h"
#include "muster/workspace.h"

#endif  // MUSTER_MUSTER_H_
