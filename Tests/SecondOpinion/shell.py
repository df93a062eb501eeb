"""`tally shell` as an object: one command a line, one answer of JSON a line."""

import json
import shlex
import subprocess
import tempfile


class Refused(Exception):
    """The tool said no, and why."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]


class Shell:
    def __init__(self, tool, schema, *options):
        self.warnings = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [tool, "shell", "--schema", schema, "--seed", "1", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.warnings,
        )
        self.lines = 0

    def __call__(self, *words):
        self.lines += 1
        self.process.stdin.write((shlex.join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.warnings.seek(max(0, self.warnings.tell() - 2000))
            raise SystemExit(f"the tool ended with {status} at {words}\n{self.warnings.read().decode()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["ok"]

    def close(self):
        self.process.stdin.close()
        return self.process.wait()
