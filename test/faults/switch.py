"""A small Ethernet with hosts of its own, and a switch in user space that loses, delays, repeats and reorders frames.

    python3 switch.py PREFIX HOSTS      network namespaces PREFIX-1, PREFIX-2, ..., with 10.77.0.1, 10.77.0.2, ...

Every interface is made inside its namespace, so the network of the machine itself is not touched. Orders come as one
JSON object a line on standard input, and each is answered by one JSON line ("ready" is the first of all):

    {"do": "cut", "from": [1], "to": [2, 3]}     drops what goes that way, silently, ARP included
    {"do": "heal"}                               ends every cut
    {"do": "worsen", "from": [...], "to": [...], "delayMs": 50, "jitterMs": 20, "loss": 0.3, "reorder": 0.25, "repeat": 0}
    {"do": "calm"}                               ends everything that was worsened
    {"do": "calls"}                              the attempts to reach somebody since the last time it was asked:
                                                 [[seconds, from, address, port], ...], port 0: nobody has that address
    {"do": "counts"}                             how many frames came, were carried, lost and cut

When the input ends, by order or because the other side died, it ends what runs on the hosts and removes them.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0002, 0x1000, 0x40000000
CALM = {"delayMs": 0, "jitterMs": 0, "loss": 0, "reorder": 0, "repeat": 0}
ARP, IPV4, TCP, SYN, ACK = 0x0806, 0x0800, 6, 0x02, 0x10
MOST_CALLS = 20_000

libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    """Moves this process into a network namespace."""
    if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"setns {namespace.name}")


class Network:
    """The hosts: namespaces with one interface each, the other end of which is a file of ours."""

    def __init__(self, prefix, size):
        self.names = {host: f"{prefix}-{host}" for host in range(1, size + 1)}
        self.files = {}

    def build(self):
        for host, name in self.names.items():
            subprocess.run(["ip", "netns", "add", name], check=True)
            with open("/proc/self/ns/net", "rb") as home, open(f"/run/netns/{name}", "rb") as namespace:
                enter(namespace)
                try:
                    self.files[host] = self.plug()
                finally:
                    enter(home)
            lines = f"link set lo up\naddr add 10.77.0.{host}/24 dev eth0\nlink set eth0 up\n"
            subprocess.run(["ip", "-n", name, "-batch", "-"], input=lines, text=True, check=True)

    @staticmethod
    def plug():
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", b"eth0", IFF_TAP | IFF_NO_PI))
        return file

    def remove(self):
        for name in self.names.values():
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for pid in map(int, found.stdout.split()):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Switch:
    """Carries frames from host to host, as the rules of the pair say."""

    def __init__(self, files):
        self.files = files
        self.hosts = {file: host for host, file in files.items()}
        self.host_of_mac = {}
        self.cuts = set()
        self.rules = {}
        self.under_way = []
        self.order = 0
        self.calls = []
        self.counts = {"received": 0, "carried": 0, "lost": 0, "cut": 0}
        self.chance = random.Random(int(os.environ.get("SEED", "1")))

    def obey(self, order):
        pairs = [
            (a, b)
            for a in order.get("from", self.files)
            for b in order.get("to", self.files)
            if a != b
        ]
        what = order["do"]
        if what == "cut":
            self.cuts.update(pairs)
        elif what == "heal":
            self.cuts.clear()
        elif what == "worsen":
            for pair in pairs:
                self.rules[pair] = {name: order.get(name, calm) for name, calm in CALM.items()}
        elif what == "calm":
            self.rules.clear()
        elif what == "calls":
            calls, self.calls = self.calls, []
            return calls
        elif what == "counts":
            return self.counts
        else:
            return {"error": f"no such order: {what}"}
        return "done"

    def receive(self, file):
        """Takes what a host has sent, a bounded number of frames at a time."""
        source = self.hosts[file]
        for _ in range(64):
            try:
                frame = os.read(file, 65_536)
            except BlockingIOError:
                return
            self.counts["received"] += 1
            self.note_call(source, frame)
            self.host_of_mac[frame[6:12]] = source
            known = self.host_of_mac.get(frame[0:6])
            for target in [known] if known else self.files:
                if target != source:
                    self.carry(source, target, frame)

    def carry(self, source, target, frame):
        if (source, target) in self.cuts:
            self.counts["cut"] += 1
            return
        rule = self.rules.get((source, target), CALM)
        if self.chance.random() < rule["loss"]:
            self.counts["lost"] += 1
            return
        for _ in range(2 if self.chance.random() < rule["repeat"] else 1):
            delay_ms = rule["delayMs"] + self.chance.uniform(-1, 1) * rule["jitterMs"]
            # It overtakes those that are under way.
            if self.chance.random() < rule["reorder"]:
                delay_ms = 0
            self.order += 1
            due_at = time.monotonic() + max(0, delay_ms) / 1e3
            heapq.heappush(self.under_way, (due_at, self.order, target, frame))

    def deliver(self):
        now = time.monotonic()
        while self.under_way and self.under_way[0][0] <= now:
            _, _, target, frame = heapq.heappop(self.under_way)
            try:
                os.write(self.files[target], frame)
                self.counts["carried"] += 1
            except OSError:
                # Its queue is full: lost, as on any network.
                self.counts["lost"] += 1

    def wait_ms(self):
        return max(0, (self.under_way[0][0] - time.monotonic()) * 1e3) if self.under_way else None

    def note_call(self, source, frame):
        """A question for the holder of an address, or the first packet of a TCP connection."""
        (kind,) = struct.unpack_from("!H", frame, 12)
        if kind == ARP and frame[21] == 1:
            self.note(source, frame[38:42], 0)
        elif kind == IPV4 and frame[23] == TCP:
            start = 14 + 4 * (frame[14] & 0x0F)
            if frame[start + 13] & (SYN | ACK) == SYN:
                self.note(source, frame[30:34], struct.unpack_from("!H", frame, start + 2)[0])

    def note(self, source, address, port):
        if len(self.calls) < MOST_CALLS:
            self.calls.append([time.monotonic(), source, ".".join(map(str, address)), port])


def say(answer):
    print(json.dumps(answer), flush=True)


def serve(switch):
    poll = select.poll()
    for file in (*switch.hosts, 0):
        poll.register(file, select.POLLIN)
    pending = b""
    say("ready")
    while True:
        for file, _ in poll.poll(switch.wait_ms()):
            if file != 0:
                switch.receive(file)
                continue
            chunk = os.read(0, 65_536)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                say(switch.obey(json.loads(line)))
        switch.deliver()


def main():
    network = Network(sys.argv[1], int(sys.argv[2]))
    # The end of the input is the one way out: a signal meant for the whole group must not leave namespaces behind.
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(name, signal.SIG_IGN)
    try:
        network.build()
        serve(Switch(network.files))
    except BrokenPipeError:
        pass
    finally:
        network.remove()


main()
