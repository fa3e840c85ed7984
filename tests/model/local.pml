/* Collectives that complete on their node: docs/node-fan-in.md, rules R16 to R20 (a design).
 *
 * All N members are on one node. They make K collectives (all-gathers), and then call Leave. A
 * sender that holds all parts may commit the collective itself, and reports that to the daemon
 * later. In any other case, the parts go to the daemon, as in fan_in.pml. Each of these is a step
 * of its own: a post, each take, the copy with the result that it gives, the commit, each
 * publication, both halves of a revocation, and a report. A member may die or be stopped between
 * any two steps. Timers fire at any time. Messages overtake one another, and are lost with their
 * connection. Attach is one step. `valid` stands for the count in the commit word: it says whether
 * the word is as the sender has read it.
 *
 * What must hold:
 *   COMMIT   a commit finds every member in its slot, or dead: so all have arrived, and no member
 *            has given up, ended or asked the daemon meanwhile
 *   ONCE     no member gets the result of a committed collective from the daemon
 *   AGREE    all members that complete a collective get the same result
 *   WRONG    no member takes a result of another number from a slot
 *   STOP     all members learn of a stop request at the same collective: at the latest at the first
 *            that the asking member began afterwards, and at the first of a later epoch
 *   ENDED    no member ends with an error unless a process was lost or is stopped
 *   REFUSED  the daemon refuses no call, since the members follow the rules
 *   TOLD     when all have left, the daemon knows of every collective
 *   STUCK    every living member comes to an end, or is parked at the daemon if a sender is stopped
 *
 * Each mutation in BUILD.bazel is a define that breaks one rule. A slot's attempt stands for its
 * generation, and a session for session and epoch. Other models have withdrawals, the answers to
 * batches, torn results and the roster. Not in this model: memory order, real times, two groups,
 * disagreements, a stopped process in the epoch after its loss (its segment is another one), two
 * daemons. */

#ifndef N
#define N 2
#endif
#ifndef K
#define K 2
#endif
/* How often each fault may happen. */
#ifndef CRASH
#define CRASH 0    /* the daemon is killed, and restarts without state */
#endif
#ifndef CUT
#define CUT 0      /* a connection breaks */
#endif
#ifndef KILL
#define KILL 0     /* a process dies */
#endif
#ifndef PAUSE
#define PAUSE 0    /* a sender is stopped, and later goes on; the daemon may call it lost */
#endif
#ifndef STOP
#define STOP 0     /* a sender is stopped for good, and keeps its connection */
#endif
#ifndef CANCEL
#define CANCEL 0   /* the program gives up its call */
#endif
#ifndef REFUSE
#define REFUSE 0   /* the daemon has no room for a member's own call; no part goes to the daemon */
#endif
#ifndef LOSE
#define LOSE 0     /* a report is lost, but not its connection */
#endif
#ifndef COPY
#define COPY 0     /* a report arrives twice */
#endif
#ifndef ASK
#define ASK 0      /* a member asks all to stop */
#endif
#ifndef ELASTIC
#define ELASTIC 0  /* 1: after a loss, the survivors and a new process begin another epoch */
#endif

#ifndef QUEUE
#define QUEUE 10
#endif
#include "network.pml"

#define MESSAGE(kind, who, s, a, n, x) \
  ((kind) | ((who) << 3) | ((s) << 5) | ((a) << 9) | ((n) << 14) | ((x) << 16))
#define KIND(m) ((m) & 7)
#define WHO(m) (((m) >> 3) & 3)
#define SESSION(m) (((m) >> 5) & 15)
#define ATTEMPT(m) (((m) >> 9) & 31)
#define NUMBER(m) (((m) >> 14) & 3)
#define CONTENT(m) (((m) >> 16) & 63)
#define CALL 1     /* to the daemon: an arrival, from its member or from a sender */
#define CALL_END 2
#define REPORT 3   /* to the daemon: all collectives below the number are complete */
#define CLOSE 4
#define RESULT 5   /* to the member */
#define NO_ROOM 6  /* to the member: refused, and nothing is recorded */
#define LEAVER 7   /* to the member: a rank of the group has called Leave (C7) */

