"""The algorithm of the Redis document by hand, on redis-py:
https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/"""
import secrets
import time

import redis

import driver

UNLOCK = """if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end"""
RENEW = """if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end"""


class Client:
    def __init__(self, servers, _ttl):
        addresses = [server.split(":") for server in servers]
        self.servers = [
            redis.Redis(host=host, port=int(port), socket_timeout=0.05, socket_connect_timeout=0.05)
            for host, port in addresses
        ]
        self.quorum = len(servers) // 2 + 1

    def acquire(self, key, ttl, wait):
        lock = Lock(self, key, ttl)
        done, refused = self.ask(lambda server: server.set(key, lock.value, nx=True, px=ttl))
        if done < self.quorum or not lock.held():
            self.ask(lambda server: server.eval(UNLOCK, 1, key, lock.value))
            raise (driver.Taken if refused >= self.quorum else RuntimeError)(f"{done} granted, {refused} refused")
        return lock

    def ask(self, command):
        """Asks one server after the other. Returns how many did it, and how many refused."""
        done = refused = 0
        for server in self.servers:
            try:
                if command(server):
                    done += 1
                else:
                    refused += 1
            except redis.RedisError as err:
                print(repr(err), file=driver.sys.stderr)
        return done, refused


class Lock:
    def __init__(self, client, key, ttl):
        self.client, self.key, self.value = client, key, secrets.token_hex(20)
        self.until = deadline(ttl)

    def left(self):
        return (self.until - time.monotonic()) * 1000

    def held(self):
        return self.left() > 0

    def extend(self, ttl):
        later = deadline(ttl)
        done, _ = self.client.ask(lambda server: server.eval(RENEW, 1, self.key, self.value, ttl))
        if done < self.client.quorum or not self.held():
            raise RuntimeError(f"renewed on {done}")
        self.until = later

    def release(self):
        done, _ = self.client.ask(lambda server: server.eval(UNLOCK, 1, self.key, self.value))
        if done < self.client.quorum:
            raise RuntimeError(f"deleted on {done}")


def deadline(ttl):
    return time.monotonic() + (ttl - ttl * 0.01 - 2) / 1000  # less the clocks' drift


driver.run({"name": "Redis document, Python", "version": redis.__version__, "servers": "many", "can": ["extend"]}, Client)
