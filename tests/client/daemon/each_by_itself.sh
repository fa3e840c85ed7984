#!/bin/bash
# Runs a test in which no ranks arrive at collectives together: to a program it must make no difference.
MUSTER_NODE_FANIN=0 exec "$1"