/* ---- A member ---- */
#define IDLE 0
#define WAITS 1
#define LEAVES 2
#define LEFT 3
#define ENDED 4    /* with ABORTED */
#define DEAD 5
byte phase[N];
byte number[N];
byte session[N] = 1;
byte sessions[N] = 1;
bool cut[N];
bool paused[N];
bool for_good[N];  /* it stays stopped */
byte attempts[N];
#define BY_SLOT 1
#define BY_CALL 2
#define REVOKES 3  /* its slot is empty, and it has not looked at the commit word */
byte way[N];
byte in_flight[N];
byte calls[N];     /* how often the number was sent by a call of its own, or may have been: 0 to 2 */
byte content[N];   /* of the current number, once sent: 1 or 2 */
bool changes[N];   /* its content at this number was refused, and another one follows */
byte kept[N];      /* its content at the number before */
bool knows_stop[N];/* it has asked for a stop, or was told of one */
byte stop_from[N]; /* 1 + the number at which it learned that all stop; 0: not yet */
byte unreported[N];/* the number below which its commits are not reported; 0: all are */
bool reports[N];   /* a report is on its way */
#define GIVES_UP 1
#define CALLS 2
#define DETACHES 3
#define ENDS 4
byte why[N];       /* of the revocation */

/* What it does as a sender. */
#define TAKES 1
#define COMMITS 2
#define PUBLISHES 3
byte batch[N];
byte batch_number[N];
byte next_slot[N];
byte taken[N * N]; /* the attempt of each slot that it has taken; 0: none */
bool valid[N];     /* the commit word is as this sender has read it */

/* ---- The segment ---- */
#define EMPTY 0
#define ARRIVED 1
#define TAKEN 2
#define ANSWERED 3
byte slot[N];
byte slot_by[N];
byte slot_session[N];
byte slot_attempt[N];
byte slot_number[N];
byte slot_content[N];
bool slot_stop[N];
byte area[N];      /* the result that the member has written as a sender, and 1 + its number */
byte area_number[N];
byte committed;    /* the commit word: 1 + the number of the last commit, and its sender */
byte committed_by;

/* ---- The daemon ---- */
byte instance;
bool recovering;
bool attached[N] = 1;
byte current[N] = 1;
bool heard[N];
byte sequence;
byte arrived[N];
byte arrived_as[N];
byte waiter[N];
byte past[N];
byte past_as[N];
byte past_waiter[N];
bool leaving[N];
bool broken;
bool asked;        /* a stop */
byte stop_at;      /* 1 + the number of the first collective that says so; 0: none */

/* ---- What has happened ---- */
byte crashes, cuts, kills, stops, cancels, refusals, losses, copies, asks, epochs;
byte result_of[K];
bool is_local[K];  /* it was committed on the node */
byte stop_of[K];   /* 1: those that have completed it know of no stop; 2: they know of one */
bool must_stop[K]; /* those that complete it must know */

hidden byte i, j, k, next, outcome, who, s, a, n, x, stop;
hidden byte all, known;

#define ANY(p) (p(0) || p(1) || p(N - 1))
#define ALL(p) (p(0) && p(1) && p(N - 1))
#define ALIVE(m) (phase[m] < LEFT)
#define RUNS(m) (ALIVE(m) && !paused[m])
#define TALKS(m) (session[m] != 0 && !cut[m] && attached[m] && current[m] == session[m])
#define IN_SLOT(m) (phase[m] == WAITS && way[m] == BY_SLOT)
#define IS_STILL_TAKEN(by, j) \
  (taken[(by) * N + (j)] != 0 && slot[j] == TAKEN && slot_by[j] == (by) && slot_attempt[j] == taken[(by) * N + (j)])
#define ANSWER_COUNTS(m, s, a) \
  (phase[m] == WAITS && (s) == session[m] && (a) == in_flight[m] && \
   (way[m] == BY_CALL || way[m] == BY_SLOT && slot[m] == TAKEN))

#ifdef REPORTS_OF_OLD_SESSIONS_COUNT
#define REPORT_COUNTS(m, s) 1
#else
#define REPORT_COUNTS(m, s) ((s) == current[m])
#endif

/* Messages that change nothing, whenever they arrive. */
#define USELESS(m) \
  ((KIND(m) <= CALL_END || KIND(m) == CLOSE) && SESSION(m) != current[WHO(m)] || \
   KIND(m) == REPORT && !REPORT_COUNTS(WHO(m), SESSION(m)) || \
   KIND(m) >= RESULT && !ANSWER_COUNTS(WHO(m), SESSION(m), ATTEMPT(m)))

inline Clean() {
  j = 0;
  do
  :: j < on_way ->
    if
    :: USELESS(net[j]) -> Remove(j)
    :: else -> j++
    fi
  :: else -> break
  od;
  j = 0
}

/* ---- What the daemon does ---- */
#define SAYS_STOP(n) (stop_at != 0 && (n) + 1 >= stop_at)

/* The result of the past collective: one bit for each member, the stop, and a last bit that is
 * always set. */
