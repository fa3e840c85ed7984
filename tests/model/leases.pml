/* Leases and their tokens: docs/rules.md.
 *
 * Every member wants the outcome of one piece of work. One member gets the lease, does the work,
 * which writes to a resource under the lease's token, and completes the lease. The others wait
 * for the outcome. The daemon may be killed and restarts without state. Connections are cut,
 * requests time out and are repeated, processes die, and some processes go on although they
 * count as lost. Each step is atomic, and so is Attach. After a loss, the job re-forms at once
 * without the lost member.
 *
 * What must hold:
 *   GROWS    a token is higher than any that was granted before, by any daemon
 *   ONE      no member is granted a lease while another holds it that does not count as lost
 *   FENCED   the resource refuses no member that does not count as lost
 *   STALE    no outcome is accepted under a token that the resource would refuse
 *   ONCE     work is done once unless a process was lost
 *   STUCK    every living member gets an outcome
 *
 * Each mutation in BUILD.bazel is a define that breaks one rule. Not in this model: two daemons,
 * limits, the order of the queue. */

#ifndef N
#define N 2
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
#ifndef SILENT
#define SILENT 0  /* a living process is cut off for so long that it counts as lost */
#endif
#ifndef TIMEOUT
#define TIMEOUT 0 /* a member gives up its request, and repeats it under another id */
#endif

#include "network.pml"

#define MESSAGE(kind, who, s, r, t) ((kind) | ((who) << 4) | ((s) << 6) | ((r) << 10) | ((t) << 13))
#define KIND(m) ((m) & 15)
#define WHO(m) (((m) >> 4) & 3)
#define SESSION(m) (((m) >> 6) & 15)
#define REQUEST(m) (((m) >> 10) & 7)
#define TOKEN(m) (((m) >> 13) & 15)
#define ASK 1       /* to the daemon */
#define ABANDON 2
#define COMPLETE 3
#define CLOSE 4     /* the stream and the calls of its session have ended */
#define GRANT 5     /* to the member */
#define OUTCOME 6
#define ABANDONED 7
#define COMPLETED 8
#define REFUSED 9   /* of COMPLETE: the token is not current */

/* ---- A member ---- */
#define IDLE 0
#define ASKS 1
#define WORKS 2
#define COMPLETES 3
#define KNOWS 4     /* it knows the outcome */
#define ENDED 5     /* it was told that it is lost */
#define DEAD 6
byte phase[N];
byte request[N];    /* its id */
byte token[N];      /* of the lease that it holds, or of the outcome that it knows */
byte abandons[N];   /* the id of the request that it has given up, until the daemon acknowledges; 0: none */
bool sent[N];       /* its pending request was sent in this session */
bool sent_abandon[N];
byte session[N];
byte sessions[N];
bool cut[N];

/* ---- The daemon ---- */
byte instance;
bool recovering;
bool attached[N];
byte current[N];
byte holder;        /* 1 + the member; 0: none */
byte holder_request;
byte held_token;
byte outcome_token; /* 0: not completed */
byte waits[N];      /* the parked request; 0: none */
byte given_up[N];   /* one bit for each abandoned request */
byte highest;       /* the highest token that it has granted or heard of */
/* All members of the epoch know this, so it survives the daemon. */
bool lost[N];

/* ---- What has happened ---- */
byte crashes, cuts, kills, silences, timeouts;
byte granted;       /* the highest token ever granted; wall clocks are always above it */
byte written;       /* the highest token that the resource has seen */
byte works;

hidden byte i, j, who, s, r, carried, kind;

#define ALL(p) (p(0) && p(1) && p(N - 1))
#define ANY(p) (p(0) || p(1) || p(N - 1))
#define ALIVE(m) (phase[m] < ENDED)
#define HOLDS(m) (phase[m] == WORKS || phase[m] == COMPLETES)
#define TALKS(m) (session[m] != 0 && !cut[m] && attached[m] && current[m] == session[m])
#define IS_HERE(m) (attached[m] || lost[m])
#define IS_HERE_OR_GONE(m) (attached[m] || lost[m] || !ALIVE(m))

