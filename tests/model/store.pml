/* The store of keys and values: docs/store.md, whose rules K1 to K16 are named here.
 *
 * The model has one entry, and two clients with operations on it. A third client, if there is
 * one, only holds the entry. The daemon may be killed and restarts without state. Streams break,
 * and the answers in them are lost. Clients die, or are silent for so long that they count as
 * lost. Each step is atomic, and so is the opening of a stream, which carries the claim.
 *
 * The daemon's messages wait in the ordered stream, because each has a snapshot of the entry. A
 * client's messages need no snapshot: while the stream is open, the daemon may read the client's
 * state at any time. So an operation is parked if the daemon does not read it yet.
 *
 * The entry's value is the set of all operations that were ever applied. So the model sees an
 * operation that is lost or applied twice. A result is the operation's place in the order.
 *
 * What must hold:
 *   ONCE      no operation is applied twice
 *   RESULT    no two operations get the same result
 *   HELD      the daemon sends no answer that depends on a change which no client holds
 *   LOST      no change is lost that an answer depends on
 *   RISEN     no value comes back that was deleted
 *   GIVEN_UP  no operation is applied that its client has given up
 *   STUCK     no operation waits for ever while its condition holds
 *   PLACED    at rest, two clients hold the latest revision, and the others hold nothing
 *
 * LOST must hold for any number of deaths of the daemon. If a client is lost too, it must hold
 * for the changes that keeper and copy had confirmed.
 *
 * Each mutation in BUILD.bazel is a define that breaks one rule. Not in this model: several keys,
 * watches, limits, digests, two daemons. */

#ifndef N
#define N 2
#endif
#ifndef K
#define K 1         /* operations of each of the first two clients */
#endif
#define OPERATIONS (2 * K)
#define OWNER(o) ((o) / K)

/* The kinds of operations. */
#define ADD 0       /* or set: it always changes the entry */
#define CAS 1       /* compares with the value that the client knows, and is repeated if it differs */
#define PUSH 2
#define POP 3       /* waits for an element */
#define BARRIER 4   /* arrives, and waits for all arrivals */
#define DELETE 5
#define GET 6       /* waits for the key */
#ifndef OP0
#define OP0 ADD
#endif
#ifndef OP1
#define OP1 ADD
#endif
#ifndef OP2
#define OP2 ADD
#endif
#ifndef OP3
#define OP3 ADD
#endif
#define KIND(o) ((o) == 0 -> OP0 : ((o) == 1 -> OP1 : ((o) == 2 -> OP2 : OP3)))

#ifndef PIPELINED
#define PIPELINED 0 /* 1: a client does not wait for the answer to its first operation */
#endif
#ifndef STRICT
#define STRICT 0    /* 1: every answer waits for the copy, too */
#endif
#ifndef JOIN
#define JOIN 0      /* 1: client 1 is new */
#endif

/* How often each fault may happen. */
#ifndef CRASH
#define CRASH 0     /* the daemon is killed, and restarts without state */
#endif
#ifndef CUT
#define CUT 0       /* a stream breaks */
#endif
#ifndef KILL
#define KILL 0      /* a client dies */
#endif
#ifndef SILENT
#define SILENT 0    /* a living client is away for so long that it counts as lost */
#endif
#ifndef CANCEL
#define CANCEL 0    /* a client gives up an operation that waits */
#endif

/* An entry: its revision, the operations that it contains, whether it is a tombstone, and the
 * results that are not acknowledged. */
#define ENTRY(revision, contained, deleted, results) \
  ((revision) | ((contained) << 5) | ((deleted) << 9) | ((results) << 10))
#define REVISION(e) ((e) & 31)
#define CONTAINED(e) (((e) >> 5) & 15)
#define IS_TOMBSTONE(e) (((e) >> 9) & 1)
#define RESULTS(e) ((e) >> 10)
#define RESULT(e, o) (((e) >> (10 + 3 * (o))) & 7)
#define SIZE(set) (((set) & 1) + (((set) >> 1) & 1) + (((set) >> 2) & 1) + (((set) >> 3) & 1))