inline ResultOf() {
  outcome = 1; j = 0;
  do
  :: j < N -> outcome = outcome + (4 << j) * (past[j] - 1); j++
  :: else -> break
  od;
  if :: SAYS_STOP(sequence - 1) -> outcome = outcome + 2 :: else fi
}

inline AnswerPast() {
  known = 1; i = 0;
  do
  :: i < N -> known = known && past[i] != 0; i++
  :: else -> break
  od;
  if
  :: known ->
    ResultOf();
    i = 0;
    do
    :: i < N ->
      if
      :: past_waiter[i] != 0 ->
        Send(MESSAGE(RESULT, i, current[i], past_waiter[i], sequence - 1, outcome));
        past_waiter[i] = 0
      :: else
      fi;
      i++
    :: else -> break
    od
  :: else
  fi
}

/* Every collective below `next` has completed. */
inline MoveOn() {
  i = 0;
  do
  :: i < N ->
    assert(next == sequence + 1 || waiter[i] == 0 || waiter[i] != in_flight[i] || phase[i] != WAITS);  /* REFUSED */
    past[i] = (next == sequence + 1 -> arrived[i] : 0);
    past_as[i] = (next == sequence + 1 -> arrived_as[i] : 0);
    past_waiter[i] = (next == sequence + 1 -> waiter[i] : 0);
    arrived[i] = 0; waiter[i] = 0; arrived_as[i] = 0;
    i++
  :: else -> break
  od;
  sequence = next;
  AnswerPast()
}

/* R18: what a member says of its progress is believed, whenever it says so. */
#ifdef ONLY_FIRST_WORDS_ARE_BELIEVED
#define MAY_BE_AHEAD(m) (!heard[m] && instance > 0)
#else
#define MAY_BE_AHEAD(m) 1
#endif
inline Observe(m, at) {
  if
  :: MAY_BE_AHEAD(m) && at > sequence -> next = at; MoveOn()
  :: else
  fi;
  heard[m] = 1
}

/* Answers the Attach call, and accepts the claim. */
inline Enter(m) {
  attached[m] = 1; waiter[m] = 0; past_waiter[m] = 0;
  asked = asked || knows_stop[m] || stop_from[m] != 0;
  if :: stop_from[m] != 0 -> stop_at = stop_from[m] :: else fi;
  Observe(m, number[m]);
  unreported[m] = 0; reports[m] = 0;
  if :: phase[m] == LEAVES -> leaving[m] = 1 :: else fi
}

#define IS_LEAVING(m) (leaving[m])

/* C7: collectives that need a leaver fail. */
inline FailParked() {
  i = 0;
  do
  :: i < N ->
    if
    :: waiter[i] != 0 -> Send(MESSAGE(LEAVER, i, current[i], waiter[i], sequence, 0)); waiter[i] = 0
    :: else
    fi;
    i++
  :: else -> break
  od
}

inline Complete() {
  all = 1; i = 0;
  do
  :: i < N -> all = all && waiter[i] != 0; i++
  :: else -> break
  od;
  if
  :: all ->
    if :: asked && stop_at == 0 -> stop_at = sequence + 1 :: else fi;
    next = sequence + 1;
    MoveOn()
  :: else
  fi
}

inline Arrive() {
  Observe(who, n);
  if
  :: n == sequence ->
    if
    :: a <= arrived_as[who] -> skip  /* CANCELLED */
    :: a > arrived_as[who] && ANY(IS_LEAVING) -> Send(MESSAGE(LEAVER, who, s, a, n, 0))
    :: else ->
      assert(arrived[who] == 0 || arrived[who] == x);  /* REFUSED: the content has changed */
      arrived[who] = x; arrived_as[who] = a; waiter[who] = a;
      Complete()
    fi
  :: n + 1 == sequence ->
    if
    :: a < past_as[who] -> skip  /* CANCELLED */
    :: else ->
      if :: past[who] == 0 -> past[who] = x :: else fi;
      past_as[who] = a; past_waiter[who] = a;
      AnswerPast()
    fi
  :: else -> assert(!ANSWER_COUNTS(who, s, a))  /* REFUSED */
  fi
}

inline EndCall() {
  j = 0;
  do
  :: j < on_way ->
    if
    :: KIND(net[j]) == CALL && WHO(net[j]) == who && ATTEMPT(net[j]) == a -> Remove(j)
    :: else -> j++
    fi
  :: else -> break
  od;
  if :: waiter[who] == a -> waiter[who] = 0 :: else fi;
  if :: past_waiter[who] == a -> past_waiter[who] = 0 :: else fi
}

