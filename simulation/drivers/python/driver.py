"""The part of a driver of the box that all clients share: it reads requests, see package box, asks
a lock client and writes its answers."""
import json
import sys


class Taken(Exception):
    """The client says that another one has the lock."""


def run(hello, connect):
    """Answers the requests on the standard input until it ends. connect(servers, ttl) returns a
    client. Its acquire(key, ttl, wait) returns a lock with held(), extend(ttl), release() and perhaps
    left(), how much of the lease is left, or raises. It tries once if wait is 0. Times are in
    milliseconds."""
    client = None
    leases = {}  # by key; those that were released, too
    released = set()

    def answer(do, key=None, servers=None, ttl=None, wait=0, **_):
        nonlocal client
        if do == "hello":
            return hello
        if do == "open":
            client = connect(servers, ttl)
            return {}
        if do == "acquire":
            leases[key] = client.acquire(key, ttl, wait)
            released.discard(key)
            left = getattr(leases[key], "left", None)
            timed = {"left": int(left())} if left else {}
            return {"held": True, "token": getattr(leases[key], "token", 0), **timed}
        if do not in ("check", "extend", "release"):
            return {"error": f'there is no request "{do}"'}
        if key not in leases:
            return {"why": "it was not acquired"}
        if do == "extend":
            leases[key].extend(ttl)
            return {"held": True}
        if do == "release":
            released.add(key)
            leases[key].release()
            return {"done": True}
        return {"why": "it was released"} if key in released else {"held": leases[key].held()}

    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError as err:
            write({"error": f"reading a request: {err}"})
            continue
        try:
            write({**answer(**request), "id": request["id"]})
        except Exception as err:
            print(repr(err), file=sys.stderr)
            write({"id": request["id"], "why": "taken" if isinstance(err, Taken) else str(err) or repr(err)})


def write(answer):
    print(json.dumps(answer), flush=True)