/* The list of clients: one bit for each client that has joined, and one for each that is lost. */
#define AT_FIRST (((1 << N) - 1) & ~(JOIN << 1))

/* ---- A client ---- */
#define ALIVE 0
#define ENDED 1     /* it was told that it is lost */
#define DEAD 2
byte phase[N];
#define NO_STREAM 0
#define OPEN 1
#define BROKEN 2    /* the client has not noticed, and may still read what has arrived */
byte stream[N];
int held[N];        /* the entry, as keeper or as holder of the copy; 0: none */
byte known[N] = AT_FIRST; /* the list of clients that it knows */
byte expected[N];   /* what its compare-and-set compares with */

#define SENT 0      /* sent on every stream until it is answered */
#define DONE 1
#define GIVES_UP 2  /* the client has asked the daemon to give the operation up */
#define VOID 3      /* given up */
byte phase_of[OPERATIONS];
byte result_of[OPERATIONS];

/* Messages to a client: kind, operation, list of clients, entry. */
#define CAPACITY 2
chan to[N] = [CAPACITY] of { byte, byte, byte, int };
#define HOLD 1      /* the client holds this entry; it may be the answer to an operation, too */
#define ANSWER 2
#define DIFFERS 3   /* the answer to a compare-and-set that has not changed the entry */
#define GIVEN_UP 4
#define DROP 5      /* the client drops what it holds */
#define CLIENTS 6   /* only the list of clients */
#define NO_OPERATION 7

/* ---- The daemon ---- */
#define NOBODY N
bool recovering;
int entry;          /* 0: there is none */
byte latest;        /* the highest revision that it has given or heard of */
byte keeper = NOBODY;
byte copy = NOBODY; /* the client that holds the copy */
byte may_hold[N + 1];      /* the latest revision that the client may hold; 0: it holds nothing */
byte confirmed[N + 1];     /* the revision that the client certainly holds */
bool answered[OPERATIONS]; /* on the current stream */
byte clients = AT_FIRST;   /* the list */

/* ---- What has happened ---- */
byte crashes, cuts, kills, silences, cancels;
byte silent;        /* clients that count as lost, one bit for each */
byte forgotten;     /* operations of tombstones that the daemon has forgotten */
byte outlasts_one;  /* operations that the death of the daemon must not lose */
byte outlasts_two;  /* operations that the deaths of the daemon and of one client must not lose */
#ifdef OPERATIONS_OF_OLD_STREAMS_COUNT
bool is_late[OPERATIONS];
#endif
#ifdef ONE_CLAIMANT_IS_ASKED
byte claimed[N];
#endif

hidden byte i, j, what, which, list;
hidden int content;

#define ANY(p) (p(0) || p(1) || p(N - 1))
#define ALL(p) (p(0) && p(1) && p(N - 1))
#define IS_ALIVE(c) (phase[c] == ALIVE)
#define IS_OPEN(c) (stream[c] == OPEN)
#define HAS_JOINED(list, c) (((list) >> (c)) & 1)
#define IS_LOST(list, c) (((list) >> (3 + (c))) & 1)
#define IS_CLIENT(c) (HAS_JOINED(clients, c) && !IS_LOST(clients, c))
#define IS_HERE(c) (IS_OPEN(c) && IS_CLIENT(c))
#define HAS_ROOM(c) (len(to[c]) < CAPACITY)
#define DROPS(c) (to[c]??[DROP, _, _, _])
#define ALIVE_WITH(c, revision) (IS_ALIVE(c) && !((silent >> (c)) & 1) && REVISION(held[c]) >= (revision))
#define IS_HELD(revision) \
  (ALIVE_WITH(0, revision) || ALIVE_WITH(1, revision) || ALIVE_WITH(N - 1, revision))

/* Every message has the list of clients (K10). */
inline Send(c, kind, o, e) {
  to[c]!kind, o, clients, e
}

/* A client dies or is lost. If no other client holds as much, only changes that keeper and copy
 * had confirmed must survive the daemon, too. TWO_FAILURES_LOSE_NOTHING demands that all changes
 * survive both deaths: they do only if answers wait for the copy (STRICT). */
