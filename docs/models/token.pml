/* Why tokens rise: the argument of quorum/internal/settlement as a model for Spin.
 *
 * Two clients take one lock on three servers, one round each. A key may go at any moment: the
 * order of the tokens doesn't depend on how long leases last. One server may restart, with its
 * data, with older data or with none. After that MaxTTL may pass. A server's clock shows the
 * time, or up to AHEAD more. AHEAD is half of MaxTTL.
 *
 * The claim: of two rounds that were won, the one that a common server granted later has the
 * larger token. go test ./docs -run TestModel checks all states. Each symbol of an #ifdef breaks
 * one rule, and Spin must then find a way to break the claim:
 *
 *   MINORITY       fewer votes than a majority win
 *   NO_COUNT       a grant doesn't count
 *   NO_RAISE       votes below the token count, and aren't raised
 *   RAISE_ANY      a raise doesn't compare the key, nor the run
 *   OLD_COUNTER    the first grant in a run goes on from the counter that is there
 *   UNBOUNDED      counters may be any far ahead of the clock
 *   RESTART_VOTES  a server is asked at once after a restart
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

/* What a server keeps. Round 0 is nobody's. */
byte counter[SERVERS], holder[SERVERS];
bool counted[SERVERS];          /* this run has granted */
byte since[SERVERS];            /* the time at which the run began */
byte runs[SERVERS], granted[SERVERS];

/* What is known of a round on a server: the grant and its place in the server's order, and the
 * token that the counter had reached while the key was the round's. */
#define AT(r, s) ((r)*SERVERS + (s))
byte place[(ROUNDS+1)*SERVERS], has[(ROUNDS+1)*SERVERS], inRun[(ROUNDS+1)*SERVERS];
bool settled[(ROUNDS+1)*SERVERS];
byte token[ROUNDS+1];           /* of a round that was won, else 0 */

#define larger(a, b) ((a) > (b) -> (a) : (b))

/* The largest token that a server may give: AHEAD above its clock, which may show AHEAD more
 * than the time. */
#ifdef UNBOUNDED
#define MOST 99
#else
#define MOST (now + AHEAD + AHEAD)
#endif

/* The server grants if the key is free, and counts. Keys go at any moment, so the order of the
 * tokens doesn't need a free key: that is for the one holder. */
inline grant(r, s) {
	next = counter[s] + 1;
	if
	:: !counted[s] ->
		if /* its clock */
		:: clock = now
		:: clock = now + AHEAD
		fi;
#ifndef OLD_COUNTER
		next = larger(next, clock + 1); /* the first grant of a run is above the clock */
#endif
#ifndef RESTART_VOTES
		ok = runs[s] == 0 || now - since[s] >= 2*AHEAD; /* nobody asks before */
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

/* The claim, for a round that was just won and another one. */
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
	/* Ask servers, in any order. A request that is lost or refused changes nothing. */
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
	/* Raise the counters below the token. A quorum that has it wins. */
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

/* What nobody controls: time, keys that go, and restarts. */
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
		/* The servers are alike, so that one may stand for any. */
		runs[0] < RESTARTS ->
		runs[0]++;
		counted[0] = false;
		since[0] = now;
		do /* the data is older, or gone */
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
