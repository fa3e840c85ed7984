/* Node fan-in: docs/node-fan-in.md, whose rules R1 to R15 are named here.
 *
 * Members 0 to L - 1 share a node and its segment. R more members are on other nodes. All make K
 * collectives. Each of these is a step of its own: a change of a slot's word, the copy, the
 * send, the begin and the end of writing a result, and each publication. A member may die
 * between any two steps. Timers (W, W2, deadlines) may fire at any time. Messages overtake one
 * another; on a broken connection they arrive late or never. Attach is one step.
 *
 * What must hold:
 *   GHOST    no collective completes with an arrival that its member has given up, unless the news
 *            of that is still on its way
 *   GONE     no collective completes with a member whose stream has closed
 *   STALE    no collective completes with an arrival at another number
 *   WRONG    no member takes a result that is torn, or of another number
 *   ENDED    no member ends with an error unless a process has died, or is stopped
 *   OVER     no parked call is left behind
 *   TWICE    no call is answered twice
 *   FLICKER  the daemon drops no arrival while its member waits, is attached and does not know
 *   STUCK    every living member comes to an end, or is parked at the daemon if a sender is stopped
 *
 * Each mutation in BUILD.bazel is a define that breaks one rule. A slot's attempt stands for its
 * generation. Not in this model: R1 and R15, calls without a post (R3), memory order, real times,
 * two groups, disagreements, Leave, Rejoin, two daemons. */

#ifndef L
#define L 2
#endif
#ifndef R
#define R 1
#endif
#define N (L + R)
#ifndef K
#define K 2
#endif
/* How often each fault may happen. */
#ifndef CRASH
#define CRASH 0   /* the daemon is killed, and restarts without state */
#endif
#ifndef CUT
#define CUT 0     /* a connection breaks */
#endif
#ifndef KILL
#define KILL 0    /* a process dies */
#endif
#ifndef STOP
#define STOP 0      /* a sender is stopped for good, and keeps its connection */
#endif
#ifndef TIMEOUT
#define TIMEOUT 0 /* a wait ends, at the daemon or in the slot */
#endif
#ifndef CANCEL
#define CANCEL 0  /* the program cancels its call */
#endif
#ifndef COPY
#define COPY 0    /* a call or a batch arrives twice */
#endif
#ifndef REFUSE
#define REFUSE 0  /* the daemon cannot accept one part of a batch */
#endif

#ifndef QUEUE
#define QUEUE 12
#endif
#include "network.pml"

/* A message. In a batch, the session and the attempt of each part follow it. */
#if L > 2
#define SESSION_BITS 2
#else
#define SESSION_BITS 3
#endif
#define SESSIONS ((1 << SESSION_BITS) - 1)
#define ATTEMPTS 15
#define BODY (12 + SESSION_BITS)
#define PART_BITS (SESSION_BITS + 4)
#define MESSAGE(kind, who, s, a, n, body) \
  ((kind) | ((who) << 3) | ((n) << 6) | ((s) << 8) | ((a) << (8 + SESSION_BITS)) | ((body) << BODY))
#define COPIED 32
#define KIND(m) ((m) & 7)
#define WHO(m) (((m) >> 3) & 3)
#define IS_COPY(m) (((m) >> 5) & 1)
#define NUMBER(m) (((m) >> 6) & 3)
#define SESSION(m) (((m) >> 8) & SESSIONS)
#define ATTEMPT(m) (((m) >> (8 + SESSION_BITS)) & ATTEMPTS)
#define CONTENT(m) (((m) >> BODY) & 15)
#define PART_SESSION(m, j) (((m) >> (BODY + (j) * PART_BITS)) & SESSIONS)
#define PART_ATTEMPT(m, j) (((m) >> (BODY + (j) * PART_BITS + SESSION_BITS)) & ATTEMPTS)
#define HAS_PART(m, j) (PART_ATTEMPT(m, j) != 0)

#define CALL 1         /* to the daemon; content 1: it does not wait; 2: it is WithdrawArrival */
#define BATCH 2
#define CALL_END 3
#define BATCH_END 4
#define CLOSE 5
#define ANSWER 6       /* to the member; the content is its kind, below */
#define BATCH_ANSWER 7 /* content: the parts that have completed; 0: RESEND */
#define OK 0
#define TIMED_OUT 1    /* also means: withdrawn */
#define TRY_AGAIN 2
#define OK_BUT_EMPTY 3

/* ---- A member ---- */
#define IDLE 0
#define WAITS 1
#define DONE 2
#define ENDED 3
#define DEAD 4
#define STOPPED 5
byte phase[N];
byte number[N];
byte session[N] = 1;
byte sessions[N] = 1;
bool cut[N];
byte attempts[N];
#define BY_SLOT 1
#define BY_CALL 2
byte way[N];          /* how its arrival was sent; 0: it must be sent */
byte in_flight[N];    /* the attempt that counts */
bool hurried[N];      /* its time is up, so its call does not wait */
byte withdraws[N];    /* the attempt of its WithdrawArrival, until that is acknowledged */
bool gave_up[N];      /* it has given up this number */
bool was_taken[N];    /* its slot was taken at this number in this session */

