"""A second client of this library's locks, from docs/reference/protocol.md alone: it shares locks, tokens
and wait queues with the Go client. It needs nothing but Python. It is short, not fast: it waits for all
servers, and polls."""
import concurrent.futures
import json
import os
import random
import secrets
import socket
import sys
import time

import driver

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "../../../docs/testdata/protocol/scripts.json"), encoding="utf-8") as file:
    SCRIPTS = json.load(file)

COUNTER_TTL = 24 * 3600 * 1000  # ms


def allowance(ms):
    return ms * 0.01 + 2


def clock():
    """Both clocks, in ms: the larger of what passes on them counts."""
    return time.monotonic() * 1000, time.time() * 1000


def passed(since):
    now = clock()
    return max(now[0] - since[0], now[1] - since[1], 0)


class ServerError(Exception):
    """The server answered with an error."""


class Server:
    """One server. Only one thread uses it at a time."""

    def __init__(self, name, address, max_ttl, timeout):
        host, port = address.rsplit(":", 1)
        self.name, self.address, self.timeout = name, (host, int(port)), timeout
        self.length = max_ttl + allowance(max_ttl)  # of a quarantine, ms
        self.socket = None
        self.run_id = self.epoch = self.run = self.voter = ""
        self.voted = self.quarantine = 0.0  # monotonic, ms
        self.offset = None  # of its clock from ours, between two bounds, and when: µs, µs, ms
        self.pending = {}  # deletes: value -> (key, monotonic ms at which the key has expired)

    def script(self, name, keys, args):
        """Runs a script. Its reply has to begin with a number that was drawn for it."""
        nonce = str(secrets.randbelow(1 << 53))
        rest = [len(keys), *keys, nonce, *args]
        try:
            reply = self.command("EVALSHA", SCRIPTS[name]["sha1"], *rest)
        except ServerError as err:
            if not str(err).startswith("NOSCRIPT"):
                raise
            reply = self.command("EVAL", SCRIPTS[name]["source"], *rest)
        if str(reply[0]) != nonce:
            self.close()
            raise OSError("the reply belongs to another request")
        return reply[1:]

    def command(self, *args):
        """Sends one command, once. After any error but the server's own the connection is closed."""
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, self.timeout / 1000)
                self.replies = self.socket.makefile("rb")
            texts = [str(arg).encode() for arg in args]
            self.socket.sendall(b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(t), t) for t in texts))
            return self.read()
        except ServerError:
            raise
        except (OSError, ValueError, IndexError) as err:
            self.close()
            raise OSError(f"{self.name}: {err!r}") from err

    def read(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the connection ended")
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise ServerError(text)
        if kind == b":":
            return int(text)
        if kind == b"+" or int(text) < 0:
            return text if kind == b"+" else None
        if kind == b"$":
            return self.replies.read(int(text) + 2)[:-2].decode(errors="replace")
        found = []
        for _ in range(int(text)):
            try:
                found.append(self.read())
            except ServerError as err:  # an element may be an error
                found.append(err)
        return found

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def probe(self):
        """Finds out the server's run. Any other run than the last one is a quarantine."""
        ago = max(0, clock()[0] - self.voted)
        ago = int((ago - allowance(ago)) * 1000)
        known = [self.run_id, self.epoch, self.voter if clock()[0] - self.voted < self.length else "", max(0, ago)]
        outcome, text, _, age, *_ = self.script("mark", ["{redlock}:served:" + self.name], known)
        if outcome != 1:
            raise OSError(f"{self.name} is no master")
        run_id, run = text.split("/")
        if run_id + run != self.run_id + self.run:
            # At first sight the age of the mark counts, later only what this client has seen.
            seen = age / 1000 if not self.run else 0
            self.quarantine = clock()[0] + self.length - seen
        self.run_id, self.run, self.epoch = run_id, run, run.split("@")[1]

    def ask(self, name, keys, args):
        """Runs a script in the run that is known, and watches the server's clock."""
        if not self.run:
            self.probe()
        sent = clock()[0]
        try:
            reply = self.script(name, keys + ["{redlock}:served:" + self.name], [self.run, *args])
        except ServerError as err:
            if str(err).startswith("REDLOCKRUN"):
                self.probe()  # it did nothing
            raise
        if name in ("acquire", "extend"):
            self.watch(reply[0], sent, clock()[0])
        return reply

    def watch(self, micros, sent, received):
        """Two looks at a clock that runs at about our rate fit together, or else it was set."""
        low, high = micros - received * 1000, micros - sent * 1000
        if self.offset:
            by = 10_000 + (received - self.offset[2]) * 1000 * 0.005
            if low > self.offset[1] + by or high < self.offset[0] - by:
                self.quarantine = max(self.quarantine, received + self.length)
        self.offset = (low, high, received)

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
                reply = self.script("release", [key, "{" + key + "}:redlock:waiters"], [value])
                done[value] = reply[1] % 2 == 1
            except (OSError, ServerError):
                break
            if done[value] or clock()[0] > until:
                del self.pending[value]
        return done


class Client:
    def __init__(self, servers, max_ttl, name="", version=0, timeout=100):
        """servers are pairs of a name, which all clients have to share, and an address."""
        self.servers = [Server(name, address, max_ttl, timeout) for name, address in servers]
        self.quorum = len(servers) // 2 + 1
        self.max_ttl = max_ttl
        self.set = f"{name}@{version} N={len(servers)} Q={self.quorum} MaxTTL={duration(max_ttl)}"
        self.fence = [COUNTER_TTL // 4, self.set, max_ttl * 1000 // 2]  # the last one is in µs
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
        beside = [key, "{" + key + "}:redlock", "{" + key + "}:redlock:set"]

        def grant(server):
            server.flush()
            reply = server.ask("acquire", beside, [ttl, 1, *self.fence, 0, value, "", 0])[1]
            if isinstance(reply, list) and reply[0] == 2:
                raise ServerError(f"another set: {reply[1]}")
            if isinstance(reply, list) and reply[0] == 4:
                raise ServerError(reply[1])
            return reply if isinstance(reply, int) else 0

        def lift(server):
            fence = [token, self.fence[0], self.fence[2], self.set]
            return server.ask("lift", beside, [1, value, 0, *fence])[0]

        votes = self.ask(grant)
        tokens = {s: token for s, token in votes.items() if token and s.may_vote()}
        settled, token = [], max(tokens.values(), default=0)
        if len(tokens) >= self.quorum:
            settled = [s for s in tokens if tokens[s] == token]
            if len(settled) < self.quorum:
                lifted = self.ask(lift, [s for s in tokens if tokens[s] < token])
                settled += [s for s, outcome in lifted.items() if outcome == 1 and s.may_vote()]
        if len(settled) >= self.quorum and passed(began) < ttl - allowance(ttl):
            for server in settled:
                server.counted(began[0])
            return Lock(self, key, value, token, began, ttl)
        until = clock()[0] + ttl
        self.ask(lambda s: s.delete(key, value, until), [s for s in self.servers if votes.get(s) != 0])
        refused = len([s for s in votes if votes[s] == 0])
        raise (driver.Taken if refused >= self.quorum else RuntimeError)(f"{len(settled)} granted, {refused} refused")


class Lock:
    def __init__(self, client, key, value, token, began, ttl):
        self.client, self.key, self.value, self.token = client, key, value, token
        self.began, self.validity, self.longest = began, ttl - allowance(ttl), ttl

    def held(self):
        return passed(self.began) < self.validity

    def extend(self, ttl):
        began, self.longest = clock(), max(self.longest, ttl)
        votes = self.client.ask(lambda s: s.ask("extend", [self.key], [self.value, ttl])[1])
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
    """The client as the box opens it. MaxTTL is the TTL, because a server that is new votes after MaxTTL."""

    def __init__(self, servers, ttl):
        named = [(f"server {i + 1}", address) for i, address in enumerate(servers)]
        self.client = Client(named, ttl, timeout=max(100, ttl // 10))
        self.acquire = self.client.acquire


if __name__ == "__main__":
    hello = {"name": "this library's protocol, Python", "version": "by hand", "servers": "many", "can": ["extend", "token", "wait"]}
    driver.run(hello, Opened)
