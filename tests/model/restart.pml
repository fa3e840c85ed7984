/* Collectives, sessions, Leave and the restart of the coordinator: docs/rules.md.
 *
 * N members make K collectives (all-gathers), one after the other, and then call Leave. The
 * daemon may be killed and restarts without state. Connections are cut, and messages in flight
 * arrive late or never. Calls time out, are cancelled and are repeated; processes die. Each step
 * of a member or of the daemon is atomic, as a step of MemberCore or Coordinator is. Attach is
 * one step: a lost answer to it equals an Attach and a cut.
 *
 * What must hold:
 *   AGREE    all members that complete a collective get the same result
 *   GHOST    no collective completes with an arrival that its member has given up, unless the news
 *            of that is still on its way to the daemon
 *   ENDED    no member ends with an error unless a process was lost
 *   REFUSED  the daemon refuses no call, since the members follow the rules
 *   STUCK    every living member comes to an end
 *
 * Each mutation in BUILD.bazel is a define that breaks one rule. Not in this model: leases
 * (leases.pml), node fan-in (fan_in.pml), elastic jobs, two daemons, groups beside the world. */

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
#ifndef TIMEOUT
#define TIMEOUT 0  /* the daemon ends a wait */
#endif
#ifndef CANCEL
#define CANCEL 0   /* the program cancels its call */
#endif
#ifndef COPY
#define COPY 0     /* a call arrives twice */
#endif
#ifndef DISAGREE
#define DISAGREE 0 /* 1: the last member makes another call at number 0 */
#endif

#include "network.pml"

#define MESSAGE(kind, who, s, a, n, x) \
  ((kind) | ((who) << 3) | ((s) << 5) | ((a) << 9) | ((n) << 14) | ((x) << 16))
#define KIND(m) ((m) & 7)
#define WHO(m) (((m) >> 3) & 3)
#define SESSION(m) (((m) >> 5) & 15)
#define ATTEMPT(m) (((m) >> 9) & 31)
#define NUMBER(m) (((m) >> 14) & 3)
#define CONTENT(m) (((m) >> 16) & 31)
#define CALL 1     /* to the daemon: an arrival */
#define CALL_END 2 /* to the daemon: the call was cancelled */
#define CLOSE 3    /* to the daemon: the stream and the calls of its session have ended */
#define RESULT 4   /* to the member */
#define DEADLINE 5 /* to the member: the wait has timed out */

/* ---- A member ---- */
#define IDLE 0     /* between two calls */
#define WAITS 1    /* in a collective */
#define LEAVES 2   /* in Leave */
#define LEFT 3     /* Leave has returned */
#define ENDED 4    /* with ABORTED */
#define DEAD 5
#define FINISHED 6 /* it was told that its group is finished */
byte phase[N];
byte number[N];    /* of its current or next collective */
byte session[N];   /* 0: none */
byte sessions[N];  /* how many it has had */
bool cut[N];       /* its connection is broken, and it has not noticed */
byte attempts[N];  /* of its latest send */
byte in_flight[N]; /* the attempt of the send that counts; 0: none */
byte content[N];   /* of the current number, once sent: 1 or 2 */
byte kept[N];      /* its content at the number before */

/* ---- The daemon ---- */
byte instance;
bool recovering;
bool knows_roster = 1;
bool parked_claim[N]; /* attached, but not answered before the roster is known */
bool asked[N];        /* it was asked for the roster */
bool asked_somebody;
bool attached[N];
byte current[N];      /* the member's current session at this daemon */
bool heard[N];        /* the member has told its number */
byte sequence;
byte arrived[N];      /* content; 0: has not arrived */
byte arrived_as[N];   /* the latest attempt */
byte waiter[N];       /* the attempt of the parked call; 0: none */
byte past[N];         /* its content in the collective before; 0: unknown */
byte past_as[N];
byte past_waiter[N];
bool leaving[N];
bool broken;
bool finished;

/* ---- What has happened ---- */
byte crashes, cuts, kills, timeouts, cancels, copies;
byte result_of[K];    /* the result that the first member to complete it got */

hidden byte i, j, next, outcome, who, s, a, n, x;
hidden byte all, known, will_hear;

