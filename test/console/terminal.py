"""Runs a command in a terminal of its own: what comes on stdin is typed, and what it shows goes to stdout.

`\\x00resize COLUMNS ROWS\\x00` on stdin resizes the terminal. Ends with the command's exit code.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


child, terminal = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm-256color"
    # Node sees what a machine of a CI can show, and would go by that.
    for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    # The size is set before the command asks for it.
    sys.stdin.readline()
    os.execvp(sys.argv[1], sys.argv[1:])

resize(terminal, 100, 30)
os.write(terminal, b"\n")
sources = [0, terminal]
while True:
    ready, _, _ = select.select(sources, [], [])
    if terminal in ready:
        try:
            shown = os.read(terminal, 65536)
        except OSError:
            break
        if not shown:
            break
        os.write(1, shown)
    if 0 in ready:
        typed = os.read(0, 65536)
        if not typed:
            sources.remove(0)
        # What was written at different times may come in one piece.
        for part in re.split(rb"(\0resize \d+ \d+\0)", typed):
            if part.startswith(b"\0resize "):
                columns, rows = part.strip(b"\0").split()[1:]
                resize(terminal, int(columns), int(rows))
            else:
                os.write(terminal, part)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