#ifdef TAKE_GRANTS_OF_OLD_SESSIONS
#define ANSWER_COUNTS(m) (SESSION(m) == session[WHO(m)] || KIND(m) == GRANT && phase[WHO(m)] == ASKS)
#else
#define ANSWER_COUNTS(m) (SESSION(m) == session[WHO(m)])
#endif
/* Messages that change nothing, whenever they arrive. Dropping them at once saves states. */
#define USELESS(m) \
  (KIND(m) <= CLOSE && SESSION(m) != current[WHO(m)] || \
   KIND(m) > CLOSE && (!ANSWER_COUNTS(m) || !ALIVE(WHO(m))))

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

inline Answer(what, m, id, number) { Send(MESSAGE(what, m, current[m], id, number)) }

/* The work is done: tells all that wait. */
inline Publish(number) {
  outcome_token = number; holder = 0; holder_request = 0; held_token = 0;
  i = 0;
  do
  :: i < N ->
    if :: waits[i] != 0 -> Answer(OUTCOME, i, waits[i], outcome_token); waits[i] = 0 :: else fi;
    i++
  :: else -> break
  od
}

#define MAX(a, b) (a > b -> a : b)

/* Takes the member's claim. While the daemon recovers, it accepts a claimed grant unless it
 * knows a later one. An outcome replaces a grant with its token or a lower one. */
inline Claim(m) {
  highest = MAX(highest, token[m]);
  if
  :: HOLDS(m) ->
    if
    :: instance > 0 && recovering && token[m] > held_token && token[m] > outcome_token ->
      holder = m + 1; holder_request = request[m]; held_token = token[m]; outcome_token = 0
    :: else
    fi;
    if
    :: holder == m + 1 && held_token == token[m] || outcome_token == token[m] -> skip
    :: else -> phase[m] = IDLE; token[m] = 0  /* the grant is void: the member forgets it */
    fi
  :: phase[m] == KNOWS ->
#ifndef OUTCOMES_ARE_NOT_CLAIMED
    if
    :: token[m] > outcome_token && token[m] >= held_token -> Publish(token[m])
    :: else
    fi
#endif
    skip
  :: else
  fi;
  /* A grant that the claim does not name is void. */
  if
  :: holder == m + 1 && !(HOLDS(m) && token[m] == held_token) -> holder = 0; holder_request = 0; held_token = 0
  :: else
  fi
}

#ifdef GRANTS_DO_NOT_WAIT_FOR_CLAIMS
#define MAY_GRANT 1
#define CALLS_WAIT 0
#else
#define MAY_GRANT (!recovering && ALL(IS_HERE))
#define CALLS_WAIT recovering
#endif

active [N] proctype Member() {
end:
  do
  :: d_step { phase[_pid] == IDLE && session[_pid] != 0 && abandons[_pid] == 0 ->
      phase[_pid] = ASKS; request[_pid]++; sent[_pid] = 1;
      Send(MESSAGE(ASK, _pid, session[_pid], request[_pid], 0)); Clean() }
  :: d_step { phase[_pid] == ASKS && session[_pid] != 0 && !sent[_pid] ->
      sent[_pid] = 1; Send(MESSAGE(ASK, _pid, session[_pid], request[_pid], 0)); Clean() }
  :: d_step { phase[_pid] == ASKS && timeouts < TIMEOUT ->
      timeouts++; phase[_pid] = IDLE; sent[_pid] = 0;
#ifdef REQUESTS_ARE_NOT_ABANDONED
      skip }
#else
      abandons[_pid] = request[_pid]; sent_abandon[_pid] = 0 }