/* What it sends for others. */
#define TAKES 1
#define SENT 2
#define WRITES 3
#define HAS_WRITTEN 4
#define PUBLISHES 5
byte batch[N];
byte batch_attempt[N];
byte batch_number[N];
byte batch_done[N];   /* the parts that have completed */
byte next_slot[N];
byte taken[N * L];    /* the attempt of each slot that it has taken; 0: none */

/* ---- The segment ---- */
#define EMPTY 0
#define ARRIVED 1
#define TAKEN 2
#define ANSWERED 3
#define RELEASED 4
byte slot[L];
byte slot_by[L];
byte slot_number[L];
byte slot_session[L];
byte slot_attempt[L]; /* also the generation: each post has a new one */
byte area[L];         /* 1 + the number of the result that the member has published as a sender */
bool area_is_whole[L];

/* ---- The daemon: the current collective (0 to N - 1) and the past one (N to 2 N - 1) ---- */
byte instance;
bool recovering;
bool broken;
byte sequence;
bool attached[N] = 1;
byte current[N] = 1;
byte next[N];           /* the next number that the member needs */
bool sent[2 * N];
byte latest[2 * N];     /* attempt */
#define OWN_CALL 1
#define PART 2
#define UNREAD_PART 3   /* the RPC that brought it has ended */
byte parked[2 * N];
byte parked_by[2 * N];  /* of a part: the sender and the attempt of its batch */
byte parked_in[2 * N];

byte crashes, cuts, kills, stops, timeouts, cancels, copies, refusals;

hidden byte i, j, k, who, s, a, n, x, part, parts_in, bad, outcome;
hidden byte any, all, on_its_way, listens;
hidden int m;

/* For up to four members. */
#define ANY(p) (p(0) || p(1) || p(N - 2) || p(N - 1))
#define ALL(p) (p(0) && p(1) && p(N - 2) && p(N - 1))
#define ALIVE(i) (phase[i] < DEAD)
#define IS_LOCAL(i) ((i) < L)
/* Whether the slot is unchanged since this member took it (R2). */
#define IS_STILL_TAKEN(by, j) \
  (taken[(by) * L + (j)] != 0 && slot[j] == TAKEN && slot_by[j] == (by) && slot_attempt[j] == taken[(by) * L + (j)])

#ifdef LEFT_BATCHES_ARE_PUBLISHED
#define BATCH_ANSWER_COUNTS(i, s, a) 1
#else
#define BATCH_ANSWER_COUNTS(i, s, a) (session[i] == (s) && batch[i] == SENT && batch_attempt[i] == (a))
#endif
#ifdef PARTS_OUTLIVE_THEIR_STREAM
#define PART_IS_DETACHED(i) 0
#else
#define PART_IS_DETACHED(i) (!attached[i])
#endif
#ifdef COPIES_ARE_NOT_CHECKED
#define COPY_COUNTS(j) 1
#else
#define COPY_COUNTS(j) IS_STILL_TAKEN(me, j)
#endif
#define me _pid
#define CANNOT_REACH(m) (current[WHO(m)] != SESSION(m) || !attached[WHO(m)] || broken)
#define USELESS(m) \
  (KIND(m) == CALL && CANNOT_REACH(m) || \
   KIND(m) == BATCH && CANNOT_REACH(m) && \
     (IS_COPY(m) || !ALIVE(WHO(m)) || session[WHO(m)] != SESSION(m) || batch[WHO(m)] != SENT || \
      batch_attempt[WHO(m)] != ATTEMPT(m)) || \
   (KIND(m) == CALL_END || KIND(m) == BATCH_END) && (current[WHO(m)] != SESSION(m) || broken) || \
   KIND(m) == CLOSE && CANNOT_REACH(m) || \
   KIND(m) == ANSWER && (!ALIVE(WHO(m)) || session[WHO(m)] != SESSION(m) || \
     !(way[WHO(m)] == BY_CALL && in_flight[WHO(m)] == ATTEMPT(m) || \
       withdraws[WHO(m)] != 0 && withdraws[WHO(m)] == ATTEMPT(m))) || \
   KIND(m) == BATCH_ANSWER && (!ALIVE(WHO(m)) || !BATCH_ANSWER_COUNTS(WHO(m), SESSION(m), ATTEMPT(m))))

inline Clean() {
  i = 0;
  do
  :: i < on_way ->
    if
    :: USELESS(net[i]) -> Remove(i)
    :: else -> i++
    fi
  :: else -> break
  od;
  if
  :: broken ->
    i = 0;
    do
    :: i < 2 * N -> sent[i] = 0; latest[i] = 0; parked[i] = 0; parked_by[i] = 0; parked_in[i] = 0; i++
    :: else -> break
    od
  :: else
  fi;
  i = 0
}

/* ---- What the daemon does ---- */
inline AnswerCall(to, attempt, how, at) { Send(MESSAGE(ANSWER, to, current[to], attempt, at, how)) }
inline AnswerBatch(to, attempt, parts) { Send(MESSAGE(BATCH_ANSWER, to, current[to], attempt, 0, parts)) }

/* Sets `any`: whether a part of that batch is still parked. */
inline HasParts(sender, attempt) {
  any = 0; k = 0;
  do
  :: k < 2 * N -> any = any || parked[k] == PART && parked_by[k] == sender && parked_in[k] == attempt; k++
  :: else -> break
  od
}

hidden byte ended_by, ended_in, ended_as;

/* Ends what is parked there, without a failure. A batch is answered when its last part ends
 * (R13). */
