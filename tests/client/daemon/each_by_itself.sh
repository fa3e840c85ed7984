#!/bin/bash
# Runs a test without node fan-in. A program must not notice the difference.
MUSTER_NODE_FANIN=0 exec "$1"