inline NoteLossOf(c) {
#ifndef TWO_FAILURES_LOSE_NOTHING
  j = 0; which = 0;
  do
  :: j < N -> which = which || j != c && ALIVE_WITH(j, REVISION(held[c])); j++
  :: else -> break
  od;
  if :: !which -> outlasts_one = outlasts_two :: else fi;
  if :: held[c] != 0 -> outlasts_two = 0 :: else fi;
#endif
  which = 0; j = 0
}

inline CheckLost() {
  assert((outlasts_one & ~(CONTAINED(entry) | forgotten)) == 0);  /* LOST */
  assert((CONTAINED(entry) & forgotten) == 0)  /* RISEN */
}

/* The daemon notices the end of the client's stream. */
inline Close(c) {
  j = 0;
  do
  :: j < OPERATIONS ->
#ifdef OPERATIONS_OF_OLD_STREAMS_COUNT
    if :: OWNER(j) == c && phase_of[j] == SENT && !answered[j] && crashes == 0 -> is_late[j] = 1 :: else fi;
#endif
    if :: OWNER(j) == c -> answered[j] = 0 :: else fi;
    j++
  :: else -> break
  od;
#ifdef DETACHED_CLIENTS_HOLD_NOTHING
  may_hold[c] = confirmed[c];
#endif
  j = 0
}

/* Chooses a client for the copy if no client has it. */
inline ChooseCopy() {
  if
  :: copy != NOBODY && (copy == keeper || !IS_CLIENT(copy)) -> copy = NOBODY
  :: else
  fi;
  j = N;
  do
  :: j > 0 ->
    j--;
    if :: copy == NOBODY && j != keeper && IS_CLIENT(j) -> copy = j :: else fi
  :: else -> break
  od;
  j = 0
}

/* The client is lost. Another client keeps its entry (K8). */
inline Lose(c) {
  clients = clients | (8 << c);
  confirmed[c] = 0; may_hold[c] = 0;
#ifndef KEEPERS_ARE_NOT_REPLACED
  if
  :: keeper == c -> keeper = copy; copy = NOBODY
  :: copy == c -> copy = NOBODY
  :: else
  fi;
  if
  :: entry != 0 && keeper == NOBODY -> ChooseCopy(); keeper = copy; copy = NOBODY
  :: else
  fi;
  if :: keeper != NOBODY -> ChooseCopy() :: else fi
#endif
}

/* An answer that depends on the entry has reached its client, which may hold it now. */
inline Reveal(e, holds) {
  if
  :: holds || kills + silences == 0 || IS_HELD(REVISION(e)) -> outlasts_one = outlasts_one | CONTAINED(e)
  :: else
  fi
}

inline Complete(o, e, holds) {
  if
  :: phase_of[o] == SENT || phase_of[o] == GIVES_UP ->
    phase_of[o] = DONE;
    if
    :: KIND(o) != GET ->
      assert((CONTAINED(e) >> o) & 1);
      result_of[o] = RESULT(e, o);
      j = 0;
      do
      :: j < OPERATIONS ->
        assert(j == o || result_of[j] != result_of[o] || KIND(j) == GET || kills + silences > 0);  /* RESULT */
        j++
      :: else -> break
      od;
      j = 0
    :: else
    fi;
    Reveal(e, holds)
  :: else
  fi
}

inline Receive(c) {
  to[c]?what, which, list, content;
#ifdef THE_LIST_COMES_LATE
  if :: what == CLIENTS -> known[c] = known[c] | list :: else fi;
#else
  known[c] = known[c] | list;
#endif
  if
  :: what == HOLD ->
    if
#ifdef RESULTS_ARE_NOT_KEPT
    :: REVISION(content) > REVISION(held[c]) -> held[c] = ENTRY(REVISION(content), CONTAINED(content), 0, 0)
#else
    :: REVISION(content) > REVISION(held[c]) -> held[c] = content
#endif
    :: else
    fi;
    if :: which != NO_OPERATION -> Complete(which, content, 1) :: else fi
  :: what == ANSWER -> Complete(which, content, 0)
  :: what == DIFFERS -> expected[c] = CONTAINED(content); answered[which] = 0; Reveal(content, 0)
  :: what == GIVEN_UP ->
    if :: phase_of[which] == GIVES_UP -> phase_of[which] = VOID :: else fi
  :: what == DROP ->
    if :: REVISION(held[c]) <= REVISION(content) -> held[c] = 0 :: else fi
  :: else
  fi;
  what = 0; which = 0; list = 0; content = 0
}

