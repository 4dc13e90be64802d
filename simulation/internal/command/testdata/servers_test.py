"""Tests with servers that break on request. They need redlocksim in the PATH, and no other package."""
import json, socket, subprocess, unittest, urllib.request

def redis(address, *args, timeout=30):
    """Sends one command on a connection of its own and returns the reply's first line."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout) as s:
        s.sendall(b"*%d\r\n" % len(args) + b"".join(b"$%d\r\n%s\r\n" % (len(a), a) for a in map(str.encode, args)))
        return s.makefile("rb").readline().decode().strip()

class LockOnOneServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen(["redlocksim", "servers", "-n", "3"], stdout=subprocess.PIPE)
        started = json.loads(cls.process.stdout.readline())
        cls.http, cls.addresses = started["http"], [s["address"] for s in started["servers"]]

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()  # it also ends if this process is killed
        cls.process.communicate()

    def does(self, steps):
        with urllib.request.urlopen(self.http, steps.encode()) as answer:
            return json.load(answer)

    def tearDown(self):
        self.does("reset")

    def test_a_restarted_server_forgets_the_lock(self):
        a = self.addresses[0]
        self.assertEqual(redis(a, "SET", "restarted", "c1", "NX", "PX", "600000"), "+OK")
        self.assertEqual(redis(a, "SET", "restarted", "c2", "NX", "PX", "600000"), "$-1")
        self.does("stop A, start A")
        self.assertEqual(redis(a, "SET", "restarted", "c2", "NX", "PX", "600000"), "+OK")  # both hold it now

    def test_a_client_needs_a_timeout(self):
        self.does("hang AB")
        with self.assertRaises(socket.timeout):
            redis(self.addresses[0], "SET", "paused", "c1", "NX", timeout=0.1)
        self.assertEqual(redis(self.addresses[2], "SET", "paused", "c1", "NX"), "+OK")

if __name__ == "__main__":
    unittest.main()