#define ANY(p) (p(0) || p(1) || p(N - 1))
#define ALL(p) (p(0) && p(1) && p(N - 1))
#define ALIVE(m) (phase[m] < LEFT || phase[m] == FINISHED)
#define CAN_SEND(m) (session[m] != 0 && !parked_claim[m])
#define TALKS(m) (session[m] != 0 && !cut[m] && attached[m] && current[m] == session[m])

#ifdef TAKE_STALE_CLOSES
#define CLOSE_COUNTS(s, m) 1
#else
#define CLOSE_COUNTS(s, m) ((s) == current[m])
#endif

/* An answer counts only for the send in flight, in the current session. */
#ifdef TAKE_RESULTS_OF_OLD_SESSIONS
#define ANSWER_COUNTS(m, s, a, n) (phase[m] == WAITS && (n) == number[m])
#else
#define ANSWER_COUNTS(m, s, a, n) (phase[m] == WAITS && (s) == session[m] && (a) == in_flight[m])
#endif

/* Messages that change nothing, whenever they arrive. Dropping them at once saves states. */
#define USELESS(m) \
  (KIND(m) <= CALL_END && SESSION(m) != current[WHO(m)] || \
   KIND(m) == CLOSE && !CLOSE_COUNTS(SESSION(m), WHO(m)) || \
   KIND(m) >= RESULT && !ANSWER_COUNTS(WHO(m), SESSION(m), ATTEMPT(m), NUMBER(m)))

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

/* The result of the past all-gather: one bit for each member, and a last bit that is always set. */
inline ResultOf() {
  outcome = 1; j = 0;
  do
  :: j < N -> outcome = outcome + (2 << j) * (past[j] - 1); j++
  :: else -> break
  od
}

/* Answers the members that wait for the past collective, if all its content is known. */
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

/* Every collective below `next` has completed. The last of them becomes the past one. */
inline MoveOn() {
  i = 0;
  do
  :: i < N ->
    past[i] = (next == sequence + 1 -> arrived[i] : 0);
    past_as[i] = (next == sequence + 1 -> arrived_as[i] : 0);
    past_waiter[i] = waiter[i];
    arrived[i] = 0; waiter[i] = 0; arrived_as[i] = 0;
    i++
  :: else -> break
  od;
  sequence = next;
  AnswerPast()
}

/* The first number that a member tells a restarted daemon is believed, even if it is ahead of
 * the daemon's. */
inline Observe(m) {
  if
#ifdef CLAIMS_DO_NOT_COUNT
  :: 0 -> skip
#else
  :: !heard[m] && instance > 0 && number[m] > sequence -> next = number[m]; MoveOn()
#endif
  :: else
  fi;
  heard[m] = 1
}

/* Answers the Attach call, and accepts the claim. */
inline Enter(m) {
  attached[m] = 1;
  waiter[m] = 0; past_waiter[m] = 0;
  Observe(m);
  if :: phase[m] == LEAVES -> leaving[m] = 1 :: else fi;
#ifndef FINISHED_IS_NOT_CLAIMED
  if :: phase[m] == FINISHED -> finished = 1 :: else fi
#endif
}

/* Sends the member's call again, under a new attempt. */
inline SendCall(m) {
  attempts[m]++;
  in_flight[m] = attempts[m];
  Send(MESSAGE(CALL, m, session[m], attempts[m], number[m], content[m]))
}

/* The member's epoch is broken. A member that is leaving needs nothing more from it. */
inline EndMember(m) {
  in_flight[m] = 0;
  if
  :: phase[m] == LEAVES -> phase[m] = LEFT
  :: else -> phase[m] = ENDED; assert(kills > 0)  /* ENDED */
  fi
}

#ifdef TAKE_STALE_CLOSES
#define IS_LOST(m) (!ALIVE(m) || session[m] != 0 && !cut[m])
#else
#define IS_LOST(m) (!ALIVE(m))
#endif
#define WAITS_FOR_PAST(m) (past_waiter[m] != 0)
#define IS_LEAVING(m) (leaving[m])