inline Clear(c) {
  do
  :: len(to[c]) > 0 -> to[c]?what, which, list, content
  :: else -> break
  od;
  what = 0; which = 0; list = 0; content = 0
}

/* Opens a stream, with the claim (K12). */
inline OpenStream(c) {
  if
  :: !recovering && IS_LOST(clients, c) -> phase[c] = ENDED
  :: else ->
    if
    /* K15 */
    :: !recovering && !HAS_JOINED(clients, c) -> held[c] = 0
    :: else
    fi;
    clients = clients | known[c] | (1 << c);
    stream[c] = OPEN;
#ifdef ONE_CLAIMANT_IS_ASKED
    claimed[c] = REVISION(held[c]);
#endif
    may_hold[c] = REVISION(held[c]); confirmed[c] = REVISION(held[c])
  fi
}

/* Whether keeper and copy have confirmed the entry, so that other clients may drop theirs (K7). */
#define IS_PLACED \
  (keeper == NOBODY || confirmed[keeper] == REVISION(entry) && \
   (copy == NOBODY || confirmed[copy] == REVISION(entry)))
#ifdef OLD_HOLDERS_DROP_AT_ONCE
#define MAY_DROP 1
#endif
#ifdef DETACHED_HOLDERS_COUNT
#define MAY_DROP IS_PLACED
#endif
#ifndef MAY_DROP
#define MAY_DROP (IS_PLACED && (keeper == NOBODY || IS_HERE(keeper)) && (copy == NOBODY || IS_HERE(copy)))
#endif
#define IS_HOLDER(c) ((c) == keeper || (c) == copy)
#ifdef ENTRIES_HAVE_NO_COPY
#define GETS_ENTRY(c) ((c) == keeper)
#else
#define GETS_ENTRY(c) IS_HOLDER(c)
#endif

/* Whether all other clients know this client (K11). */
#define IS_TOLD(x, c) ((x) == (c) || !IS_CLIENT(x) || IS_OPEN(x) && HAS_JOINED(known[x], c))
#ifdef CLIENTS_ARE_NOT_ANNOUNCED
#define IS_KNOWN(c) 1
#endif
#ifdef CLIENTS_ARE_ANNOUNCED_TO_ONE
#define KNOWS(x, c) ((x) != (c) && IS_HERE(x) && HAS_JOINED(known[x], c))
#define IS_KNOWN(c) (KNOWS(0, c) || KNOWS(1, c) || KNOWS(N - 1, c))
#endif
#ifndef IS_KNOWN
#define IS_KNOWN(c) (IS_TOLD(0, c) && IS_TOLD(1, c) && IS_TOLD(N - 1, c))
#endif

