"""Run a command on a terminal, interrupt it after two seconds, and print its exit status, whether the text was shown at the begin
of the line, and whether the line was cleared.

usage: terminal.py TEXT COMMAND...
"""
import os
import pty
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGINT, signal.SIG_DFL)
master, slave = pty.openpty()
p = subprocess.Popen(sys.argv[2:], stderr=slave, stdin=slave)
os.close(slave)
time.sleep(2)
p.send_signal(signal.SIGINT)
p.wait(timeout=60)
shown = b""
try:
    while True:
        shown += os.read(master, 65536)
except OSError:     # how a terminal ends
    pass
print(p.returncode, b"\r" + sys.argv[1].encode() in shown, b"\r\x1b[K" in shown)
