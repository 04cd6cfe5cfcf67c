#!/usr/bin/env python3
"""Mutation test: translation faults that `pdmigrate verify` must find and `--bisect` must name.

Each line of mutants.tsv is one fault: the kind, the case or model, the edit, the op that --bisect
is to name, and the legacy variable that it is to name ("-": none is asked for). The model is
converted, the edit applied to the JSON that was written, and the legacy program as it is verified
against the result, with the inputs that verify makes up by itself. Without the edit it must pass.

Edits; OP is "name#k", the k-th op of that name in program order, regions included:
    attr OP NAME JSON          another value of an attribute
    item OP NAME I JSON        another value of item I of an attribute that is an array
    operands OP I J            operands I and J swapped
    use OP I SOURCE            operand I reads another value: "OP:R", result R of an op, or
                               "@OP:A", argument A of the op's region; ":0" may be left out
    name OP NEW                another op with the same operands and attributes
    branches OP                the regions swapped
    yield OP REGION I J        values I and J swapped that a region yields
    give OP REGION I SOURCE    a region yields another value as number I
    skip OP                    whoever reads result 0 reads operand 0
"""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile


def walk(block):
    for op in block["ops"]:
        yield op
        for region in op.get("regions", []):
            for inner in region["blocks"]:
                yield from walk(inner)


def name_of(op):
    return {"p": "parameter"}.get(op["#"], op["#"].split(".", 1)[-1])


def results(op):
    return op["O"] if isinstance(op["O"], list) else [op["O"]]


class Program:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.json = json.load(f)
        self.block = self.json["program"]["regions"][0]["blocks"][0]

    def op(self, text):
        name, _, number = text.partition("#")
        found = [op for op in walk(self.block) if name_of(op) == name]
        return found[int(number or 0)]

    def source(self, text):
        if text.startswith("@"):
            name, _, number = text[1:].partition(":")
            return self.op(name)["regions"][0]["blocks"][0]["args"][int(number or 0)]["#"]
        name, _, number = text.partition(":")
        return results(self.op(name))[int(number or 0)]["%"]

    def attr(self, op, name):
        return next(a["AT"] for a in op["A"] if a["N"] == name)

    def yields(self, op, region):
        return op["regions"][int(region)]["blocks"][0]["ops"][-1]["I"]

    def edit(self, words):
        verb, op = words[0], self.op(words[1])
        rest = words[2:]
        if verb == "attr":
            self.attr(op, rest[0])["D"] = json.loads(rest[1])
        elif verb == "item":
            items, i = self.attr(op, rest[0])["D"], int(rest[1])
            if isinstance(items[i], dict):
                items[i]["D"] = json.loads(rest[2])
            else:
                items[i] = json.loads(rest[2])
        elif verb in ("operands", "yield"):
            ins = op["I"] if verb == "operands" else self.yields(op, rest.pop(0))
            i, j = map(int, rest)
            ins[i], ins[j] = ins[j], ins[i]
        elif verb in ("use", "give"):
            ins = op["I"] if verb == "use" else self.yields(op, rest.pop(0))
            ins[int(rest[0])] = {"%": self.source(rest[1])}
        elif verb == "name":
            op["#"] = op["#"].split(".", 1)[0] + "." + rest[0]
        elif verb == "branches":
            op["regions"].reverse()
        elif verb == "skip":
            old, new = results(op)[0]["%"], op["I"][0]["%"]
            for user in walk(self.block):
                for use in user.get("I", []):
                    if use["%"] == old and user is not op:
                        use["%"] = new
        else:
            raise ValueError(verb)


def run(*args):
    done = subprocess.run([os.environ["PDMIGRATE"], *args], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def find_model(fixtures, name):
    for folder in ("cases", "cases-own", "models"):
        path = os.path.join(fixtures, folder, name)
        if os.path.isdir(path):
            return path
    raise FileNotFoundError(name)


class Test:
    def __init__(self, fixtures, folder):
        self.fixtures, self.folder = fixtures, folder
        self.originals = {}

    def convert(self, case):
        """The converted model, which must agree with the legacy program; else why not."""
        if case not in self.originals:
            out = os.path.join(self.folder, case + ".json")
            model = find_model(self.fixtures, case)
            code, text = run(model, "-o", out)
            if code == 0:
                code, text = run("verify", model, out)
            self.originals[case] = (None, text) if code else (out, None)
        return self.originals[case]

    def judge(self, case, edit, op, variable):
        """None, or what is wrong."""
        original, why = self.convert(case)
        if not original:
            return "without the fault: " + why
        program = Program(original)
        before = copy.deepcopy(program.json)
        program.edit(edit.split(" "))
        if program.json == before:
            return "the edit changes nothing"
        mutant = os.path.join(self.folder, "mutant.json")
        with open(mutant, "w", encoding="utf-8") as f:
            json.dump(program.json, f, separators=(",", ":"), ensure_ascii=False)
        params = original[:-5] + ".pdiparams"
        if os.path.exists(params):
            shutil.copyfile(params, mutant[:-5] + ".pdiparams")
        elif os.path.exists(mutant[:-5] + ".pdiparams"):
            os.unlink(mutant[:-5] + ".pdiparams")
        code, text = run("verify", find_model(self.fixtures, case), mutant, "--bisect",
                         "--format", "json")
        if code != 1:
            return f"verify ends with {code}: {text[:600]}"
        found = json.loads(text)["bisect"]
        if not found or not found["found"]:
            return f"bisect finds nothing: {found}"
        if found["op"] != op:
            return f"bisect names {found['op']}, not {op}: {found['place']}; {found['why']}"
        if variable not in ("-", found["legacy"]["variable"]):
            return f"bisect names variable {found['legacy']['variable']}, not {variable}"
        return None


def main():
    table, fixtures = sys.argv[1:3]
    only = sys.argv[3:]
    with open(table, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if line.strip() and line[0] != "#"]
    lines = [line for line in lines if not only or any(o in " ".join(line) for o in only)]
    found = 0
    print(f"1..{len(lines) + 1}")
    with tempfile.TemporaryDirectory() as folder:
        test = Test(fixtures, folder)
        for number, (kind, case, edit, op, variable) in enumerate(lines, 1):
            try:
                wrong = test.judge(case, edit, op, variable)
            except (LookupError, ValueError, StopIteration, FileNotFoundError) as e:
                wrong = f"{type(e).__name__}: {e}"
            found += wrong is None
            print(f"{'not ' if wrong else ''}ok {number} - {kind}: {case}: {edit}")
            for line in (wrong or "").splitlines():
                print("# " + line)
            sys.stdout.flush()
    kinds = len({line[0] for line in lines})
    print(f"{'' if found == len(lines) else 'not '}ok {len(lines) + 1} - "
          f"{found} of {len(lines)} faults of {kinds} kinds are found and named")
    return 0 if found == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