active [N] proctype Client() {
end:
  do
  :: d_step { IS_ALIVE(_pid) && stream[_pid] != NO_STREAM && len(to[_pid]) > 0 -> Receive(_pid) }
  /* The client notices the end of its stream, and opens another one. */
  :: d_step { IS_ALIVE(_pid) && stream[_pid] == BROKEN ->
      stream[_pid] = NO_STREAM;
#ifndef ANSWERS_OF_OLD_STREAMS_COUNT
      Clear(_pid);
#endif
      skip }
  :: d_step { IS_ALIVE(_pid) && stream[_pid] == NO_STREAM -> OpenStream(_pid) }
  /* Another client's list says that this client is lost. */
  :: d_step { IS_ALIVE(_pid) && IS_OPEN(_pid) && !recovering && IS_LOST(clients, _pid) ->
      phase[_pid] = ENDED; stream[_pid] = NO_STREAM; Clear(_pid); Close(_pid) }

  /* The daemon sends the entry to the keeper and to the copy's holder. */
  :: d_step { !recovering && entry != 0 && GETS_ENTRY(_pid) && IS_HERE(_pid) && IS_KNOWN(_pid) &&
      HAS_ROOM(_pid) && may_hold[_pid] < REVISION(entry) ->
      may_hold[_pid] = REVISION(entry); Send(_pid, HOLD, NO_OPERATION, entry) }
  /* The client confirms what it holds. */
  :: d_step { IS_HERE(_pid) && !recovering && !DROPS(_pid) && (confirmed[_pid] != REVISION(held[_pid]) ||
      may_hold[_pid] != REVISION(held[_pid]) && len(to[_pid]) == 0) ->
      confirmed[_pid] = REVISION(held[_pid]);
      if :: len(to[_pid]) == 0 -> may_hold[_pid] = confirmed[_pid] :: else fi;
#ifndef TWO_FAILURES_LOSE_NOTHING
      if
      :: entry != 0 && IS_HOLDER(_pid) && confirmed[_pid] == REVISION(entry) ->
        outlasts_one = outlasts_one | CONTAINED(entry);
        if
        :: copy != NOBODY && confirmed[keeper] == confirmed[copy] && IS_ALIVE(keeper) && IS_ALIVE(copy) ->
          outlasts_two = outlasts_two | CONTAINED(entry)
        :: else
        fi
      :: else
      fi;
#endif
      skip }
  /* The daemon tells a client to drop an older revision. */
  :: d_step { !recovering && IS_HERE(_pid) && !IS_HOLDER(_pid) && confirmed[_pid] > 0 && MAY_DROP &&
      HAS_ROOM(_pid) ->
      confirmed[_pid] = 0; Send(_pid, DROP, NO_OPERATION, latest) }
  :: d_step { !recovering && IS_HERE(_pid) && (clients & ~known[_pid]) != 0 && len(to[_pid]) == 0 ->
      Send(_pid, CLIENTS, NO_OPERATION, 0) }

  /* The client is lost: it has ended, or has been silent for longer than the grace. */
  :: d_step { !recovering && IS_CLIENT(_pid) && !IS_ALIVE(_pid) -> Lose(_pid) }
  :: d_step { IS_CLIENT(_pid) && IS_ALIVE(_pid) && stream[_pid] == NO_STREAM && silences < SILENT ->
      silences++; silent = silent | (1 << _pid);
      if :: recovering -> clients = clients | (8 << _pid) :: else -> Lose(_pid) fi;
      NoteLossOf(_pid) }

  /* Faults. */
  :: d_step { IS_ALIVE(_pid) && kills < KILL ->
      kills++; phase[_pid] = DEAD; stream[_pid] = NO_STREAM; Clear(_pid); Close(_pid); NoteLossOf(_pid) }
  :: d_step { IS_ALIVE(_pid) && IS_OPEN(_pid) && cuts < CUT -> cuts++; stream[_pid] = BROKEN; Close(_pid) }
  od
}

#define IS_OF(o, kind) (KIND(o) == (kind))
#define HAS(o, kind) ((o) < OPERATIONS && IS_OF(o, kind) && ((CONTAINED(entry) >> (o)) & 1))
#define NUMBER_OF(kind) (HAS(0, kind) + HAS(1, kind) + HAS(2, kind) + HAS(3, kind))
#define IS_IN(o, kind) ((o) < OPERATIONS && IS_OF(o, kind))
#define WORLD (IS_IN(0, BARRIER) + IS_IN(1, BARRIER) + IS_IN(2, BARRIER) + IS_IN(3, BARRIER))
#define IS_SET (entry != 0 && !IS_TOMBSTONE(entry))

/* Whether an answer may depend on the entry (K5). */
#define HAS_CONFIRMED(c) (confirmed[c] == REVISION(entry))
#ifdef ANSWERS_DO_NOT_WAIT_FOR_A_HOLDER
#define IS_SAFE 1
#endif
#ifdef EVERY_CONFIRMATION_COUNTS
#define IS_SAFE ANY(HAS_CONFIRMED)
#endif
#ifndef IS_SAFE
#define IS_SAFE \
  (STRICT -> IS_PLACED : keeper == NOBODY || HAS_CONFIRMED(keeper) || copy != NOBODY && HAS_CONFIRMED(copy))