#endif
  :: d_step { abandons[_pid] != 0 && session[_pid] != 0 && !sent_abandon[_pid] && ALIVE(_pid) ->
      sent_abandon[_pid] = 1; Send(MESSAGE(ABANDON, _pid, session[_pid], abandons[_pid], 0)); Clean() }
  /* The holder works, and writes to the resource at the end. */
  :: d_step { phase[_pid] == WORKS ->
      assert(token[_pid] >= written || lost[_pid]);  /* FENCED */
      if
      :: token[_pid] >= written ->
        works++; written = token[_pid];
        assert(works == 1 || kills + silences > 0)  /* ONCE */
      :: else
      fi;
      phase[_pid] = COMPLETES; sent[_pid] = 0 }
  :: d_step { phase[_pid] == COMPLETES && session[_pid] != 0 && !sent[_pid] ->
      sent[_pid] = 1; Send(MESSAGE(COMPLETE, _pid, session[_pid], 0, token[_pid])); Clean() }

  /* The connection breaks or is restored. */
  :: d_step { ALIVE(_pid) && session[_pid] != 0 && cut[_pid] ->
      session[_pid] = 0; cut[_pid] = 0; sent[_pid] = 0; sent_abandon[_pid] = 0; Clean() }
  :: d_step { ALIVE(_pid) && session[_pid] == 0 ->
      if
      :: lost[_pid] -> phase[_pid] = ENDED
      :: else ->
        sessions[_pid]++; session[_pid] = sessions[_pid]; current[_pid] = sessions[_pid];
        attached[_pid] = 1; waits[_pid] = 0;
        Claim(_pid)
      fi; Clean() }
  /* The member is lost: it is dead, or has been silent for longer than the grace. */
  :: d_step { !recovering && !attached[_pid] && !lost[_pid] && !ALIVE(_pid) ->
      lost[_pid] = 1; waits[_pid] = 0; current[_pid] = 0;
      if :: holder == _pid + 1 -> holder = 0; holder_request = 0; held_token = 0 :: else fi; Clean() }
  :: d_step { !recovering && !lost[_pid] && ALIVE(_pid) && session[_pid] != 0 && silences < SILENT ->
      silences++; lost[_pid] = 1; waits[_pid] = 0; attached[_pid] = 0; current[_pid] = 0; cut[_pid] = 1;
      if :: holder == _pid + 1 -> holder = 0; holder_request = 0; held_token = 0 :: else fi; Clean() }
  /* The daemon grants the lease. */
  :: d_step { MAY_GRANT && waits[_pid] != 0 && holder == 0 && outcome_token == 0 ->
      i = 0;
      do
      :: i < N ->
        assert(i == _pid || !(phase[i] == WORKS && !lost[i]));  /* ONE */
        i++
      :: else -> break
      od;
#ifdef TOKENS_START_ANEW
      highest++;
#else
      highest = MAX(highest, granted) + 1;  /* the wall clock is above all granted tokens */
#endif
      assert(highest > granted);  /* GROWS */
      granted = highest;
      holder = _pid + 1; holder_request = waits[_pid]; held_token = highest; waits[_pid] = 0;
      Answer(GRANT, _pid, holder_request, held_token); Clean() }

  /* Faults. */
  :: d_step { ALIVE(_pid) && kills < KILL ->
      kills++; phase[_pid] = DEAD;
      if :: session[_pid] != 0 && !cut[_pid] -> Send(MESSAGE(CLOSE, _pid, session[_pid], 0, 0)) :: else fi; Clean() }
  :: d_step { ALIVE(_pid) && session[_pid] != 0 && !cut[_pid] && cuts < CUT ->
      cuts++; cut[_pid] = 1; Send(MESSAGE(CLOSE, _pid, session[_pid], 0, 0)); Clean() }
  od
}

