// The status of the job, in a form that the page can draw. Times are milliseconds since the daemon started.

import { contains } from './words.js';

// A pending collective counts as stuck when no rank has arrived for this many milliseconds.
const STEADY = 1000;

export class Model {
  constructor(status) {
    this.status = status;
    this.members = status.members.map((row) => memberOf(row, status));
    this.byRank = new Map(this.members.filter((m) => m.rank !== null).map((m) => [m.rank, m]));
    this.nodes = nodesOf(this.members);
    this.look(status.at);
  }

  // Decides which pending collectives are stuck at the time `at`. Returns whether that has changed.
  look(at) {
    const stuck = this.status.pending.filter((p) => at - p.latest >= STEADY);
    if (this.stuck && stuck.length === this.stuck.length) return false;
    this.stuck = stuck.sort((a, b) => a.first - b.first);
    this.moving = this.status.pending.length - stuck.length;
    const missed = stuck.flatMap((p) => p.missing);
    for (const member of this.members) member.look = lookOf(member, missed);
    return true;
  }

  // Return the collective, or the lease, that the member waits for; null if there is none.
  waitOf(member) {
    if (member.rank === null) return null;
    return this.status.pending.find((p) => contains(p.arrived, member.rank)) ?? null;
  }
  leaseOf(member) {
    return this.status.leases.find((lease) => lease.title === member.waitsIn) ?? null;
  }
  // Returns the stuck collectives in which others wait for the member.
  missedIn(member) {
    return member.rank === null ? [] : this.stuck.filter((p) => contains(p.missing, member.rank));
  }
  waitersOf(lease) {
    return this.members.filter((m) => m.waitsIn === lease.title);
  }
  latenessOf(member) {
    return member.rank === null ? [] : this.status.late.filter((late) => late.rank === member.rank);
  }
  lossOf(member) {
    return this.status.losses.find((loss) => loss.rank === member.rank && loss.pid === member.pid) ?? null;
  }
}

function memberOf(row, status) {
  const [rank, node, local, state, host, pid, last, waitsIn, waitsSince, called, story, storySince, goesOn] = row;
  return {
    rank,
    nodeId: status.texts[node],
    node: nodeName(status, status.texts[node]),
    local,
    state: status.states[state] ?? 'unknown',
    host: status.texts[host],
    pid,
    last: status.texts[last],
    waitsIn: status.texts[waitsIn],
    waitsSince,
    called,
    story: status.texts[story],
    storySince,
    goesOn: goesOn === 1,
    key: rank === null ? `process-${status.texts[host]}-${pid}` : `rank-${rank}`,
    name: rank === null ? `process ${pid}` : `rank ${rank}`,
  };
}

// Returns the node's name for people: its host, unless several nodes are on that host.
export function nodeName(status, id) {
  return status.nodeNames?.[id] ?? id;
}

function nodesOf(members) {
  const nodes = new Map();
  for (const member of members) {
    if (!nodes.has(member.node)) nodes.set(member.node, []);
    nodes.get(member.node).push(member);
  }
  return nodes;
}

function lookOf(member, missed) {
  if (member.state !== 'running') return member.state;
  if (missed.length && member.rank !== null && contains(missed, member.rank)) return 'missed';
  return member.waitsIn ? 'waiting' : 'running';
}