#endif

#define OPERATION (_pid - N)
#define BY OWNER(OPERATION)
#define IS_NEXT(o) ((o) % K == 0 || PIPELINED || phase_of[(o) - 1] == DONE || phase_of[(o) - 1] == VOID)
#define IS_ASKED \
  (!recovering && IS_HERE(BY) && IS_KNOWN(BY) && IS_NEXT(OPERATION) && !answered[OPERATION] && HAS_ROOM(BY))
#define IS_RECORDED (RESULT(entry, OPERATION) != 0)
#define CAN_CHANGE \
  (!IS_OF(OPERATION, GET) && (!IS_OF(OPERATION, CAS) || CONTAINED(entry) == expected[BY]) && \
   (!IS_OF(OPERATION, POP) || NUMBER_OF(PUSH) > NUMBER_OF(POP)))
#define IS_READY (!IS_OF(OPERATION, BARRIER) || NUMBER_OF(BARRIER) >= WORLD)

/* Applies the operation. Its client becomes the keeper, except where the entry would travel with
 * every operation (K4). The entry loses the results that are acknowledged. */
#define LEAVES_KEEPER(o) (IS_OF(o, PUSH) || IS_OF(o, POP) || IS_OF(o, BARRIER))
inline Apply(o) {
  assert((((CONTAINED(entry) | forgotten) >> o) & 1) == 0);  /* ONCE */
  content = RESULTS(entry); j = 0;
  do
  :: j < OPERATIONS ->
    if
    :: phase_of[j] == DONE || IS_LOST(clients, OWNER(j)) -> content = content & ~(7 << (3 * j))
#ifdef ONE_RESULT_FOR_EACH_CLIENT
    :: OWNER(j) == OWNER(o) -> content = content & ~(7 << (3 * j))
#endif
    :: else
    fi;
    j++
  :: else -> break
  od;
  content = content | ((SIZE(CONTAINED(entry) | forgotten) + 1) << (3 * o));
  latest++;
  entry = ENTRY(latest, CONTAINED(entry) | (1 << o), IS_OF(o, DELETE), content);
  if
  :: keeper != NOBODY && LEAVES_KEEPER(o) -> skip
  :: else ->
    if :: copy == OWNER(o) -> copy = keeper :: else fi;
    keeper = OWNER(o)
  fi;
  ChooseCopy();
  content = 0
}

/* The entry without the results. A client that has died still has what it held. */
#define VALUE(e) ((e) & 1023)
#define HAS_HELD(c) (VALUE(held[c]) == VALUE(entry))
#define WAS_HELD (entry == 0 || ANY(HAS_HELD))

/* Answers an operation that was applied before, or a read. */
inline SendAnswer(o) {
  assert(WAS_HELD);  /* HELD */
  answered[o] = 1;
#ifdef RESULTS_ARE_COMPUTED_AGAIN
  if
  :: KIND(o) != GET ->
    Send(OWNER(o), ANSWER, o,
         ENTRY(REVISION(entry), CONTAINED(entry), 0, SIZE(CONTAINED(entry) | forgotten) << (3 * o)))
  :: else -> Send(OWNER(o), ANSWER, o, entry)
  fi
#else
  Send(OWNER(o), ANSWER, o, entry)
#endif
}