inline TakeAsk() {
  if
  :: (given_up[who] >> r) & 1 -> skip  /* CANCELLED */
  :: else ->
    if
    :: outcome_token != 0 -> Answer(OUTCOME, who, r, outcome_token)
    :: outcome_token == 0 && holder == who + 1 && holder_request == r -> Answer(GRANT, who, r, held_token)
    :: else -> waits[who] = r
    fi
  fi
}

inline TakeAbandon() {
#ifndef ABANDONED_REQUESTS_ARE_FORGOTTEN
  given_up[who] = given_up[who] | (1 << r);
#endif
  if :: holder == who + 1 && holder_request == r -> holder = 0; holder_request = 0; held_token = 0 :: else fi;
  if :: waits[who] == r -> waits[who] = 0 :: else fi;
  Answer(ABANDONED, who, r, 0)
}

#define IS_CURRENT (holder == who + 1 && held_token == carried)

inline TakeComplete() {
  if
  :: IS_CURRENT ->
    assert(carried >= written);  /* STALE */
    Answer(COMPLETED, who, 0, carried);
    Publish(carried)
  :: !IS_CURRENT && outcome_token == carried -> Answer(COMPLETED, who, 0, carried)
  :: else -> Answer(REFUSED, who, 0, carried)
  fi
}

inline Close() {
  attached[who] = 0; waits[who] = 0;
#ifdef LEASES_END_WITH_THE_STREAM
  if :: holder == who + 1 -> holder = 0; holder_request = 0; held_token = 0 :: else fi;
#endif
  skip
}

#define PLACE (_pid - N)
#define IS_THERE (PLACE < on_way)
#define LOSES_CONNECTION(m) (cut[WHO(m)] || !ALIVE(WHO(m)) || session[WHO(m)] != SESSION(m))

active [QUEUE] proctype Carrier() {
end:
  do
  :: d_step { IS_THERE && !(CALLS_WAIT && KIND(net[PLACE]) < CLOSE) ->
      who = WHO(net[PLACE]); s = SESSION(net[PLACE]); r = REQUEST(net[PLACE]); carried = TOKEN(net[PLACE]);
      kind = KIND(net[PLACE]);
      Remove(PLACE);
      if
      :: kind == ASK -> TakeAsk()
      :: kind == ABANDON -> TakeAbandon()
      :: kind == COMPLETE -> TakeComplete()
      :: kind == CLOSE -> Close()
      :: kind == GRANT ->
        if :: phase[who] == ASKS && r == request[who] -> phase[who] = WORKS; token[who] = carried :: else fi
      :: kind == OUTCOME ->
        if :: phase[who] == ASKS && r == request[who] -> phase[who] = KNOWS; token[who] = carried :: else fi
      :: kind == ABANDONED ->
        if :: abandons[who] == r -> abandons[who] = 0 :: else fi
      :: kind == COMPLETED ->
        if :: phase[who] == COMPLETES && token[who] == carried -> phase[who] = KNOWS :: else fi
      :: kind == REFUSED ->
        if :: phase[who] == COMPLETES && token[who] == carried -> phase[who] = IDLE; token[who] = 0 :: else fi
      fi;
      Clean() }
  :: d_step { IS_THERE && KIND(net[PLACE]) != CLOSE && LOSES_CONNECTION(net[PLACE]) -> Remove(PLACE); Clean() }
  od
}

active proctype Daemon() {
end:
  do
  :: d_step { recovering && ALL(IS_HERE_OR_GONE) -> recovering = 0 }
  :: d_step { crashes < CRASH ->
      crashes++; instance++; recovering = 1;
      holder = 0; holder_request = 0; held_token = 0; outcome_token = 0; highest = 0;
      i = 0;
      do
      :: i < N ->
        attached[i] = 0; current[i] = 0; waits[i] = 0; given_up[i] = 0;
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

#define IS_DONE(m) (phase[m] >= KNOWS)

active proctype Watch() {
  timeout -> assert(ALL(IS_DONE))  /* STUCK */
}
