"""names.py DATABASE FROM: a store with names, hosts and error texts that want to be markup, and with 12,000 trials.

Made of the text log of another store, so that its programs and traces are real. $LATHE is the program.
"""
import json
import os
import subprocess
import sys

lathe = os.environ["LATHE"]
log = subprocess.run([lathe, "db", "export", "--db", sys.argv[2]], capture_output=True, text=True, check=True).stdout
evil = "<script>alert(1)</script>'\" onload=\"x\" ' onload='x' & \u202e\u0001"
lines = []
for line in map(json.loads, log.splitlines()):
    if line["kind"] == "program":
        line["names"] = [[evil, evil + "(n=1)"]]
    if line["kind"] == "target":
        line["name"] = evil
    if line["kind"] == "trial":
        line.pop("id")
        line["by"]["host"] = evil
        for i in range(4000 if "times" in line else 1):
            again = dict(line, created_us=line["created_us"] + i)
            if "error" in again:
                again["error"] = evil + "\u00e9" * 400
            lines.append(again)
        continue
    lines.append(line)
text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
subprocess.run([lathe, "db", "import", "/dev/stdin", "--db", sys.argv[1]], input=text, text=True, check=True)