/* ---- What a member does ---- */
inline EmptySlot(m) {
  slot[m] = EMPTY; slot_by[m] = 0; slot_session[m] = 0; slot_attempt[m] = 0; slot_number[m] = 0;
  slot_content[m] = 0; slot_stop[m] = 0
}
inline ForgetBatch(m) {
  batch[m] = 0; batch_number[m] = 0; next_slot[m] = 0; valid[m] = 0; k = 0;
  do :: k < N -> taken[m * N + k] = 0; k++ :: else -> break od;
  k = 0
}
inline SendOwnCall(m) {
  way[m] = 0; in_flight[m] = 0;
  if
  :: session[m] != 0 ->
    attempts[m]++; assert(attempts[m] <= 31);
    way[m] = BY_CALL; in_flight[m] = attempts[m];
    if :: calls[m] < 2 -> calls[m]++ :: else fi;
    Send(MESSAGE(CALL, m, session[m], attempts[m], number[m], content[m]))
  :: else
  fi
}
/* Completes the member's collective with this result. */
inline TakeResult(m, result) {
  x = result & 61; stop = (result >> 1) & 1;
  assert(result_of[number[m]] == 0 || result_of[number[m]] == x);  /* AGREE */
  result_of[number[m]] = x;
  if :: stop && stop_from[m] == 0 -> stop_from[m] = number[m] + 1; knows_stop[m] = 1 :: else fi;
  stop = (stop_from[m] != 0);
  assert(stop_of[number[m]] == 0 || stop_of[number[m]] == stop + 1);  /* STOP */
  assert(stop || !must_stop[number[m]]);  /* STOP */
  stop_of[number[m]] = stop + 1;
  number[m]++; kept[m] = content[m]; content[m] = 0; changes[m] = 0; calls[m] = 0;
  way[m] = 0; why[m] = 0; in_flight[m] = 0; phase[m] = IDLE
}
/* The member's epoch is broken. */
inline EndMember(m) {
  assert(kills + stops > 0);  /* ENDED */
  way[m] = 0; why[m] = 0; in_flight[m] = 0; calls[m] = 0; unreported[m] = 0; reports[m] = 0;
  phase[m] = (phase[m] == LEAVES -> LEFT : ENDED)
}
inline GiveUp(m) { phase[m] = IDLE; way[m] = 0; why[m] = 0; in_flight[m] = 0 }
/* R17: the first half of a revocation. A slot that no sender has taken needs no second half. */
inline Revoke(m, reason) {
#ifdef SLOTS_ARE_EMPTIED_LAST
  i = 0;
  if
  :: slot[m] != EMPTY && committed != number[m] + 1 ->
    do :: i < N -> valid[i] = 0; i++ :: else -> break od
  :: else
  fi;
  way[m] = REVOKES; why[m] = reason
#else
  if :: slot[m] == ARRIVED -> why[m] = reason :: else -> way[m] = REVOKES; why[m] = reason fi;
  EmptySlot(m);
  if :: way[m] == BY_SLOT -> Act(m) :: else fi
#endif
}
/* What follows a revocation. */
inline Act(m) {
  if
  :: why[m] == GIVES_UP -> GiveUp(m)
  :: why[m] == CALLS -> why[m] = 0; SendOwnCall(m)
  :: why[m] == DETACHES -> why[m] = 0; way[m] = 0; in_flight[m] = 0; session[m] = 0; cut[m] = 0
  :: why[m] == ENDS -> EndMember(m)
  fi
}

#define me _pid
#define TO_TAKE(j) (slot[j] == ARRIVED && slot_number[j] == batch_number[me])
#define MORE_TO_TAKE \
  (next_slot[me] < N && (TO_TAKE(0) && next_slot[me] <= 0 || TO_TAKE(1) && next_slot[me] <= 1 || TO_TAKE(N - 1)))
#define OTHER_ARRIVED(j) ((j) != me && slot[j] == ARRIVED && slot_number[j] == number[me])
#define TO_PUBLISH(j) ((j) != me && IS_STILL_TAKEN(me, j))
#define IS_HELD(j) (IS_STILL_TAKEN(me, j))
#define HAS_BEGUN(m) (way[m] != 0)
#define WAITS_FOR_PAST(m) (past_waiter[m] != 0)
#define IS_AT(m) (slot[m] == TAKEN && slot_by[m] == me || way[m] == REVOKES || !ALIVE(m))
#ifdef SOME_PARTS_ARE_ENOUGH
#define MAY_COMMIT (IS_HELD(0) || IS_HELD(1) || IS_HELD(N - 1))
#else
#define MAY_COMMIT (ALL(IS_HELD))
#endif
#ifdef LEAVES_DO_NOT_WAIT_FOR_REPORTS
#define HAS_REPORTED 1
#else
#define HAS_REPORTED (unreported[me] == 0)
#endif
/* Whether the commit word is as the sender has read it. */
#define WORD_IS_SEEN (valid[me])
#ifdef SLOTS_ARE_READ_AGAIN
#undef WORD_IS_SEEN
#define WORD_IS_SEEN (ALL(IS_HELD))
#endif
#ifdef THE_WORD_IS_READ_LATE
#undef WORD_IS_SEEN
#define WORD_IS_SEEN 1
#endif