inline EndQuietly(place, how, tell) {
  ended_as = parked[place]; ended_by = parked_by[place]; ended_in = parked_in[place];
  parked[place] = 0; parked_by[place] = 0; parked_in[place] = 0;
  if
  :: ended_as == OWN_CALL && tell -> AnswerCall(place % N, latest[place], how, 0)
  :: ended_as == PART ->
    HasParts(ended_by, ended_in);
    if :: !any -> AnswerBatch(ended_by, ended_in, 0) :: else fi
  :: else
  fi
}

/* Answers the members that wait for the past collective, once all of it is known. */
inline Settle() {
  all = 1; any = 0; i = 0;
  do
  :: i < N -> all = all && sent[N + i]; any = any || parked[N + i] != 0; i++
  :: else -> break
  od;
  if
  :: all && any ->
    i = 0;
    do
    :: i < N ->
      if
      :: parked[N + i] == OWN_CALL -> AnswerCall(i, latest[N + i], OK, sequence - 1); parked[N + i] = 0
      :: parked[N + i] == UNREAD_PART -> parked[N + i] = 0
      :: parked[N + i] == PART ->
        ended_by = parked_by[N + i]; ended_in = parked_in[N + i]; parts_in = 0; j = i;
        do
        :: j < N ->
          if
          :: parked[N + j] == PART && parked_by[N + j] == ended_by && parked_in[N + j] == ended_in ->
            parts_in = parts_in | (1 << j); parked[N + j] = 0; parked_by[N + j] = 0; parked_in[N + j] = 0
          :: else
          fi; j++
        :: else -> break
        od;
        AnswerBatch(ended_by, ended_in, parts_in)
      :: else
      fi; i++
    :: else -> break
    od
  :: else
  fi
}

hidden byte to;

inline MoveOn() {
  i = 0;
  do
  :: i < N ->
    assert(parked[N + i] != OWN_CALL && parked[N + i] != PART);  /* OVER */
    sent[N + i] = sent[i] && to == sequence + 1; latest[N + i] = latest[i];
    parked[N + i] = parked[i]; parked_by[N + i] = parked_by[i]; parked_in[N + i] = parked_in[i];
    sent[i] = 0; latest[i] = 0; parked[i] = 0; parked_by[i] = 0; parked_in[i] = 0;
    i++
  :: else -> break
  od;
  sequence = to;
  Settle()
}

inline Observe(member, at) {
  if :: at > next[member] -> next[member] = at :: else fi;
  if :: at > sequence -> to = at; MoveOn() :: else fi
}

/* Whether the news of it is on its way to the daemon. */
#define SAYS_SO(m, i) \
  (WHO(m) == i && (KIND(m) == CALL_END || KIND(m) == BATCH_END || KIND(m) == CLOSE || KIND(m) == CALL && CONTENT(m) == 2))

/* Completes the collective if all members are parked. */
inline Complete() {
  all = 1; i = 0;
  do
  :: i < N -> all = all && parked[i] != 0; i++
  :: else -> break
  od;
  if
  :: all ->
    i = 0;
    do
    :: i < N ->
      assert(attached[i]);  /* GONE */
      assert(!ALIVE(i) || phase[i] == ENDED || number[i] == sequence);  /* STALE */
      on_its_way = 0; j = 0;
      do
      :: j < on_way -> on_its_way = on_its_way || SAYS_SO(net[j], i); j++
      :: else -> break
      od;
      assert(!ALIVE(i) || phase[i] != IDLE || !gave_up[i] || on_its_way || parked_by[i] == 9);  /* GHOST */
      i++
    :: else -> break
    od;
    to = sequence + 1;
    MoveOn()
  :: else
  fi
}

/* Parks an arrival as `as`, by `by`, in `in`. `outcome`: OK if it was accepted, TRY_AGAIN for
 * CANCELLED. */
hidden byte as, by, in;

inline Arrive(member, attempt, at) {
  if :: instance > 0 -> Observe(member, at) :: else fi;
  outcome = TRY_AGAIN;
  if
  :: at + 1 == sequence && attempt >= latest[N + member] ->
    if :: parked[N + member] != 0 -> EndQuietly(N + member, TRY_AGAIN, 1) :: else fi;
    sent[N + member] = 1; latest[N + member] = attempt;
    if
    :: next[member] >= sequence -> if :: as == OWN_CALL -> AnswerCall(member, attempt, OK_BUT_EMPTY, at) :: else fi
    :: else -> parked[N + member] = as; parked_by[N + member] = by; parked_in[N + member] = in
    fi;
    Settle();
    outcome = OK
  :: at == sequence && attempt > latest[member] ->
    if :: parked[member] != 0 -> EndQuietly(member, TRY_AGAIN, 1) :: else fi;
    sent[member] = 1; latest[member] = attempt; next[member] = at;
    parked[member] = as; parked_by[member] = by; parked_in[member] = in;
    Complete();
    outcome = OK
  :: else ->
    assert(at == sequence || at + 1 == sequence || !ALIVE(member) || phase[member] != WAITS || number[member] != at)
  fi
}

