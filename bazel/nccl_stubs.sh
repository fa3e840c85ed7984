#!/bin/bash
# nccl_stubs.sh LIBRARY: writes assembler code for the symbols that NCCL's GPU code would define. LIBRARY is NCCL's host
# code, linked without them. A kernel becomes a jump to the function that runs all kernels on the CPU: NCCL passes a
# kernel's address to the driver, and the fake driver calls it. Symmetric kernels have other parameters, and jump to a
# function that rejects them. DOCA's functions end the process.
set -euo pipefail

cat <<'MACROS'
#if defined(__aarch64__)
#define JUMP(symbol, target) .globl symbol; .hidden symbol; .type symbol, %function; .balign 16; symbol: b target
#define TRAP(symbol) .globl symbol; .hidden symbol; .type symbol, %function; .balign 16; symbol: udf #0
#else
#define JUMP(symbol, target) .globl symbol; .hidden symbol; .type symbol, @function; .balign 16; symbol: jmp target@PLT
#define TRAP(symbol) .globl symbol; .hidden symbol; .type symbol, @function; .balign 16; symbol: ud2
#endif
.section .note.GNU-stack,"",%progbits
.text
MACROS
nm -D --undefined-only "$1" | awk '
  { sub(/@.*/, "", $2) }
  $2 ~ /^_Z.*ncclSymk/ { print "JUMP(" $2 ", MusterRefuseNcclKernel)"; next }
  $2 ~ /^_Z.*nccl.*Kernel_/ { print "JUMP(" $2 ", MusterRunNcclKernel)" }
  $2 ~ /^doca_/ { print "TRAP(" $2 ")" }'