active [N] proctype Member() {
end:
  do
  /* The member makes its call: it posts its slot. After a new Attach it may do so again. */
  :: d_step { RUNS(me) && number[me] < K && session[me] != 0 && !cut[me] && batch[me] == 0 &&
      (phase[me] == IDLE || phase[me] == WAITS && way[me] == 0) ->
      phase[me] = WAITS;
      if
      :: content[me] == 0 -> content[me] = 1 + changes[me];
        if :: knows_stop[me] -> must_stop[number[me]] = 1 :: else fi
      :: else
      fi;
      attempts[me]++; assert(attempts[me] <= 31);
      way[me] = BY_SLOT; in_flight[me] = attempts[me];
      slot[me] = ARRIVED; slot_by[me] = 0; slot_session[me] = session[me]; slot_attempt[me] = attempts[me];
      slot_number[me] = number[me]; slot_content[me] = content[me];
#ifndef STOPS_ARE_NOT_POSTED
      slot_stop[me] = knows_stop[me] || stop_from[me] != 0;
#endif
      Clean() }
  :: d_step { RUNS(me) && phase[me] == WAITS && way[me] == 0 && session[me] != 0 && !cut[me] -> SendOwnCall(me); Clean() }
  /* R3, R16: it reads the commit word, and then takes its own slot first. */
  :: d_step { RUNS(me) && IN_SLOT(me) && batch[me] == 0 && slot[me] == ARRIVED &&
      (OTHER_ARRIVED(0) || OTHER_ARRIVED(1) || OTHER_ARRIVED(N - 1)) ->
      batch[me] = TAKES; batch_number[me] = number[me]; next_slot[me] = 0; valid[me] = 1;
      slot[me] = TAKEN; slot_by[me] = me; taken[me * N + me] = slot_attempt[me];
#ifdef RESULTS_ARE_OVERWRITTEN
      area[me] = 0; area_number[me] = 0
#endif
      }
  :: d_step { RUNS(me) && batch[me] == TAKES && MORE_TO_TAKE ->
      do
      :: TO_TAKE(next_slot[me]) -> break
      :: else -> next_slot[me]++
      od;
      slot[next_slot[me]] = TAKEN; slot_by[next_slot[me]] = me;
      taken[me * N + next_slot[me]] = slot_attempt[next_slot[me]];
      next_slot[me]++ }
  /* R16: it holds all parts, and writes the result. */
  :: d_step { RUNS(me) && batch[me] == TAKES && !MORE_TO_TAKE && MAY_COMMIT ->
      outcome = 1; stop = 0; j = 0;
      do
      :: j < N ->
        if
        :: IS_HELD(j) -> outcome = outcome + (4 << j) * (slot_content[j] - 1); stop = stop || slot_stop[j]
        :: else
        fi;
        j++
      :: else -> break
      od;
      next_slot[me] = outcome + 2 * stop;
#ifndef RESULTS_ARE_WRITTEN_LATE
      area[me] = outcome + 2 * stop; area_number[me] = batch_number[me] + 1;
#endif
      batch[me] = COMMITS }
  /* It commits, if no member has changed the word since then. This completes its own collective. */
  :: d_step { RUNS(me) && batch[me] == COMMITS && WORD_IS_SEEN ->
      assert(ALL(IS_AT) && phase[me] == WAITS && number[me] == batch_number[me]);  /* COMMIT */
      committed = batch_number[me] + 1; committed_by = me; is_local[batch_number[me]] = 1;
      i = 0;
      do :: i < N -> valid[i] = 0; i++ :: else -> break od;
      k = next_slot[me]; next_slot[me] = 0; batch[me] = PUBLISHES;
      EmptySlot(me); TakeResult(me, k);
      unreported[me] = number[me]; reports[me] = 0; Clean() }
  :: d_step { RUNS(me) && batch[me] == COMMITS && !WORD_IS_SEEN -> ForgetBatch(me) }
  /* Today's path: the parts go to the daemon. */
  :: d_step { RUNS(me) && batch[me] == TAKES && !MORE_TO_TAKE ->
      j = 0;
      do
      :: j < N ->
        if
#if REFUSE == 0
        :: IS_STILL_TAKEN(me, j) ->
          Send(MESSAGE(CALL, j, slot_session[j], slot_attempt[j], slot_number[j], slot_content[j]))
#endif
        :: else
        fi;
        j++
      :: else -> break
      od;
      ForgetBatch(me); Clean() }
#ifdef RESULTS_ARE_WRITTEN_LATE
  :: d_step { RUNS(me) && batch[me] == PUBLISHES && area_number[me] != batch_number[me] + 1 ->
      area[me] = result_of[batch_number[me]]; area_number[me] = batch_number[me] + 1 }
#endif
  :: d_step { RUNS(me) && batch[me] == PUBLISHES && (TO_PUBLISH(0) || TO_PUBLISH(1) || TO_PUBLISH(N - 1)) ->
      next_slot[me] = 0;
      do
      :: TO_PUBLISH(next_slot[me]) -> break
      :: else -> next_slot[me]++
      od;
      slot[next_slot[me]] = ANSWERED; next_slot[me] = 0 }
  :: d_step { RUNS(me) && batch[me] == PUBLISHES && !(TO_PUBLISH(0) || TO_PUBLISH(1) || TO_PUBLISH(N - 1)) ->
      ForgetBatch(me) }
  /* It takes the result in its slot. */
  :: d_step { RUNS(me) && IN_SLOT(me) && slot[me] == ANSWERED ->
      assert(area_number[slot_by[me]] == number[me] + 1);  /* WRONG */
      k = area[slot_by[me]]; EmptySlot(me); TakeResult(me, k); Clean() }

  /* W or W2 has passed; the program gives up; the stream has ended; the epoch has. */
#ifndef MEMBERS_WAIT_FOR_EVER
  :: d_step { RUNS(me) && IN_SLOT(me) && batch[me] == 0 && slot[me] != ANSWERED -> Revoke(me, CALLS); Clean() }
#endif
  :: d_step { RUNS(me) && IN_SLOT(me) && cancels < CANCEL -> cancels++; Revoke(me, GIVES_UP); Clean() }
  :: d_step { RUNS(me) && phase[me] == WAITS && way[me] == BY_CALL && cancels < CANCEL ->
      cancels++;
      Send(MESSAGE(CALL_END, me, session[me], in_flight[me], number[me], 0)); GiveUp(me); Clean() }
  :: d_step { RUNS(me) && cut[me] && session[me] != 0 && way[me] != REVOKES ->
      if
      :: IN_SLOT(me) -> Revoke(me, DETACHES)
      :: else -> session[me] = 0; cut[me] = 0; way[me] = 0; in_flight[me] = 0
      fi; Clean() }
  :: d_step { RUNS(me) && broken && (TALKS(me) || session[me] == 0 && !cut[me]) && way[me] != REVOKES &&
      batch[me] != PUBLISHES ->
      if
      :: IN_SLOT(me) -> Revoke(me, ENDS)
      :: else -> EndMember(me)
      fi; Clean() }
  /* R17: the second half. The member looks at the commit word, and changes it. */
  :: d_step { RUNS(me) && way[me] == REVOKES ->
#ifdef SLOTS_ARE_EMPTIED_LAST
      EmptySlot(me);
#endif
      if
#ifndef SLOTS_ARE_READ_AGAIN
      :: committed == number[me] + 1 ->
        assert(area_number[committed_by] == number[me] + 1);  /* WRONG */
        k = area[committed_by]; TakeResult(me, k)
#endif
      :: else ->
#ifndef SLOTS_ARE_EMPTIED_LAST
        i = 0;
        do :: i < N -> valid[i] = 0; i++ :: else -> break od;
#endif
        Act(me)
      fi; Clean() }

  /* The member attaches, with a claim. */
  :: d_step { RUNS(me) && session[me] == 0 && !cut[me] && !broken && way[me] != REVOKES ->
      sessions[me]++; assert(sessions[me] <= 15);
      session[me] = sessions[me]; current[me] = sessions[me];
      Enter(me); Clean() }
  /* R18: it reports its commits, until the report is acknowledged. */
  :: d_step { RUNS(me) && unreported[me] != 0 && !reports[me] && session[me] != 0 && !cut[me] ->
      reports[me] = 1; Send(MESSAGE(REPORT, me, session[me], 0, unreported[me], 0)); Clean() }
  /* Leave. */
  :: d_step { RUNS(me) && phase[me] == IDLE && number[me] == K && batch[me] == 0 -> phase[me] = LEAVES }
  :: d_step { RUNS(me) && phase[me] == LEAVES && TALKS(me) && !leaving[me] && !recovering && !broken && HAS_REPORTED ->
      leaving[me] = 1; FailParked(); Clean() }
  :: d_step { RUNS(me) && phase[me] == LEAVES && TALKS(me) && !recovering && ALL(IS_LEAVING) -> phase[me] = LEFT; Clean() }
  :: d_step { RUNS(me) && phase[me] < LEAVES && TALKS(me) && !recovering && !broken && asks < ASK ->
      asks++; asked = 1; knows_stop[me] = 1 }

  /* NeedContribution, and the contribution that the member sends. */
  :: d_step { RUNS(me) && TALKS(me) && !recovering && sequence > 0 && number[me] == sequence &&
      kept[me] != 0 && past[me] == 0 && ANY(WAITS_FOR_PAST) -> past[me] = kept[me]; AnswerPast(); Clean() }
  od
}

