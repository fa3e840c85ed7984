#ifndef MUSTER_MUSTER_H_
#define MUSTER_MUSTER_H_

// All of the SDK but muster/nccl.h (CUDA streams), muster/protobuf.h (messages as values) and
// muster/c.h (for programs that are not in C++). What you need, and where it is. Who comes from
// SpeechBrain, Axolotl, Ignite, VirTex or ModelOpt finds the names known there in muster/toolkits.h
// and docs/toolkits.md.
//
//   to join a job, and leave it          Job::Join, Job::Leave                job.h
//     with what the environment says     JobOptions::FromEnvironment          job_options.h
//   to start a job's processes           Launch, Spawn                        launch.h
//
//   who am I                             Job::rank, local_rank, node_rank,    job.h
//                                        world_size, local_world_size, num_nodes
//     am I the one who ...               Job::is_main, is_distributed         job.h
//   who are the others                   Job::members, Member                 job.h, group.h
//   where log lines go                   SetLogSink, Log                      log.h
//
//   to wait for all                      Job::Barrier                         job.h
//   to run a function
//     on main, its value to all          Job::RunOnMain                       job.h
//     on any rank, its value to all      Job::RunOnRank                       job.h
//     once, whoever comes first          Job::RunOncePerNode, RunOncePerJob   job.h
//       with a token, as it goes on      Job::AcquireLease, Lease             job.h, lease.h
//   a block
//     for main                           MainScope                            scopes.h
//     for one process of each node       OncePerNodeScope                     scopes.h
//     in which collectives do not wait   PreventBlock                         scopes.h
//
//   small objects of all ranks           Job::Broadcast, Gather, AllGather    job.h
//     of types of my own                 Codec                                codec.h
//     one number of all their numbers    Job::AllReduce                       job.h
//     among some of the ranks            Job::NewGroup, Split, Group          job.h, group.h
//
//   tensors of all ranks                 Communicator                         communicator.h
//     while I compute                    Communicator::Start,                 communicator.h
//                                        PendingOperation                     pending_operation.h
//     on this or on NcclCommunicator     TensorOperations                     tensor_operations.h
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
//   what to exit with                    ExitCode, WriteTerminationReason     exit_code.h
//     to exit with it on any error       OrDie                                or_die.h

#include "muster/cxx17.h"

#include "muster/call_options.h"
#include "muster/codec.h"
#include "muster/communicator.h"
#include "muster/data_type.h"
#include "muster/exit_code.h"
#include "muster/group.h"
#include "muster/job.h"
#include "muster/job_options.h"
#include "muster/launch.h"
#include "muster/lease.h"
#include "muster/log.h"
#include "muster/or_die.h"
#include "muster/parallel_exchange.h"
#include "muster/pending_operation.h"
#include "muster/reduce_op.h"
#include "muster/scopes.h"
#include "muster/tensor.h"
#include "muster/tensor_operations.h"
#include "muster/version.h"
#include "muster/workspace.h"

#endif  // MUSTER_MUSTER_H_