active [OPERATIONS] proctype Operation() {
end:
  do
  :: d_step { IS_ASKED && phase_of[OPERATION] == SENT && !IS_RECORDED && CAN_CHANGE ->
      Apply(OPERATION);
      if
      /* The answer waits for a holder, for the copy, or for the other arrivals. */
      :: keeper != BY || STRICT || !IS_READY -> skip
      :: else ->
        answered[OPERATION] = 1;
#ifdef ANSWERS_DO_NOT_CARRY_THE_ENTRY
        Send(BY, ANSWER, OPERATION, entry)
#else
        may_hold[BY] = REVISION(entry); Send(BY, HOLD, OPERATION, entry)
#endif
#ifdef RESULTS_END_WITH_THE_ANSWER
        ; entry = entry & ~(7 << (10 + 3 * OPERATION))
#endif
      fi }
  :: d_step { IS_ASKED && (phase_of[OPERATION] == SENT || phase_of[OPERATION] == GIVES_UP) && IS_RECORDED &&
      IS_READY && IS_SAFE -> SendAnswer(OPERATION) }
  :: d_step { IS_ASKED && phase_of[OPERATION] == SENT && IS_OF(OPERATION, CAS) && !IS_RECORDED && !CAN_CHANGE &&
      IS_SAFE ->
      assert(WAS_HELD);  /* HELD */
      answered[OPERATION] = 1; Send(BY, DIFFERS, OPERATION, entry) }
  :: d_step { IS_ASKED && phase_of[OPERATION] == SENT && IS_OF(OPERATION, GET) && IS_SET && IS_SAFE ->
      SendAnswer(OPERATION) }
  /* The client gives the operation up. */
  :: d_step { IS_ALIVE(BY) && IS_NEXT(OPERATION) && phase_of[OPERATION] == SENT && cancels < CANCEL &&
      (IS_OF(OPERATION, GET) || IS_OF(OPERATION, POP)) ->
      cancels++;
#ifdef GIVEN_UP_WITHOUT_AN_ANSWER
      phase_of[OPERATION] = VOID }
#else
      phase_of[OPERATION] = GIVES_UP }
#endif
  :: d_step { IS_ASKED && phase_of[OPERATION] == GIVES_UP && !IS_RECORDED ->
      answered[OPERATION] = 1; Send(BY, GIVEN_UP, OPERATION, 0) }
#ifdef OPERATIONS_OF_OLD_STREAMS_COUNT
  :: d_step { is_late[OPERATION] && !recovering && !IS_RECORDED && CAN_CHANGE ->
      is_late[OPERATION] = 0; Apply(OPERATION) }
#endif
  od
}

#ifdef RECOVERY_ENDS_WITH_THE_FIRST_CLAIM
#define ALL_ARE_BACK 1
#else
#define IS_BACK(c) (!IS_CLIENT(c) || IS_OPEN(c) || !IS_ALIVE(c))
#define ALL_ARE_BACK ALL(IS_BACK)
#endif
#ifdef ANY_CLAIM_WINS
#define IS_BETTER(c) (entry == 0 && held[c] != 0)
#else
#define IS_BETTER(c) (REVISION(held[c]) > REVISION(entry))
#endif

/* Ends the recovery. The daemon fetches the entry from a client that claims the highest revision;
 * if that client has ended, from the next one (K13). */
inline Recover() {
  recovering = 0; i = 0;
  do
  :: i < N ->
#ifdef LOST_CLIENTS_CLAIM
    if :: IS_OPEN(i) -> clients = clients & ~(8 << i) :: else fi;
#endif
    if :: IS_HERE(i) && IS_BETTER(i) -> entry = held[i]; keeper = i :: else fi;
    i++
  :: else -> break
  od;
  /* Its holders may still have a tombstone that the daemon had forgotten. */
  if :: IS_TOMBSTONE(entry) -> forgotten = forgotten & ~CONTAINED(entry) :: else fi;
  latest = REVISION(entry); i = 0;
#ifdef ONE_CLAIMANT_IS_ASKED
  do
  :: i < N ->
    if :: claimed[i] > REVISION(entry) -> entry = 0; keeper = NOBODY; break :: else fi;
    i++
  :: else -> break
  od;
  i = 0;
#endif
#ifdef CLIENTS_FORGET_WHAT_THEY_CLAIM
  do
  :: i < N -> held[i] = 0; confirmed[i] = 0; may_hold[i] = 0; i++
  :: else -> break
  od;
  i = 0;
#endif
  do
  :: i < N ->
    if
    :: entry != 0 && i != keeper && IS_HERE(i) && confirmed[i] == REVISION(entry) -> copy = i
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0;
  if :: entry != 0 -> ChooseCopy() :: else fi
}

