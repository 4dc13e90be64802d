"""A second client of this library's locks, from docs/reference/protocol.md alone: it shares locks, tokens
and wait queues with the Go client. It needs nothing but Python. It is short, not fast: it waits for all
servers, and polls."""
import concurrent.futures
import hashlib
import os
import random
import secrets
import socket
import sys
import time

import driver

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../instance/scripts")
COUNTER_TTL = 24 * 3600 * 1000  # ms


def script(*parts):
    """Joins the parts of a script."""
    texts = []
    for part in parts:
        with open(os.path.join(FOLDER, part + ".lua"), encoding="utf-8") as file:
            texts.append(file.read())
    return "".join(texts)


MARK, EXTEND, LIFT = script("clock", "mark"), script("clock", "run", "extend"), script("clock", "run", "lift")
DELETE, RELEASE = script("delete"), script("notify", "release_one")


def allowance(ms):
    return ms * 0.01 + 2


def clock():
    """Both clocks, in ms: the larger of what passes on them counts."""
    return time.monotonic() * 1000, time.time() * 1000


def passed(since):
    now = clock()
    return max(now[0] - since[0], now[1] - since[1], 0)


def field(info, name):
    for line in info.splitlines():
        if line.startswith(name + ":"):
            return line[len(name) + 1:]
    return ""


class ServerError(Exception):
    """The server answered with an error."""


