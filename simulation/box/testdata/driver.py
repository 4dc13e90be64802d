"""A driver for the box: one Redis server, SET NX PX, and a delete that compares."""
import json, socket, sys, time, uuid

DELETE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

def redis(address, *args):
    """Sends one command on a connection of its own and returns the reply's first line."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=0.5) as s:
        s.sendall(b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in map(str.encode, map(str, args))))
        return s.makefile("rb").readline().decode().strip()

server, value, until = None, "", 0.0
for line in sys.stdin:
    r = json.loads(line)
    a = {"id": r["id"]}
    try:
        if r["do"] == "hello":
            a.update(name="SET NX", version="by hand", servers="one", can=[])
        elif r["do"] == "open":
            server = r["servers"][0]
        elif r["do"] == "acquire":
            value, began = str(uuid.uuid4()), time.monotonic()
            if redis(server, "SET", r["key"], value, "NX", "PX", r["ttl"]) == "+OK":
                a["held"], until = True, began + r["ttl"] / 1000
            else:
                a["held"], a["why"] = False, "taken"
        elif r["do"] == "check":
            a["held"] = time.monotonic() < until
        elif r["do"] == "release":
            until = 0.0
            a["done"] = redis(server, "EVAL", DELETE, 1, r["key"], value) == ":1"
    except OSError as e:  # the lock client's errors aren't the driver's
        a["why"] = repr(e)
    print(json.dumps(a), flush=True)