#ifdef DELETIONS_LEAVE_NOTHING
#define IS_REPLACED(c) 1
#endif
#ifdef TOMBSTONES_DO_NOT_WAIT_FOR_OLD_HOLDERS
#define IS_REPLACED(c) (!IS_HOLDER(c) || confirmed[c] == REVISION(entry))
#endif
#ifndef IS_REPLACED
#define IS_REPLACED(c) \
  (!IS_CLIENT(c) || (IS_HOLDER(c) -> confirmed[c] == REVISION(entry) : may_hold[c] == 0))
#endif
#ifdef TOMBSTONES_FORGET_OPERATIONS
#define IS_ACKNOWLEDGED(o) 1
#else
#define IS_ACKNOWLEDGED(o) \
  ((o) >= OPERATIONS || RESULT(entry, o) == 0 || phase_of[o] == DONE || IS_LOST(clients, OWNER(o)))
#endif

active proctype Daemon() {
end:
  do
  :: d_step { recovering && ANY(IS_OPEN) && ALL_ARE_BACK -> Recover(); CheckLost() }
  /* The daemon forgets a tombstone (K9). Its holders drop it later. */
  :: d_step { !recovering && IS_TOMBSTONE(entry) && ALL(IS_REPLACED) && IS_ACKNOWLEDGED(0) &&
      IS_ACKNOWLEDGED(1) && IS_ACKNOWLEDGED(2) && IS_ACKNOWLEDGED(3) ->
      forgotten = forgotten | CONTAINED(entry);
      entry = 0; keeper = NOBODY; copy = NOBODY;
#ifdef REVISIONS_START_ANEW
      latest = 0;
#endif
      skip }
  /* The daemon is killed, and all its state is gone. */
  :: d_step { crashes < CRASH ->
      crashes++; recovering = 1;
      entry = 0; latest = 0; keeper = NOBODY; copy = NOBODY; clients = 0;
      i = 0;
      do
      :: i < N ->
        if :: IS_OPEN(i) -> stream[i] = BROKEN :: else fi;
        Close(i); may_hold[i] = 0; confirmed[i] = 0;
#ifdef ONE_CLAIMANT_IS_ASKED
        claimed[i] = 0;
#endif
        i++
      :: else -> break
      od;
      i = 0 }
  od
}

/* Whether the operation is answered, or its condition does not hold. */
#define MAY_WAIT(o) \
  (phase_of[o] == DONE || phase_of[o] == VOID || !IS_ALIVE(OWNER(o)) || !IS_NEXT(o) || \
   IS_OF(o, POP) && NUMBER_OF(PUSH) <= NUMBER_OF(POP) || IS_OF(o, BARRIER) && NUMBER_OF(BARRIER) < WORLD || \
   IS_OF(o, GET) && !IS_SET)
#define IS_MEMBER(c) (IS_ALIVE(c) && IS_CLIENT(c))
#define MEMBERS (IS_MEMBER(0) + IS_MEMBER(1) + (N > 2 && IS_MEMBER(N - 1)))
#define IS_HELD_BY(c) (IS_MEMBER(c) && REVISION(held[c]) == REVISION(entry))

/* No step is left. */
inline CheckRest() {
  assert(!recovering);  /* STUCK */
  i = 0;
  do
  :: i < OPERATIONS ->
    assert(MAY_WAIT(i));  /* STUCK */
    assert(phase_of[i] != VOID || (((CONTAINED(entry) | forgotten) >> i) & 1) == 0);  /* GIVEN_UP */
    i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < N -> assert(!IS_MEMBER(i) || IS_HOLDER(i) || held[i] == 0); i++  /* PLACED */
  :: else -> break
  od;
  assert(entry == 0 || IS_HELD_BY(keeper) && (MEMBERS == 1 || copy != NOBODY && IS_HELD_BY(copy)));  /* PLACED */
  i = 0
}

active proctype Watch() {
  timeout ->
  if
  :: MEMBERS > 0 -> d_step { CheckRest(); CheckLost() }
  :: else
  fi
}