class Server:
    """One server. Only one thread uses it at a time."""

    def __init__(self, name, address, max_ttl, set_, timeout):
        host, port = address.rsplit(":", 1)
        self.name, self.address, self.timeout = name, (host, int(port)), timeout
        self.mark, self.set = "{redlock}:served:" + name, set_
        self.max_ttl, self.ahead = max_ttl, max_ttl // 2  # how far a counter may be ahead of the clock, ms
        self.length = max_ttl + allowance(max_ttl)  # of a quarantine, ms
        self.socket = None
        self.run_id = self.run = self.voter = ""
        self.stale = True  # it has to be probed
        self.voted = self.quarantine = 0.0  # monotonic, ms
        self.offset = None  # of its clock from ours, between two bounds, and when: µs, µs, ms
        self.pending = {}  # deletes: value -> (key, monotonic ms at which the key has expired)

    def exchange(self, *commands):
        """Sends commands at once, each of them once. Errors are among the replies. If one is missing the
        connection is closed."""
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, self.timeout / 1000)
                self.replies = self.socket.makefile("rb")
            sent = []
            for command in commands:
                texts = [str(arg).encode() for arg in command]
                sent += [b"*%d\r\n" % len(texts), *(b"$%d\r\n%s\r\n" % (len(t), t) for t in texts)]
            self.socket.sendall(b"".join(sent))
            return [self.read() for _ in commands]
        except (OSError, ValueError, IndexError) as err:
            self.close()
            raise OSError(f"{self.name}: {err!r}") from err

    def read(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection ended")
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"-":
            return ServerError(text)
        if kind == b":":
            return int(text)
        if kind == b"+" or int(text) < 0:
            return text if kind == b"+" else None
        if kind == b"$":
            return self.replies.read(int(text) + 2)[:-2].decode(errors="replace")
        return [self.read() for _ in range(int(text))]

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def script(self, source, keys, args):
        rest = [len(keys), *keys, *args]
        reply = self.exchange(("EVALSHA", hashlib.sha1(source.encode()).hexdigest(), *rest))[0]
        if isinstance(reply, ServerError) and str(reply).startswith("NOSCRIPT"):
            reply = self.exchange(("EVAL", source, *rest))[0]
        if isinstance(reply, ServerError):
            raise reply
        return reply

    def probe(self):
        """Finds out the server's run. Any other run than the last one is a quarantine."""
        ago = max(0, clock()[0] - self.voted)
        voter = self.voter if ago < self.length else ""
        ago = max(0, int((ago - allowance(ago)) * 1000))
        sent = clock()[0]
        known = [self.run_id, self.epoch(), voter, ago, self.set]
        run_id, _, outcome, mark, age = self.script(MARK, [self.mark], known)
        if outcome != 1:
            why = {0: "is no master", 2: f"is used with the set {mark}", 3: "has the mark of an earlier version"}
            raise OSError(f"{self.name} {why[outcome]}")
        if (run_id, mark.split(" ")[0]) != (self.run_id, self.run.split(" ")[0]):
            # At first sight the age of the mark counts, later only what this client has seen.
            seen = age / 1000 if not self.run else 0
            self.quarantine = max(self.quarantine, clock()[0] + self.length - seen)
        self.run_id, self.run, self.stale = run_id, mark, False
        self.watch(int(self.epoch()) + age, sent, clock()[0])

    def epoch(self):
        return self.run.split(" ")[0].partition("@")[2]

    def ready(self):
        if self.stale:
            self.probe()

    def watch(self, micros, sent, received):
        """Two looks at a clock that runs at about our rate fit together, or else it was set."""
        low, high = micros - received * 1000, micros - sent * 1000
        if self.offset:
            by = 10_000 + (received - self.offset[2]) * 1000 * 0.005
            if low > self.offset[1] + by or high < self.offset[0] - by:
                self.quarantine = max(self.quarantine, received + self.length)
        self.offset = (low, high, received)

    def acquire(self, key, value, ttl, proposal):
        """The vote: a token, and whether the counter has yet to be raised to it. 0 is a refusal."""
        self.ready()
        sent, ahead = clock()[0], self.ahead * 1000
        estimate = int(self.offset[0] + sent * 1000)  # the lower bound
        start = proposal if proposal <= estimate + ahead else estimate
        expiry = start // 1000 + self.ahead + COUNTER_TTL
        old = [v for v, (k, _) in self.pending.items() if k == key]
        counter = "{" + key + "}:redlock"
        replies = self.exchange(
            ("MULTI",),
            *([("EVAL", DELETE, len(old), *[key] * len(old), *old)] if old else []),
            ("SET", key, value, "NX", "PX", ttl),
            ("SET", counter, start - 1, "NX", "PXAT", expiry),
            ("INCR", counter),
            ("GET", self.mark), ("INFO", "replication"), ("TIME",),
            ("EXEC",))
        if not isinstance(replies[-1], list):
            if not str(replies[-1]).startswith("EXECABORT"):
                self.close()
            raise next(r for r in replies if isinstance(r, ServerError))
        was_set, made, n, mark, info, (seconds, micros) = replies[-1][-6:]
        for v, deleted in zip(old, replies[-1][0] if old else []):
            if deleted == 1 or clock()[0] > self.pending[v][1]:
                del self.pending[v]
        now = int(seconds) * 1_000_000 + int(micros)
        self.watch(now, sent, clock()[0])
        # The vote counts only in the run that is known, and in no other set.
        if mark != self.run or field(info, "role") != "master" or field(info, "master_replid") != self.run.split("@")[0]:
            self.stale = True
            raise ServerError(f"{self.name}: another run or set: {mark}")
        if was_set is None:
            return 0, False
        for reply in (was_set, n):
            if isinstance(reply, ServerError):
                raise reply
        most = min(now + ahead, 2**53 - 1)
        if n > most:
            raise ServerError(f"{self.name}: the counter {n} is too far ahead of the clock {now}")
        floor = int(self.epoch()) + self.max_ttl * 1000  # an earlier run's counters came to that at most
        if n > now or n > floor and made is None:
            return n, False
        return max(n, now + 1, proposal if proposal <= most else 0), True

    def ask(self, source, keys, args):
        """Runs a script in the run that is known. The reply begins with the server's clock."""
        self.ready()
        sent = clock()[0]
        try:
            reply = self.script(source, keys + [self.mark], [self.run, *args])
        except ServerError as err:
            if str(err).startswith("REDLOCKRUN"):
                self.probe()  # it did nothing
            raise
        self.watch(reply[0], sent, clock()[0])
        return reply[1]

    def may_vote(self):
        return clock()[0] >= self.quarantine

    def counted(self, sent):
        self.voter, self.voted = self.run_id, sent

    def delete(self, key, value, until):
        """Deletes the key, now or when the server answers again."""
        self.pending[value] = (key, until)
        return self.flush().get(value, False)

    def flush(self):
        """Sends the pending deletes. One that finds nothing is repeated: the SET may come later."""
        done = {}
        for value, (key, until) in list(self.pending.items()):
            try:
                done[value] = self.script(RELEASE, [key, "{" + key + "}:redlock:waiters"], [value]) % 2 == 1
            except (OSError, ServerError):
                break
            if done[value] or clock()[0] > until:
                del self.pending[value]
        return done


class Client:
    def __init__(self, servers, max_ttl, name="", version=0, timeout=100):
        """servers are pairs of a name, which all clients have to share, and an address."""
        self.quorum, self.max_ttl, self.timeout = len(servers) // 2 + 1, max_ttl, timeout
        set_ = f"{name}@{version} N={len(servers)} Q={self.quorum} MaxTTL={duration(max_ttl)}"
        self.servers = [Server(name, address, max_ttl, set_, timeout) for name, address in servers]
        self.threads = concurrent.futures.ThreadPoolExecutor(len(servers))

    def ask(self, do, servers=None):
        """Asks all servers at once. Returns {server: reply} of those that answered."""
        servers = self.servers if servers is None else servers
        replies = {}
        for server, future in [(s, self.threads.submit(do, s)) for s in servers]:
            try:
                replies[server] = future.result()
            except (OSError, ServerError) as err:
                print(server.name, repr(err), file=sys.stderr)
        return replies

    def acquire(self, key, ttl, wait=0):
        if ttl > self.max_ttl:
            raise ValueError(f"ttl is {ttl}, MaxTTL {self.max_ttl}")
        began = clock()
        while True:
            try:
                return self.round(key, ttl)
            except (driver.Taken, RuntimeError):
                if passed(began) >= wait:
                    raise
            time.sleep(random.uniform(0.02, 0.1))

    def round(self, key, ttl):
        value, began = secrets.token_hex(20), clock()  # another value for each round
        # Where a counter is made it starts right in front of the clocks, on all servers at the same token.
        proposal = int((began[1] + self.timeout / 2) * 1000)

        def lift(server):
            args = [1, value, 0, token, server.ahead * 1000, COUNTER_TTL, "raise"]
            return server.ask(LIFT, [key, "{" + key + "}:redlock"], args)

        votes = self.ask(lambda s: s.acquire(key, value, ttl, proposal))
        granted = {s: vote for s, vote in votes.items() if vote[0] and s.may_vote()}
        settled, token = [], max((token for token, _ in granted.values()), default=0)
        if len(granted) >= self.quorum:
            settled = [s for s, vote in granted.items() if vote == (token, False)]
            if len(settled) < self.quorum:
                lifted = self.ask(lift, [s for s in granted if s not in settled])
                settled += [s for s, outcome in lifted.items() if outcome == 1 and s.may_vote()]
        if len(settled) >= self.quorum and passed(began) < ttl - allowance(ttl):
            for server in settled:
                server.counted(began[0])
            return Lock(self, key, value, token, began, ttl)
        until = clock()[0] + ttl
        self.ask(lambda s: s.delete(key, value, until), [s for s in self.servers if votes.get(s) != (0, False)])
        refused = len([s for s in votes if not votes[s][0]])
        raise (driver.Taken if refused >= self.quorum else RuntimeError)(f"{len(settled)} granted, {refused} refused")


class Lock:
    def __init__(self, client, key, value, token, began, ttl):
        self.client, self.key, self.value, self.token = client, key, value, token
        self.began, self.validity, self.longest = began, ttl - allowance(ttl), ttl

    def held(self):
        return passed(self.began) < self.validity

    def extend(self, ttl):
        began, self.longest = clock(), max(self.longest, ttl)
        votes = self.client.ask(lambda s: s.ask(EXTEND, [self.key], [self.value, ttl]))
        kept = [s for s in votes if votes[s] == 1 and s.may_vote()]
        if len(kept) < self.client.quorum or not self.held() or passed(began) >= ttl - allowance(ttl):
            raise RuntimeError(f"extended on {len(kept)}")
        for server in kept:
            server.counted(began[0])
        self.began, self.validity = began, ttl - allowance(ttl)

    def release(self):
        self.validity = 0
        until = clock()[0] + self.longest
        done = self.client.ask(lambda s: s.delete(self.key, self.value, until))
        if len([s for s in done if done[s]]) < self.client.quorum:
            raise RuntimeError(f"deleted on {len(done)}")


def duration(ms):
    """A number of milliseconds as Go writes it: 30s, 1m30s, 1.5s, 100ms."""
    if ms < 1000:
        return f"{ms}ms"
    hours, ms = divmod(ms, 3_600_000)
    minutes, ms = divmod(ms, 60_000)
    text = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{text}{ms / 1000:g}s"


class Opened:
    """The client as the box opens it. MaxTTL is the TTL, because a server that is new votes after MaxTTL. Servers have
    the TTL in their names, because all clients under one name need the same MaxTTL, and the box may raise it."""

    def __init__(self, servers, ttl):
        named = [(f"server {i + 1} for {ttl}", address) for i, address in enumerate(servers)]
        self.client = Client(named, ttl, timeout=max(100, ttl // 10))
        self.acquire = self.client.acquire


if __name__ == "__main__":
    hello = {"name": "this library's protocol, Python", "version": "by hand", "servers": "many", "can": ["extend", "token", "wait"]}
    driver.run(hello, Opened)