inline TakeCall() {
  if
  :: x == 2 ->  /* WithdrawArrival: the attempt is noted even if nothing is parked (R11) */
    if :: instance > 0 -> Observe(who, n) :: else fi;
    if
    :: n == sequence && latest[who] < a ->
      if :: parked[who] != 0 -> EndQuietly(who, TRY_AGAIN, 1) :: else fi;
      latest[who] = a
    :: else
    fi;
    if :: listens -> AnswerCall(who, a, TIMED_OUT, n) :: else fi
  :: else ->
    if :: listens -> as = OWN_CALL; by = 0 :: else -> as = UNREAD_PART; by = 9 fi;
    in = 0;
    Arrive(who, a, n);
    if
    :: outcome == TRY_AGAIN -> if :: listens -> AnswerCall(who, a, TRY_AGAIN, n) :: else fi
    :: outcome == OK && x == 1 ->
      k = 0;
      do
      :: k < 2 ->
        if
        :: parked[k * N + who] != 0 && latest[k * N + who] == a ->
          parked[k * N + who] = 0; parked_by[k * N + who] = 0;
          if :: listens -> AnswerCall(who, a, TIMED_OUT, n) :: else fi
        :: else
        fi; k++
      :: else -> break
      od
    :: else
    fi
  fi
}

/* Parks all parts of the batch, or none: then RESEND at once (R14). */
inline TakeBatch(refused) {
  bad = current[who] != s || !attached[who] || broken || recovering || n != sequence; part = 0;
  do
  :: part < L ->
    bad = bad || HAS_PART(m, part) &&
      (current[part] != PART_SESSION(m, part) || part == refused || PART_IS_DETACHED(part));
    part++
  :: else -> break
  od;
  if
#ifdef BATCHES_CARRY_ERRORS
  :: bad -> if :: listens -> AnswerBatch(who, a, 15) :: else fi
#else
  :: bad -> if :: listens -> AnswerBatch(who, a, 0) :: else fi
#endif
  :: else ->
    part = 0;
    do
    :: part < L ->
      if
      :: HAS_PART(m, part) ->
        if :: listens -> as = PART; by = who; in = a :: else -> as = UNREAD_PART; by = 0; in = 0 fi;
        Arrive(part, PART_ATTEMPT(m, part), n)
      :: else
      fi; part++
    :: else -> break
    od;
    HasParts(who, a);
    on_its_way = 0; j = 0;
    do
    :: j < on_way ->
      on_its_way = on_its_way || KIND(net[j]) == BATCH_ANSWER && WHO(net[j]) == who && ATTEMPT(net[j]) == a; j++
    :: else -> break
    od;
    if :: listens && !any && !on_its_way -> AnswerBatch(who, a, 0) :: else fi
  fi
}

/* The answer to this sender's batch is no longer read (attempt 0: to any of its batches). The
 * parts stay (R12). */
inline BatchIsUnread(sender, attempt) {
  k = 0;
  do
  :: k < 2 * N ->
    if
    :: parked[k] == PART && parked_by[k] == sender && (attempt == 0 || parked_in[k] == attempt) ->
#ifdef PARTS_END_WITH_THEIR_BATCH
      i = k % N;
      assert(i == sender || !ALIVE(i) || phase[i] != WAITS || session[i] != current[i] || cut[i] ||
             way[i] != BY_SLOT || slot[i % L] != TAKEN);  /* FLICKER */
      parked[k] = 0;
#else
      parked[k] = UNREAD_PART;
#endif
      parked_by[k] = 0; parked_in[k] = 0
    :: else
    fi; k++
  :: else -> break
  od
}

/* The stream of `who` has closed. */
inline Close() {
  attached[who] = 0;
  part = 0;
  do
  :: part < 2 ->
    j = part * N + who;
    if
#ifdef PARTS_OUTLIVE_THEIR_STREAM
    :: parked[j] == OWN_CALL || parked[j] == PART && parked_by[j] == who -> EndQuietly(j, TRY_AGAIN, 0)
#else
    :: parked[j] != 0 -> EndQuietly(j, TRY_AGAIN, 0)
#endif
    :: else
    fi; part++
  :: else -> break
  od;
  BatchIsUnread(who, 0)
}

