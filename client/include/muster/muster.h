#ifndef MUSTER_MUSTER_H_
#define MUSTER_MUSTER_H_

// Includes the whole SDK except muster/nccl.h (CUDA streams), muster/protobuf.h (messages as
// values), muster/c.h (for programs in other languages) and muster/portable.h (C++ with another
// Abseil, or none). The table says what to use for what.
// The names of SpeechBrain, Axolotl, Ignite, VirTex and ModelOpt are in muster/toolkits.h and
// docs/toolkits.md.
//
//   to join a job, and leave it          Job::Join, Job::Leave                job.h
//     with options of the environment    JobOptions::FromEnvironment          job_options.h
//   to start a job's processes           Launch, Spawn                        launch.h
//
//   my place in the job                  Job::rank, local_rank, node_rank,    job.h
//                                        world_size, local_world_size, num_nodes
//     am I rank 0                        Job::is_main, is_distributed         job.h
//   the other members                    Job::members, Member                 job.h, group.h
//   to redirect the log                  SetLogSink, Log                      log.h
//
//   to wait for all ranks                Job::Barrier                         job.h
//   to run a function
//     on rank 0, its value to all        Job::RunOnMain                       job.h
//     on any rank, its value to all      Job::RunOnRank                       job.h
//     once, on the first rank to come    Job::RunOncePerNode, RunOncePerJob   job.h
//       with a fencing token             Job::AcquireLease, Lease             job.h, lease.h
//   a block of code
//     for rank 0                         MainScope                            scopes.h
//     for one process of each node       OncePerNodeScope                     scopes.h
//     in which collectives do not wait   PreventBlock                         scopes.h
//
//   small objects of all ranks           Job::Broadcast, Gather, AllGather    job.h
//     of types of my own                 Codec                                codec.h
//     to combine numbers                 Job::AllReduce                       job.h
//     among some of the ranks            Job::NewGroup, Split, Group          job.h, group.h
//
//   keys and values of the job           Job::store, Store                    job.h, store.h
//     to count, queue, meet and watch    Store::Add, Push, Barrier, Watch     store.h
//
//   tensors of all ranks                 Communicator                         communicator.h
//     overlapped with computation        Communicator::Start,                 communicator.h
//                                        PendingOperation                     pending_operation.h
//     also on an NcclCommunicator        TensorOperations                     tensor_operations.h
//     the operations, and the types      ReduceOp, DataType                   reduce_op.h,
//                                                                             data_type.h
//   weights and configurations           Workspace                            workspace.h
//     through shared memory              GetConfigsParallel,                  parallel_exchange.h
//                                        GetTensorsParallel
//   how tensors are described            TensorView, ViewOf                   tensor.h
//
//   a time-out, to cancel a call         CallOptions, Cancellation            call_options.h
//   to be told that a rank is lost       Job::OnFailure, health               job.h
//     and to go on without it            Job::Rejoin, NewcomersWaiting        job.h
//   to stop all ranks at the same step   Job::RequestStop, StopRequested      job.h
//   the rank that an error names         FactsOf, ErrorFacts                  error_facts.h
//   the exit code for an error           ExitCode, WriteTerminationReason     exit_code.h
//     to exit with it on any error       OrDie                                or_die.h

#include "muster/cxx17.h"

#include "muster/call_options.h"
#include "muster/codec.h"
#include "muster/communicator.h"
#include "muster/data_type.h"
#include "muster/error_facts.h"
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
#include "muster/store.h"
#include "muster/tensor.h"
#include "muster/tensor_operations.h"
#include "muster/version.h"
#include "muster/workspace.h"

#endif  // MUSTER_MUSTER_H_