/* Faults of each member, and the daemon's steps that concern one member. */
#define it (_pid - N)
#define ALL_LEAVE ALL(IS_LEAVING)
active [N] proctype Fate() {
end:
  do
  :: d_step { !recovering && !broken && !attached[it] && !ALL_LEAVE && (phase[it] == DEAD || paused[it]) ->
      broken = 1; Clean() }
  :: d_step { RUNS(it) && batch[it] != 0 && stops < PAUSE -> stops++; paused[it] = 1 }
  :: d_step { ALIVE(it) && paused[it] && !for_good[it] -> paused[it] = 0 }
  :: d_step { RUNS(it) && batch[it] != 0 && stops < STOP -> stops++; paused[it] = 1; for_good[it] = 1 }
  :: d_step { ALIVE(it) && kills < KILL ->
      kills++; phase[it] = DEAD; in_flight[it] = 0; unreported[it] = 0; reports[it] = 0;
      if :: session[it] != 0 && !cut[it] -> Send(MESSAGE(CLOSE, it, session[it], 0, 0, 0)) :: else fi; Clean() }
  :: d_step { ALIVE(it) && session[it] != 0 && !cut[it] && cuts < CUT ->
      cuts++; cut[it] = 1; Send(MESSAGE(CLOSE, it, session[it], 0, 0, 0)); Clean() }
  od
}