/* ---- What a member does ---- */
inline SendOwnCall(i_) {
  way[i_] = 0; in_flight[i_] = 0;
  if
  :: session[i_] != 0 ->
    attempts[i_]++; assert(attempts[i_] <= ATTEMPTS);
    way[i_] = BY_CALL; in_flight[i_] = attempts[i_];
    Send(MESSAGE(CALL, i_, session[i_], attempts[i_], number[i_], hurried[i_]))
  :: else
  fi
}
/* The owner revokes its slot, from any state (R2). */
inline Revoke(i_) {
  if :: slot[i_] >= TAKEN -> was_taken[i_] = 1 :: else fi;
  slot[i_] = EMPTY; slot_by[i_] = 0; slot_number[i_] = 0; slot_session[i_] = 0; slot_attempt[i_] = 0
}
inline ForgetBatch(i_) {
  batch[i_] = 0; batch_attempt[i_] = 0; batch_number[i_] = 0; batch_done[i_] = 0; next_slot[i_] = 0;
  k = 0;
  do :: k < L -> taken[i_ * L + k] = 0; k++ :: else -> break od
}
/* Releases the parts that it holds, so that their owners make their own calls. */
inline Release(i_) {
  k = 0;
  do
  :: k < L ->
    if :: k != i_ && IS_STILL_TAKEN(i_, k) -> slot[k] = RELEASED :: else fi; k++
  :: else -> break
  od;
  ForgetBatch(i_)
}
/* The sender leaves its batch: the RPC ends. */
inline LeaveBatch(i_) {
  if
  :: batch[i_] == SENT && session[i_] != 0 -> Send(MESSAGE(BATCH_END, i_, session[i_], batch_attempt[i_], 0, 0))
  :: else
  fi;
  Release(i_)
}
inline TakeResult(i_) {
  assert(phase[i_] == WAITS);  /* TWICE */
  number[i_]++; way[i_] = 0; in_flight[i_] = 0; hurried[i_] = 0; gave_up[i_] = 0; was_taken[i_] = 0;
  phase[i_] = (number[i_] == K -> DONE : IDLE)
}
inline GiveUp(i_) { phase[i_] = IDLE; gave_up[i_] = 1; way[i_] = 0; in_flight[i_] = 0; hurried[i_] = 0 }
inline EndMember(i_) {
  if :: batch[i_] != 0 -> LeaveBatch(i_) :: else fi;
  if :: way[i_] == BY_SLOT -> Revoke(i_) :: else fi;
  phase[i_] = ENDED; way[i_] = 0; in_flight[i_] = 0; hurried[i_] = 0; withdraws[i_] = 0;
  assert(kills + stops > 0)  /* ENDED */
}
inline WithdrawIf(condition, i_) {
  if
#ifdef ARRIVALS_ARE_NOT_WITHDRAWN
  :: 0 -> skip
#else
  :: condition ->
    attempts[i_]++; assert(attempts[i_] <= ATTEMPTS);
    withdraws[i_] = attempts[i_];
    Send(MESSAGE(CALL, i_, session[i_], attempts[i_], number[i_], 2))
#endif
  :: else
  fi
}

#define CAN_CALL(i) (session[i] != 0 && !cut[i])
#define IN_SLOT(i) (phase[i] == WAITS && way[i] == BY_SLOT)
#define IS_SENDER(i) (batch[i] == SENT && slot[i] == TAKEN && slot_by[i] == i)
#define MAY_GIVE_UP(i) \
  (IN_SLOT(i) && session[i] != 0 && batch[i] != TAKES && batch[i] < WRITES && \
   (slot[i] == ARRIVED || slot[i] == TAKEN && slot_by[i] != i || IS_SENDER(i)))
/* R5: from taking until the end of publishing, it takes nothing else. */
#define IS_BUSY(i) (batch[i] == TAKES || batch[i] >= WRITES)
#define SLOT_TO_TAKE(j) (slot[j] == ARRIVED && slot_number[j] == batch_number[me])
#define MORE_TO_TAKE(i) \
  (next_slot[i] < L && (SLOT_TO_TAKE(0) && next_slot[i] <= 0 || SLOT_TO_TAKE(1) && next_slot[i] <= 1 || \
                        SLOT_TO_TAKE(L - 1) && next_slot[i] <= L - 1))
#define OTHER_ARRIVED(j) (j != me && slot[j] == ARRIVED && slot_number[j] == number[me])
#define TO_PUBLISH(j) (j != me && next_slot[me] <= j && IS_STILL_TAKEN(me, j))