/* The steps of a member, and the daemon's steps that concern one member. */
active [N] proctype Member() {
end:
  do
  /* The program makes its call. */
  :: d_step { phase[_pid] == IDLE && number[_pid] < K && CAN_SEND(_pid) ->
      phase[_pid] = WAITS;
#ifdef OWN_CONTENT_IS_FORGOTTEN
      kept[_pid] = 0;
#endif
#ifdef CONTENT_MAY_CHANGE
      content[_pid]++;
#else
      if :: content[_pid] == 0 -> content[_pid] = 1 :: else fi;
#endif
      SendCall(_pid); Clean() }
  :: d_step { phase[_pid] == WAITS && in_flight[_pid] == 0 && CAN_SEND(_pid) -> SendCall(_pid); Clean() }
  :: d_step { phase[_pid] == WAITS && in_flight[_pid] != 0 && cancels < CANCEL ->
      cancels++; phase[_pid] = IDLE;
      Send(MESSAGE(CALL_END, _pid, session[_pid], in_flight[_pid], number[_pid], 0));
      in_flight[_pid] = 0; Clean() }
  :: d_step { phase[_pid] == IDLE && number[_pid] == K -> phase[_pid] = LEAVES }
  :: d_step { phase[_pid] == LEAVES && TALKS(_pid) && !leaving[_pid] && !recovering && !broken ->
      leaving[_pid] = 1 }
#ifdef LEAVE_RETURNS_AT_ONCE
  :: d_step { phase[_pid] == LEAVES && TALKS(_pid) && leaving[_pid] -> phase[_pid] = LEFT; Clean() }
#else
  :: d_step { phase[_pid] == LEAVES && TALKS(_pid) && !recovering && ALL(IS_LEAVING) ->
      phase[_pid] = LEFT; Clean() }
#endif

  /* The member notices the end of its connection, and attaches again. */
  :: d_step { ALIVE(_pid) && session[_pid] != 0 && cut[_pid] ->
      session[_pid] = 0; cut[_pid] = 0; in_flight[_pid] = 0; Clean() }
  :: d_step { ALIVE(_pid) && session[_pid] == 0 && !broken ->
      sessions[_pid]++;
      session[_pid] = sessions[_pid]; current[_pid] = sessions[_pid];
      attached[_pid] = 0; parked_claim[_pid] = 0; asked[_pid] = 0;
      if
      :: knows_roster -> Enter(_pid)
      :: else -> parked_claim[_pid] = 1; recovering = 1
      fi;
      Clean() }
  /* The daemon tells the member of a broken epoch or a finished group: by an event, or as the
   * answer to Attach. */
  :: d_step { phase[_pid] < LEFT && broken && (TALKS(_pid) || session[_pid] == 0) -> EndMember(_pid); Clean() }
  :: d_step { phase[_pid] < LEAVES && finished && TALKS(_pid) ->
      phase[_pid] = FINISHED; in_flight[_pid] = 0; Clean() }
#ifndef CONTRIBUTIONS_ARE_NOT_SENT_AGAIN
  /* NeedContribution, and the contribution that the member sends. */
  :: d_step { phase[_pid] < LEFT && TALKS(_pid) && !recovering && sequence > 0 && number[_pid] == sequence &&
      kept[_pid] != 0 && past[_pid] == 0 && ANY(WAITS_FOR_PAST) ->
      past[_pid] = kept[_pid]; AnswerPast(); Clean() }
#endif

  /* A claim does not contain the roster. The daemon asks one claimant after the other for it. */
#ifdef ONE_IS_ASKED_FOR_THE_ROSTER
  :: d_step { !knows_roster && parked_claim[_pid] && !asked_somebody -> asked[_pid] = 1; asked_somebody = 1 }
#else
  :: d_step { !knows_roster && parked_claim[_pid] && !asked[_pid] -> asked[_pid] = 1 }
#endif
  :: d_step { !knows_roster && parked_claim[_pid] && asked[_pid] && ALIVE(_pid) && !cut[_pid] ->
      knows_roster = 1; asked_somebody = 0; who = 0;
      do
      :: who < N ->
        asked[who] = 0;
        if :: parked_claim[who] -> parked_claim[who] = 0; Enter(who) :: else fi;
        who++
      :: else -> break
      od;
      Clean() }

  /* The daemon's wait time-out ends the call. */
  :: d_step { waiter[_pid] != 0 && timeouts < TIMEOUT ->
      timeouts++;
      Send(MESSAGE(DEADLINE, _pid, current[_pid], waiter[_pid], sequence, 0)); waiter[_pid] = 0; Clean() }
  /* The member is lost: it is dead, or has been silent for longer than the grace. Living members
   * are back before that. */
  :: d_step { knows_roster && !recovering && !broken && !attached[_pid] && !ALL(IS_LEAVING) && IS_LOST(_pid) ->
      broken = 1; Clean() }

  /* Faults. */
  :: d_step { phase[_pid] < LEFT && kills < KILL ->
      kills++; phase[_pid] = DEAD; in_flight[_pid] = 0;
      if :: session[_pid] != 0 && !cut[_pid] -> Send(MESSAGE(CLOSE, _pid, session[_pid], 0, 0, 0)) :: else fi;
      Clean() }
  :: d_step { ALIVE(_pid) && session[_pid] != 0 && !cut[_pid] && cuts < CUT ->
      cuts++; cut[_pid] = 1; Send(MESSAGE(CLOSE, _pid, session[_pid], 0, 0, 0)); Clean() }
  od
}