#define PLACE (_pid - 2 * N)
#define IS_THERE (PLACE < on_way)
#define THIS (net[PLACE])
#define LOSES_CONNECTION(m) (!ALIVE(WHO(m)) || cut[WHO(m)] || session[WHO(m)] != SESSION(m))

active [QUEUE] proctype Carrier() {
end:
  do
  :: d_step { IS_THERE && !(recovering && KIND(THIS) <= REPORT) && !(KIND(THIS) >= RESULT && paused[WHO(THIS)]) ->
      who = WHO(THIS); s = SESSION(THIS); a = ATTEMPT(THIS); n = NUMBER(THIS); x = CONTENT(THIS);
      next = KIND(THIS);
      Remove(PLACE);
      if
      :: next == CALL -> if :: attached[who] && !broken -> Arrive() :: else fi
      :: next == CALL_END -> EndCall()
      :: next == REPORT ->
        if :: attached[who] && !broken -> Observe(who, n) :: else fi;
        if
        :: s == session[who] && reports[who] && unreported[who] == n -> reports[who] = 0; unreported[who] = 0
        :: s == session[who] && reports[who] && unreported[who] != n -> reports[who] = 0
        :: else
        fi
      :: next == CLOSE -> attached[who] = 0; waiter[who] = 0; past_waiter[who] = 0
      :: next == RESULT ->
        assert(n == number[who]);  /* WRONG */
#ifndef SLOTS_ARE_READ_AGAIN
        assert(!is_local[n]);      /* ONCE */
#endif
        EmptySlot(who); k = x; TakeResult(who, k)
      :: next == LEAVER -> assert(0)  /* ENDED */
      :: next == NO_ROOM ->
        if :: calls[who] == 1 -> content[who] = 0; changes[who] = 1; calls[who] = 0 :: else fi;
        GiveUp(who)
      fi;
      Clean() }
  /* The message is lost with its connection. */
  :: d_step { IS_THERE && KIND(THIS) != CLOSE && LOSES_CONNECTION(THIS) -> Remove(PLACE); Clean() }
#if REFUSE > 0
  :: d_step { IS_THERE && KIND(THIS) == CALL && !recovering && attached[WHO(THIS)] && !broken && refusals < REFUSE &&
      NUMBER(THIS) >= sequence ->
      refusals++; who = WHO(THIS); s = SESSION(THIS); a = ATTEMPT(THIS);
      Remove(PLACE); Send(MESSAGE(NO_ROOM, who, s, a, 0, 0)); Clean() }
#endif
  :: d_step { IS_THERE && KIND(THIS) == REPORT && losses < LOSE ->
      losses++;
#ifndef REPORTS_ARE_SENT_ONCE
      reports[WHO(THIS)] = 0;
#endif
      Remove(PLACE); Clean() }
  :: d_step { IS_THERE && KIND(THIS) == REPORT && copies < COPY -> copies++; Send(THIS) }
  od
}