active [L] proctype LocalMember() {
end:
  do
  /* The member makes its call: it posts its slot (R2). */
  :: d_step { phase[me] == IDLE && CAN_CALL(me) && batch[me] == 0 ->
      phase[me] = WAITS; gave_up[me] = 0; attempts[me]++; assert(attempts[me] <= ATTEMPTS);
      way[me] = BY_SLOT; in_flight[me] = attempts[me];
      slot[me] = ARRIVED; slot_by[me] = 0; slot_number[me] = number[me]; slot_session[me] = session[me];
      slot_attempt[me] = attempts[me] }
  /* R3: it takes its own slot first. */
  :: d_step { IN_SLOT(me) && batch[me] == 0 && slot[me] == ARRIVED &&
      (OTHER_ARRIVED(0) || OTHER_ARRIVED(1) || OTHER_ARRIVED(L - 1)) ->
      batch[me] = TAKES; batch_number[me] = number[me]; next_slot[me] = 0;
      slot[me] = TAKEN; slot_by[me] = me; taken[me * L + me] = slot_attempt[me] }
  :: d_step { batch[me] == TAKES && ALIVE(me) && MORE_TO_TAKE(me) ->
      do
      :: SLOT_TO_TAKE(next_slot[me]) -> break
      :: else -> next_slot[me]++
      od;
      slot[next_slot[me]] = TAKEN; slot_by[next_slot[me]] = me; taken[me * L + next_slot[me]] = slot_attempt[next_slot[me]];
      next_slot[me]++ }
  /* It copies the content, reads the words again (R4), and sends. */
  :: d_step { batch[me] == TAKES && ALIVE(me) && !MORE_TO_TAKE(me) ->
      m = 0; parts_in = 0; j = 0;
      do
      :: j < L ->
        if
        :: taken[me * L + j] != 0 && COPY_COUNTS(j) && slot_attempt[j] != 0 ->
          parts_in = parts_in | (1 << j);
          m = m | ((slot_session[j] | (slot_attempt[j] << SESSION_BITS)) << (j * PART_BITS))
        :: else
        fi; j++
      :: else -> break
      od;
      if
      :: parts_in == 0 || !((parts_in >> me) & 1) && !IN_SLOT(me) -> ForgetBatch(me)
      :: parts_in == (1 << me) ->  /* alone: its own call, under the attempt that it has posted */
        any = slot_session[me] == session[me];
        Revoke(me); was_taken[me] = 0; ForgetBatch(me);
        if
        :: any -> way[me] = BY_CALL; Send(MESSAGE(CALL, me, session[me], in_flight[me], number[me], 0))
        :: else -> SendOwnCall(me)
        fi
      :: else ->
        if
        :: session[me] == 0 -> any = IS_STILL_TAKEN(me, me); Release(me);
          if :: any -> Revoke(me); SendOwnCall(me) :: else fi
        :: else ->
          attempts[me]++; assert(attempts[me] <= ATTEMPTS);
          batch_attempt[me] = attempts[me]; batch[me] = SENT; next_slot[me] = 0;
          Send(MESSAGE(BATCH, me, session[me], batch_attempt[me], batch_number[me], 0) | (m << BODY))
        fi
      fi; Clean() }
  /* W has passed without another member. W2: the sender does not answer (R8). Released (R6). */
  :: d_step { IN_SLOT(me) && !IS_BUSY(me) && slot[me] == ARRIVED -> Revoke(me); SendOwnCall(me); Clean() }
#ifndef TAKEN_MEMBERS_WAIT_FOR_EVER
  :: d_step { IN_SLOT(me) && batch[me] == 0 && slot[me] == TAKEN && slot_by[me] != me -> Revoke(me); SendOwnCall(me); Clean() }
#endif
  :: d_step { IN_SLOT(me) && IS_SENDER(me) ->
#ifdef LEFT_BATCHES_ARE_PUBLISHED
      ForgetBatch(me);
#else
      LeaveBatch(me);
#endif
      Revoke(me); SendOwnCall(me); Clean() }
  :: d_step { IN_SLOT(me) && !IS_BUSY(me) && slot[me] == RELEASED -> Revoke(me); SendOwnCall(me); Clean() }
  /* R7, R9: it takes the answer in its slot. */
  :: d_step { IN_SLOT(me) && !IS_BUSY(me) && slot[me] == ANSWERED ->
      assert(area_is_whole[slot_by[me]] && area[slot_by[me]] == number[me] + 1);  /* WRONG */
      Revoke(me); TakeResult(me); Clean() }
  /* It publishes the result, and then the words. */
#ifdef WORDS_ARE_PUBLISHED_FIRST
  :: d_step { batch[me] == WRITES && ALIVE(me) -> batch[me] = PUBLISHES; next_slot[me] = 0 }
#else
  :: d_step { batch[me] == WRITES && ALIVE(me) ->
      area[me] = batch_number[me] + 1; area_is_whole[me] = 0; batch[me] = HAS_WRITTEN }
  :: d_step { batch[me] == HAS_WRITTEN && ALIVE(me) -> area_is_whole[me] = 1; batch[me] = PUBLISHES; next_slot[me] = 0 }
#endif
  :: d_step { batch[me] == PUBLISHES && ALIVE(me) && (TO_PUBLISH(0) || TO_PUBLISH(1) || TO_PUBLISH(L - 1)) ->
      do
      :: TO_PUBLISH(next_slot[me]) -> break
      :: else -> next_slot[me]++
      od;
      slot[next_slot[me]] = ((batch_done[me] >> next_slot[me]) & 1 -> ANSWERED : RELEASED);
      next_slot[me]++ }
  :: d_step { batch[me] == PUBLISHES && ALIVE(me) && !(TO_PUBLISH(0) || TO_PUBLISH(1) || TO_PUBLISH(L - 1)) ->
#ifdef WORDS_ARE_PUBLISHED_FIRST
      area[me] = batch_number[me] + 1; area_is_whole[me] = 1;
#endif
      any = IN_SLOT(me) && IS_STILL_TAKEN(me, me); all = (batch_done[me] >> me) & 1;
      ForgetBatch(me);
      if
      :: any && all -> Revoke(me); TakeResult(me)
      :: any && !all -> Revoke(me); SendOwnCall(me)
      :: else
      fi; Clean() }
  /* R10: its deadline passes. R11: the program cancels. */
  :: d_step { MAY_GIVE_UP(me) && timeouts < TIMEOUT ->
      timeouts++;
      if :: IS_SENDER(me) -> LeaveBatch(me) :: else fi;
      Revoke(me); hurried[me] = 1; SendOwnCall(me); Clean() }
  :: d_step { MAY_GIVE_UP(me) && cancels < CANCEL ->
      cancels++;
#ifdef ONLY_A_TAKEN_SLOT_IS_WITHDRAWN
      any = slot[me] == TAKEN;
#else
      any = slot[me] == TAKEN || was_taken[me];
#endif
      if :: IS_SENDER(me) -> LeaveBatch(me) :: else fi;
      Revoke(me); GiveUp(me); was_taken[me] = 0;
      WithdrawIf(any, me); Clean() }
  :: d_step { phase[me] == WAITS && way[me] == BY_CALL && cancels < CANCEL ->
      cancels++;
      Send(MESSAGE(CALL_END, me, session[me], in_flight[me], number[me], 0));
      any = was_taken[me] && !cut[me];
#ifdef ONLY_A_TAKEN_SLOT_IS_WITHDRAWN
      any = 0;
#endif
      WithdrawIf(any, me); was_taken[me] = 0; GiveUp(me); Clean() }
  /* R9: the member notices the end of its stream. It revokes before it claims. */
  :: d_step { ALIVE(me) && phase[me] != ENDED && cut[me] && session[me] != 0 && !IS_BUSY(me) ->
      session[me] = 0; cut[me] = 0; withdraws[me] = 0;
      if :: way[me] == BY_CALL -> way[me] = 0; in_flight[me] = 0 :: else fi;
      if
      :: batch[me] == SENT ->
        any = IS_STILL_TAKEN(me, me); Release(me);
        if :: any -> Revoke(me); way[me] = 0; in_flight[me] = 0 :: else fi
      :: else
      fi;
#ifndef SLOTS_OUTLIVE_THE_SESSION
      if :: way[me] == BY_SLOT -> Revoke(me); way[me] = 0; in_flight[me] = 0 :: else fi;
#endif
      was_taken[me] = 0; Clean() }
  od
}