/* Whether all members are parked, or two of them disagree. */
inline Complete() {
  all = 1; known = 0; i = 0;
  do
  :: i < N ->
    all = all && waiter[i] != 0;
    known = known || DISAGREE && sequence == 0 && i < N - 1 && arrived[i] != 0 && arrived[N - 1] != 0;
    i++
  :: else -> break
  od;
  if
  :: known ->
    finished = 1; i = 0;
    do :: i < N -> waiter[i] = 0; i++ :: else -> break od
  :: all && !known ->
    i = 0;
    do
    :: i < N ->
      will_hear = 0; j = 0;
      do
      :: j < on_way ->
        will_hear = will_hear || WHO(net[j]) == i && (KIND(net[j]) == CALL_END || KIND(net[j]) == CLOSE); j++
      :: else -> break
      od;
      assert(phase[i] == WAITS && number[i] == sequence || phase[i] >= LEFT || will_hear);  /* GHOST */
      i++
    :: else -> break
    od;
    next = sequence + 1;
    MoveOn()
  :: else
  fi
}

#ifdef ATTEMPTS_DO_NOT_COUNT
#define SENT_BEFORE(m, a) 0
#else
#define SENT_BEFORE(m, a) ((a) <= arrived_as[m])
#endif
#ifdef ATTEMPTS_DO_NOT_COUNT_IN_THE_PAST
#define ANSWERED_LATER(m, a) 0
#else
#define ANSWERED_LATER(m, a) ((a) < past_as[m])
#endif

inline Arrive() {
  if
  :: finished -> skip  /* an event says so */
  :: !finished && n == sequence ->
    if
    :: SENT_BEFORE(who, a) -> skip  /* CANCELLED, which its sender ignores */
    :: else ->
      assert(arrived[who] == 0 || arrived[who] == x);  /* REFUSED: the content has changed */
#ifdef ARRIVALS_ARE_COUNTED
      if :: waiter[who] != 0 -> waiter[(who + 1) % N] = 31 :: else fi;
#endif
      arrived[who] = x; arrived_as[who] = a; waiter[who] = a;
      Complete()
    fi
  :: !finished && n + 1 == sequence ->
    if
    :: ANSWERED_LATER(who, a) -> skip  /* CANCELLED */
    :: else ->
      if :: past[who] == 0 -> past[who] = x :: else fi;
      past_as[who] = a; past_waiter[who] = a;
      AnswerPast()
    fi
  :: else ->
    assert(!(phase[who] == WAITS && s == session[who] && a == in_flight[who]))  /* REFUSED: skips or repeats a number */
  fi
}

inline EndCall() {
  j = 0;  /* no message of a call arrives after its end */
  do
  :: j < on_way ->
    if
    :: KIND(net[j]) == CALL && WHO(net[j]) == who && ATTEMPT(net[j]) == a -> Remove(j)
    :: else -> j++
    fi
  :: else -> break
  od;
#ifdef CANCELS_NAME_NO_ATTEMPT
  waiter[who] = 0; past_waiter[who] = 0
#else
  if :: waiter[who] == a -> waiter[who] = 0 :: else fi;
  if :: past_waiter[who] == a -> past_waiter[who] = 0 :: else fi
#endif
}

