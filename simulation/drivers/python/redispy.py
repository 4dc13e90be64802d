"""redis-py's own Lock, as its documentation shows it, on one server."""
import redis

import driver


class Client:
    def __init__(self, servers, _ttl):
        host, port = servers[0].split(":")
        self.redis = redis.Redis(host=host, port=int(port))

    def acquire(self, key, ttl, wait):
        lock = self.redis.lock(key, timeout=ttl / 1000)
        if not lock.acquire(blocking=wait > 0, blocking_timeout=wait / 1000):
            raise driver.Taken("redis-py says false")
        return Lock(lock)


class Lock:
    def __init__(self, lock):
        self.lock = lock

    def held(self):
        return self.lock.owned()

    def extend(self, ttl):
        self.lock.extend(ttl / 1000, replace_ttl=True)

    def release(self):
        self.lock.release()


driver.run({"name": "redis-py Lock", "version": redis.__version__, "servers": "one", "can": ["extend", "wait"]}, Client)