#if R > 0
active [R] proctype RemoteMember() {
end:
  do
  :: d_step { phase[me] == IDLE && CAN_CALL(me) -> phase[me] = WAITS; gave_up[me] = 0; SendOwnCall(me); Clean() }
  :: d_step { ALIVE(me) && phase[me] != ENDED && cut[me] && session[me] != 0 ->
      session[me] = 0; cut[me] = 0; way[me] = 0; in_flight[me] = 0; Clean() }
  od
}
#endif

/* Faults of each member, and the daemon's steps that concern one member. */
#define it (_pid - N)
#define WANTED(j) (parked[N + j] != 0)
#define GOES_ON(i) (batch[i] == 0 || batch[i] >= WRITES)
active [N] proctype Fate() {
end:
  do
  /* The member attaches, with a claim. */
  :: d_step { ALIVE(it) && phase[it] != ENDED && session[it] == 0 && !cut[it] && !broken && GOES_ON(it) ->
      sessions[it]++; assert(sessions[it] <= SESSIONS);
      part = 0;
      do
      :: part < 2 -> if :: parked[part * N + it] != 0 -> EndQuietly(part * N + it, TRY_AGAIN, 0) :: else fi; part++
      :: else -> break
      od;
      BatchIsUnread(it, 0);
      session[it] = sessions[it]; current[it] = session[it]; attached[it] = 1;
      Observe(it, number[it]);
      if :: phase[it] == WAITS && way[it] == 0 -> SendOwnCall(it) :: else fi; Clean() }
  :: d_step { ALIVE(it) && phase[it] < DONE && broken && !cut[it] && !IS_BUSY(it) &&
      (session[it] == 0 || attached[it] && current[it] == session[it]) -> EndMember(it); Clean() }
  /* NeedContribution. */
  :: d_step { instance > 0 && !recovering && !broken && sequence > 0 && attached[it] && session[it] == current[it] &&
      ALIVE(it) && phase[it] != ENDED && !cut[it] && number[it] >= sequence && !sent[N + it] && next[it] >= sequence &&
      ANY(WANTED) ->
      sent[N + it] = 1; attempts[it]++; latest[N + it] = attempts[it]; Settle(); Clean() }
  /* The member is dead, and the grace is over. */
  :: d_step { !recovering && !broken && !ALIVE(it) && !attached[it] -> broken = 1; Clean() }
  /* A wait ends at the daemon. The end of a part is not reported. */
  :: d_step { !broken && timeouts < TIMEOUT && (parked[it] == OWN_CALL || parked[N + it] == OWN_CALL) ->
      timeouts++; k = (parked[it] == OWN_CALL -> it : N + it);
      AnswerCall(it, latest[k], TIMED_OUT, 0); parked[k] = 0; Clean() }
  :: d_step { !broken && timeouts < TIMEOUT && parked[it] >= PART ->
      timeouts++; EndQuietly(it, TIMED_OUT, 0); Clean() }

  :: d_step { phase[it] == WAITS && batch[it] != 0 && stops < STOP -> stops++; phase[it] = STOPPED; Clean() }
  :: d_step { phase[it] < DONE && kills < KILL ->
      kills++; phase[it] = DEAD;
      if :: session[it] != 0 && !cut[it] -> Send(MESSAGE(CLOSE, it, session[it], 0, 0, 0)) :: else fi; Clean() }
  :: d_step { ALIVE(it) && phase[it] != ENDED && session[it] != 0 && !cut[it] && cuts < CUT ->
      cuts++; cut[it] = 1; Send(MESSAGE(CLOSE, it, session[it], 0, 0, 0)); Clean() }
  od
}

#define PLACE (_pid - 2 * N)
#define IS_THERE (PLACE < on_way)
#define THIS (net[PLACE])
#define MAY_ARRIVE(m) \
  (!(KIND(m) == CALL && recovering) && \
   !(KIND(m) == BATCH_ANSWER && !(batch[WHO(m)] == 0 || batch[WHO(m)] == SENT && batch_attempt[WHO(m)] == ATTEMPT(m))))

inline EndCalls(kind_) {
  j = 0;
  do
  :: j < on_way ->
    if
    :: KIND(net[j]) == kind_ && WHO(net[j]) == who && ATTEMPT(net[j]) == a -> Remove(j)
    :: else -> j++
    fi
  :: else -> break
  od
}