/* The end of the stream ends the calls of its session. */
inline Close() {
  if
  :: CLOSE_COUNTS(s, who) ->
    attached[who] = 0; parked_claim[who] = 0; asked[who] = 0;
    waiter[who] = 0; past_waiter[who] = 0
  :: else
  fi
}

inline TakeResult() {
  if
  :: ANSWER_COUNTS(who, s, a, n) ->
    assert(result_of[n] == 0 || result_of[n] == x);  /* AGREE */
    result_of[n] = x;
    number[who]++; phase[who] = IDLE; in_flight[who] = 0; kept[who] = content[who]; content[who] = 0
  :: else
  fi
}

inline TakeDeadline() {
  if
  :: ANSWER_COUNTS(who, s, a, n) -> phase[who] = IDLE; in_flight[who] = 0
  :: else
  fi
}

#define PLACE (_pid - N)
#define IS_THERE (PLACE < on_way)
#define LOSES_CONNECTION(m) (cut[WHO(m)] || phase[WHO(m)] == DEAD || session[WHO(m)] != SESSION(m))

/* One process for each place in the network. */
active [QUEUE] proctype Carrier() {
end:
  do
  /* The message arrives. Calls wait until a recovery is over. */
  :: d_step { IS_THERE && !(recovering && KIND(net[PLACE]) <= CALL_END) ->
      who = WHO(net[PLACE]); s = SESSION(net[PLACE]); a = ATTEMPT(net[PLACE]);
      n = NUMBER(net[PLACE]); x = CONTENT(net[PLACE]); outcome = KIND(net[PLACE]);
      Remove(PLACE);
      if
      :: outcome == CALL ->
        if :: s == current[who] && attached[who] && !broken -> Arrive() :: else fi
      :: outcome == CALL_END -> EndCall()
      :: outcome == CLOSE -> Close()
      :: outcome == RESULT -> TakeResult()
      :: outcome == DEADLINE -> TakeDeadline()
      fi;
      Clean() }
  /* The message is lost with its connection. */
  :: d_step { IS_THERE && KIND(net[PLACE]) != CLOSE && LOSES_CONNECTION(net[PLACE]) -> Remove(PLACE); Clean() }
  :: d_step { IS_THERE && KIND(net[PLACE]) == CALL && copies < COPY -> copies++; Send(net[PLACE]) }
  od
}

#define IS_HERE_OR_GONE(m) (attached[m] || !ALIVE(m))
#define IS_ABSENT(m) (!attached[m])
#define LEAVES_OR_IS_ABSENT(m) (leaving[m] || !attached[m])

active proctype Daemon() {
end:
  do
  /* A recovery ends when all members have attached, or with the grace, in which only dead
   * members do not come back. If all attached members are leaving, the absent ones may have left
   * too. */
  :: d_step { recovering && knows_roster && ALL(IS_HERE_OR_GONE) ->
      recovering = 0;
      if :: ANY(IS_ABSENT) && !ALL(LEAVES_OR_IS_ABSENT) -> broken = 1 :: else fi;
      i = 0;
      do
      :: i < N ->
        if :: !attached[i] -> leaving[i] = 1 :: else fi; i++
      :: else -> break
      od;
      Clean() }
  /* The daemon is killed, and all its state is gone. */
  :: d_step { crashes < CRASH ->
      crashes++; instance++;
      recovering = 0; knows_roster = 0; asked_somebody = 0; sequence = 0; broken = 0; finished = 0;
      i = 0;
      do
      :: i < N ->
        parked_claim[i] = 0; asked[i] = 0; attached[i] = 0; current[i] = 0; heard[i] = 0;
        arrived[i] = 0; arrived_as[i] = 0; waiter[i] = 0; past[i] = 0; past_as[i] = 0;
        past_waiter[i] = 0; leaving[i] = 0;
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
  od
}

#define IS_DONE(m) (phase[m] >= LEFT)

active proctype Watch() {
  timeout -> assert(ALL(IS_DONE))  /* STUCK */
}
