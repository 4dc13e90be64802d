/* Why tokens rise: the argument of quorum/internal/settlement as a model for Spin.
 *
 * Two clients take the same lock on three servers. Each makes one attempt, a round. A key may go
 * at any moment, because the order of tokens doesn't depend on how long leases last. One server
 * may restart once, with its data, with older data or with none. After that MaxTTL may pass. A
 * server's clock shows the time, or up to AHEAD more. AHEAD is half of MaxTTL.
 *
 * The claim: if both rounds are won, the one that a common server granted later has the larger
 * token. go test ./docs -run TestModel checks all states. Each symbol of an #ifdef breaks one
 * rule, and then Spin must find a state that breaks the claim:
 *
 *   MINORITY       less than a majority of votes wins
 *   NO_COUNT       a grant doesn't raise the counter
 *   NO_RAISE       votes below the token count without a raise
 *   RAISE_ANY      a raise compares neither the key nor the run
 *   OLD_COUNTER    the first grant in a run continues from the counter that it finds
 *   UNBOUNDED      counters may be ahead of the clock by any amount
 *   RESTART_VOTES  clients ask a server as soon as it has restarted
 */
#define SERVERS 3
#define ROUNDS 2
#ifdef MINORITY
#define QUORUM 1
#else
#define QUORUM 2
#endif
#define AHEAD 1                 /* how far a counter may be ahead of its server's clock */
#define START 2
#define END (START + 2*AHEAD)   /* after MaxTTL */
#define RESTARTS 1

byte now = START;

/* The state of each server. A holder of 0 means that the key is free. */
byte counter[SERVERS], holder[SERVERS];
bool counted[SERVERS];          /* the server has granted in this run */
byte since[SERVERS];            /* when the run began */
byte runs[SERVERS], granted[SERVERS];

/* A round on a server: the position of its grant in the order of the server's grants (0: none), the
 * token that the counter had reached while the key was the round's, and the run of the grant. */
#define AT(r, s) ((r)*SERVERS + (s))
byte place[(ROUNDS+1)*SERVERS], has[(ROUNDS+1)*SERVERS], inRun[(ROUNDS+1)*SERVERS];
bool settled[(ROUNDS+1)*SERVERS];
byte token[ROUNDS+1];           /* the token of a round, 0 if it wasn't won */

#define larger(a, b) ((a) > (b) -> (a) : (b))

/* The largest token that a server may give is AHEAD above its clock, and the clock may show AHEAD
 * more than the time. */
#ifdef UNBOUNDED
#define MOST 99
#else
#define MOST (now + AHEAD + AHEAD)
#endif

/* The server grants if the key is free, and raises its counter. The order of tokens doesn't need the
 * free key, because keys go at any moment. Mutual exclusion does. */
inline grant(r, s) {
	next = counter[s] + 1;
	if
	:: !counted[s] ->
		if /* what its clock shows */
		:: clock = now
		:: clock = now + AHEAD
		fi;
#ifndef OLD_COUNTER
		next = larger(next, clock + 1); /* the first grant in a run is above the clock */
#endif
#ifndef RESTART_VOTES
		ok = runs[s] == 0 || now - since[s] >= 2*AHEAD; /* clients don't ask earlier */
#endif
		skip
	:: else
	fi;
	if
	:: ok && next <= MOST && holder[s] == 0 ->
#ifndef NO_COUNT
		counter[s] = next;
#endif
		holder[s] = r;
		counted[s] = true;
		granted[s]++;
		place[AT(r, s)] = granted[s];
		has[AT(r, s)] = next;
		inRun[AT(r, s)] = runs[s]
	:: else
	fi;
	ok = true
}

/* The server raises its counter while the key is the round's, in the run of the grant. */
inline raise(r, s, to) {
	if
#ifdef RAISE_ANY
	:: to <= MOST ->
#else
	:: holder[s] == r && inRun[AT(r, s)] == runs[s] && to <= MOST ->
#endif
		counter[s] = larger(counter[s], to);
		has[AT(r, s)] = to
	:: else
	fi
}

/* The claim, for a round that was just won and the other round. */
inline claim(r, o) {
	s = 0;
	do
	:: s < SERVERS ->
		if
		:: settled[AT(r, s)] && settled[AT(o, s)] ->
			shared = true;
			assert((place[AT(r, s)] > place[AT(o, s)]) == (token[r] > token[o]));
			assert(token[r] != token[o])
		:: else
		fi;
		s++
	:: else -> break
	od;
	assert(shared)
}

proctype Client(byte r) {
	byte s, clock, next, votes, highest;
	bool ok = true, shared;
	/* Ask any servers, in any order. A lost or refused request changes nothing. */
	do
	:: atomic {
		select(s : 0 .. SERVERS-1);
		if
		:: place[AT(r, s)] == 0 -> grant(r, s)
		:: else
		fi;
		s = 0; clock = 0; next = 0
	}
	:: atomic {
		do
		:: s < SERVERS -> highest = larger(highest, has[AT(r, s)]); s++
		:: else -> break
		od;
		s = 0;
		break
	}
	od;
	/* Raise the counters below the token. A quorum of counters that have it wins. */
	do
#ifndef NO_RAISE
	:: atomic {
		select(s : 0 .. SERVERS-1);
		if
		:: place[AT(r, s)] != 0 && has[AT(r, s)] < highest -> raise(r, s, highest)
		:: else
		fi;
		s = 0
	}
#endif
	:: atomic {
		do
		:: s < SERVERS ->
			if
#ifdef NO_RAISE
			:: place[AT(r, s)] != 0 ->
#else
			:: place[AT(r, s)] != 0 && has[AT(r, s)] == highest ->
#endif
				settled[AT(r, s)] = true;
				votes++
			:: else
			fi;
			has[AT(r, s)] = 0; inRun[AT(r, s)] = 0;
			s++
		:: else -> break
		od;
		if
		:: votes >= QUORUM ->
			token[r] = highest;
			if
			:: token[ROUNDS+1-r] != 0 -> claim(r, ROUNDS+1-r)
			:: else
			fi
		:: else
		fi;
		highest = 0; votes = 0; s = 0; shared = false;
		break
	}
	od
}

/* What no client controls: time passes, keys go, and a server restarts. */
proctype World() {
	byte s;
end:	do
	:: atomic { runs[0] != 0 && now == START -> now = END }
	:: atomic {
		select(s : 0 .. SERVERS-1);
		holder[s] = 0;
		s = 0
	}
	:: atomic {
		/* The servers are alike, so it is enough that one of them restarts. */
		runs[0] < RESTARTS ->
		runs[0]++;
		counted[0] = false;
		since[0] = now;
		do /* the counter may be older, or gone */
		:: counter[0] > 0 -> counter[0]--
		:: break
		od;
		if
		:: skip
		:: holder[0] = 0
		:: place[AT(1, 0)] != 0 -> holder[0] = 1
		:: place[AT(2, 0)] != 0 -> holder[0] = 2
		fi
	}
	od
}

init {
	atomic {
		run Client(1);
		run Client(2);
		run World()
	}
}