inline TakeAnswer() {
  if
  :: withdraws[who] != 0 && withdraws[who] == a -> withdraws[who] = 0
  :: else ->
    if
    :: x == OK -> assert(n == number[who]); TakeResult(who)  /* WRONG */
    :: x == OK_BUT_EMPTY -> assert(0)  /* WRONG */
    :: x == TIMED_OUT -> was_taken[who] = 0; GiveUp(who)
    :: else -> if :: cut[who] -> way[who] = 0; in_flight[who] = 0 :: else -> SendOwnCall(who) fi
    fi
  fi
}

inline TakeBatchAnswer() {
  if
#ifdef LEFT_BATCHES_ARE_PUBLISHED
  :: batch[who] == 0 ->
    if
    :: x != 0 ->
      batch[who] = WRITES; batch_done[who] = x; batch_number[who] = number[who]; j = 0;
      do
      :: j < L -> taken[who * L + j] = ((x >> j) & 1 -> slot_attempt[j] : 0); j++
      :: else -> break
      od
    :: else
    fi
#endif
#ifdef BATCHES_CARRY_ERRORS
  :: batch[who] != 0 && x == 15 -> assert(kills > 0)  /* ENDED */
#endif
  :: batch[who] != 0 && x != 0 && x != 15 -> batch[who] = WRITES; batch_done[who] = x
  :: batch[who] != 0 && x == 0 ->
    any = IS_STILL_TAKEN(who, who); Release(who);
    if
    :: any ->
      Revoke(who);
      if :: cut[who] -> way[who] = 0; in_flight[who] = 0 :: else -> SendOwnCall(who) fi
    :: else
    fi
  :: else
  fi
}

inline TakeMessage(refused) {
  m = THIS; who = WHO(m); s = SESSION(m); a = ATTEMPT(m); n = NUMBER(m); x = CONTENT(m);
  listens = !IS_COPY(m);
  Remove(PLACE);
  if
  :: KIND(m) == CALL -> TakeCall()
  :: KIND(m) == BATCH -> TakeBatch(refused)
  :: KIND(m) == CALL_END ->
    EndCalls(CALL);
    part = 0;
    do
    :: part < 2 ->
      if
      :: parked[part * N + who] != 0 && latest[part * N + who] == a -> EndQuietly(part * N + who, TRY_AGAIN, 0)
      :: else
      fi; part++
    :: else -> break
    od
  :: KIND(m) == BATCH_END -> EndCalls(BATCH); BatchIsUnread(who, a)
  :: KIND(m) == CLOSE -> Close()
  :: KIND(m) == ANSWER -> TakeAnswer()
  :: KIND(m) == BATCH_ANSWER -> TakeBatchAnswer()
  fi;
  Clean()
}

#define NOBODY 9
#define HAS_LOST_CONNECTION(m) (!ALIVE(WHO(m)) || cut[WHO(m)] || session[WHO(m)] != SESSION(m) || IS_COPY(m))

active [QUEUE] proctype Carrier() {
end:
  do
  :: d_step { IS_THERE && MAY_ARRIVE(THIS) -> TakeMessage(NOBODY) }
#if REFUSE > 0
  :: d_step { IS_THERE && KIND(THIS) == BATCH && HAS_PART(THIS, 0) && refusals < REFUSE -> refusals++; TakeMessage(0) }
  :: d_step { IS_THERE && KIND(THIS) == BATCH && HAS_PART(THIS, 1) && refusals < REFUSE -> refusals++; TakeMessage(1) }
#endif
  :: d_step { IS_THERE && KIND(THIS) <= BATCH_END && HAS_LOST_CONNECTION(THIS) -> Remove(PLACE); Clean() }
  :: d_step { IS_THERE && KIND(THIS) <= BATCH && !IS_COPY(THIS) && copies < COPY ->
      copies++; Send(THIS | COPIED); Clean() }
  od
}

#define IS_HERE_OR_GONE(i) (attached[i] || !ALIVE(i) || phase[i] == ENDED)
#define IS_GONE(i) (!ALIVE(i) || phase[i] == ENDED)

active proctype Daemon() {
end:
  do
  :: d_step { recovering && ALL(IS_HERE_OR_GONE) ->
      recovering = 0;
      if :: ANY(IS_GONE) -> broken = 1 :: else fi; Clean() }
  :: d_step { crashes < CRASH ->
      crashes++; instance++; recovering = 1; broken = 0; sequence = 0;
      i = 0;
      do
      :: i < 2 * N -> sent[i] = 0; latest[i] = 0; parked[i] = 0; parked_by[i] = 0; parked_in[i] = 0; i++
      :: else -> break
      od;
      i = 0;
      do
      :: i < N ->
        attached[i] = 0; current[i] = 0; next[i] = 0;
        if :: ALIVE(i) && session[i] != 0 -> cut[i] = 1 :: else fi; i++
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
  od
}

/* Members that wait for a stopped sender are parked at the daemon, so it knows which member is
 * missing. */
#define HAS_ENDED(i) (phase[i] >= DONE || stops > 0 && parked[i] != 0)

active proctype Watch() {
  timeout -> assert(ALL(HAS_ENDED))  /* STUCK */
}