#define IS_HERE_OR_GONE(m) (attached[m] || !ALIVE(m) || paused[m])
#define IS_ABSENT(m) (!attached[m])
#define LEAVES_OR_IS_ABSENT(m) (leaving[m] || !attached[m])
#define IS_OUT(m) (phase[m] == ENDED || phase[m] == DEAD)

active proctype Daemon() {
end:
  do
  :: d_step { recovering && ALL(IS_HERE_OR_GONE) ->
      recovering = 0;
      if :: ANY(IS_ABSENT) && !ALL(LEAVES_OR_IS_ABSENT) -> broken = 1 :: else fi;
      i = 0;
      do
      :: i < N ->
        if :: !attached[i] -> leaving[i] = 1 :: else fi; i++
      :: else -> break
      od;
      Clean() }
  :: d_step { crashes < CRASH ->
      crashes++; instance++; recovering = 1; sequence = 0; broken = 0; asked = 0; stop_at = 0;
      i = 0;
      do
      :: i < N ->
        attached[i] = 0; current[i] = 0; heard[i] = 0; arrived[i] = 0; arrived_as[i] = 0; waiter[i] = 0;
        past[i] = 0; past_as[i] = 0; past_waiter[i] = 0; leaving[i] = 0;
        if :: ALIVE(i) && session[i] != 0 -> cut[i] = 1 :: else fi;
        i++
      :: else -> break
      od;
      i = 0;
      do
      :: i < on_way ->
        if
        :: KIND(net[i]) == CLOSE -> Remove(i)
        :: else -> i++
        fi
      :: else -> break
      od;
      Clean() }
  /* All survivors have called Rejoin, and a new process takes the place of the lost one. They get a
   * new segment. Join tells them of a stop request. */
  :: d_step { ELASTIC && epochs < 1 && broken && ALL(IS_OUT) ->
      epochs++; broken = 0; sequence = 0; stop_at = 0; committed = 0; committed_by = 0;
      i = 0;
      do
      :: i < N ->
        if :: phase[i] == DEAD -> knows_stop[i] = 0 :: else fi;
        phase[i] = IDLE; number[i] = 0; content[i] = 0; kept[i] = 0; changes[i] = 0; stop_from[i] = 0;
        way[i] = 0; why[i] = 0; in_flight[i] = 0; calls[i] = 0; unreported[i] = 0; reports[i] = 0;
        sessions[i]++; session[i] = sessions[i]; current[i] = sessions[i]; cut[i] = 0; attached[i] = 1;
        arrived[i] = 0; arrived_as[i] = 0; waiter[i] = 0; past[i] = 0; past_as[i] = 0; past_waiter[i] = 0;
        leaving[i] = 0; heard[i] = 0; area[i] = 0; area_number[i] = 0;
        EmptySlot(i); ForgetBatch(i);
#ifndef JOINS_SAY_NOTHING_OF_STOPS
        knows_stop[i] = knows_stop[i] || asked;
#endif
        i++
      :: else -> break
      od;
      i = 0;
      do
      :: i < K -> result_of[i] = 0; is_local[i] = 0; stop_of[i] = 0; must_stop[i] = 0; i++
      :: else -> break
      od;
      must_stop[0] = asked; Clean() }
  od
}

/* Members that wait for a stopped sender are parked at the daemon, so it knows which member is
 * missing. */
#define HAS_ENDED(m) \
  (phase[m] >= LEFT || for_good[m] || stops > 0 && (waiter[m] != 0 && waiter[m] == in_flight[m] || leaving[m]))
#define HAS_LEFT(m) (phase[m] == LEFT && attached[m])

active proctype Watch() {
  timeout ->
    assert(ALL(HAS_ENDED));  /* STUCK */
    assert(!ALL(HAS_LEFT) || kills + stops > 0 || sequence == K)  /* TOLD */
}
