#!/usr/bin/env python3
"""Judges `hookline` on recorded behaviour vectors (JSON lines). Python 3.11+, standard library only.

  python3 run_vectors.py [--vectors FILE] [--only TOPIC] [--ids a,b] [--cmd "hookline"] [--jobs N]

For each vector: lays its files out in a temp folder DIR, then runs, with DIR as the working directory,
  hookline fire EVENT --payload DIR/payload.json --project DIR/project --json
with HOME=DIR/home HOOKLINE_HOME=DIR/home/.hookline HOOKLINE_TRUST=all HOOKLINE_DIALECTS=native,chrys and a small clean environment.
The tokens {project} and {home} stand for DIR/project and DIR/home in files, env, payload and expectations.

A vector may hold `expect_doc` besides `expect`: what the documents say where the reference did something else.
Either of the two passes (the report counts which).  Last line of the output: "N passed, M failed".
"""

from __future__ import annotations
import argparse, concurrent.futures, json, os, shlex, shutil, subprocess, sys, tempfile, time
from collections import Counter
from pathlib import Path

NOT_RUN = {
    "skip",
    "skipped",
    "not_run",
    "not-run",
    "not_matched",
    "unmatched",
    "no_match",
    "no-match",
    "disabled",
    "cancelled",
    "canceled",
    "pending",
    "queued",
}
SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    6: "SIGABRT",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}


def sub(value, root):
    """*value* with the tokens {project} and {home} filled in, in every string."""
    if isinstance(value, str):
        return value.replace("{project}", f"{root}/project").replace("{home}", f"{root}/home")
    if isinstance(value, list):
        return [sub(v, root) for v in value]
    if isinstance(value, dict):
        return {sub(k, root): sub(v, root) for k, v in value.items()}
    return value


def layout(vec, root):
    for d in ("home", "project", "project/out"):
        os.makedirs(f"{root}/{d}", exist_ok=True)
    for rel, text in vec.get("files", {}).items():
        p = Path(root, rel)
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_text(sub(text, root), encoding="utf-8", newline="")
    for rel, mode in vec.get("modes", {}).items():
        os.chmod(f"{root}/{rel}", int(mode, 8))
    with open(f"{root}/payload.json", "w", encoding="utf-8") as f:
        json.dump(sub(vec["payload"], root), f)


def base_path(extra=""):
    parts = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    if not any(os.access(f"{p}/python3", os.X_OK) for p in parts):
        parts.append(os.path.dirname(sys.executable))
    return ":".join([p for p in extra.split(":") if p] + parts)


def fire(vec, root, cmd, timeout=30.0, path=""):
    """(JSON object or None, stderr text, problem text)"""
    env = {
        "PATH": base_path(path),
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        **sub(vec.get("env", {}), root),
        "HOME": f"{root}/home",
        "HOOKLINE_HOME": f"{root}/home/.hookline",
        "HOOKLINE_TRUST": "all",
        "HOOKLINE_DIALECTS": "native,chrys",
    }
    argv = [*cmd, "fire", vec["event"], "--payload", f"{root}/payload.json", "--project", f"{root}/project", "--json"]
    try:
        r = subprocess.run(
            argv,
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return None, "", f"command still running after {timeout:g} s"
    except OSError as exc:
        return None, "", f"command could not be started: {exc}"
    err = r.stderr.decode("utf-8", "replace")
    text = r.stdout.decode("utf-8", "replace").strip()
    for candidate in (text, text.splitlines()[-1] if text else ""):
        try:
            out = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(out, dict):
            return out, err, ""
    return None, err, f"no JSON object on stdout (exit {r.returncode}): {(text or err)[-160:]!r}"


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def texts(items):
    return [i.get("text", i.get("value")) if isinstance(i, dict) else i for i in items or []]


def exit_matches(run, want):
    code, sig = run.get("exit_code"), run.get("signal")
    if want is None:  # timed out or could not start: whatever is reported, it is no success
        return code != 0
    if want < 0:
        return code in (want, 128 - want) or sig in (-want, SIGNALS.get(-want))
    return code == want


def outbox_files(root):
    """{state: [job dict, ...]} of the job files under an outbox/ folder anywhere below DIR/home."""
    found = {"pending": [], "done": [], "failed": []}
    for d, _, names in os.walk(f"{root}/home"):
        state = os.path.basename(d)
        if state not in found or "outbox" not in d.split(os.sep):
            continue
        for n in sorted(names):
            if n.endswith(".json"):
                try:
                    found[state].append(json.loads(Path(d, n).read_text(encoding="utf-8")))
                except ValueError:
                    found[state].append({})
    return found


def check_files(exp, root, with_outbox=True):
    bad = []
    for rel, want in exp.get("files_after", {}).items():
        p = Path(root, rel)
        if want is None:
            if p.exists():
                bad.append(f"{rel} exists ({p.read_text(errors='replace')[:60]!r})")
            continue
        want = sub(want, root)
        got = p.read_text(encoding="utf-8", errors="replace") if p.is_file() else None
        if got != want:
            if got is not None and len(got) > 100:
                i = next((i for i, (x, y) in enumerate(zip(got, want)) if x != y), min(len(got), len(want)))
                bad.append(f"{rel} differs at {i}: {got[i : i + 60]!r}, want {want[i : i + 60]!r}")
            else:
                bad.append(f"{rel} is {got!r}, want {want[:100]!r}")
    for rel in exp.get("paths_gone", []):
        p = Path(root, rel)
        for line in p.read_text().splitlines() if p.is_file() else ["?"]:
            if line == "?" or not line.startswith("/") or os.path.exists(line):
                bad.append(f"path listed in {rel} still there or not listed: {line}")
    if with_outbox and exp.get("outbox") is not None:
        jobs = outbox_files(root)
        got = {k: len(v) for k, v in jobs.items()}
        if got != {"pending": 0, "done": 0, "failed": 0, **exp["outbox"]}:
            bad.append(f"outbox {got}, want {exp['outbox']}")
        for want in exp.get("outbox_jobs", []):
            mine = [j for j in jobs.get(want["state"], []) if j.get("hook_id", j.get("hook")) == want["hook_id"]]
            if not mine:
                bad.append(f"no {want['state']} job of hook {want['hook_id']!r}")
                continue
            for k in ("event", "exit_code"):
                if mine[0].get(k) != want[k] and not (k == "exit_code" and want[k] is None and mine[0].get(k) != 0):
                    bad.append(f"{want['state']} job of {want['hook_id']!r}: {k}={mine[0].get(k)!r}, want {want[k]!r}")
            if not isinstance(mine[0].get("payload"), dict) or mine[0]["payload"].get("event") != want["event"]:
                bad.append(f"{want['state']} job of {want['hook_id']!r} has no payload with its event")
    return bad


def check_output(exp, vec, out, err, root):
    exp = sub(exp, root)
    bad = []
    blocked = out.get("verdict") == "block"
    if blocked != exp["blocked"]:
        bad.append(
            f"verdict {out.get('verdict')!r}, want {'block' if exp['blocked'] else 'allow'} (reason {str(out.get('reason'))[:80]!r})"
        )
    elif not blocked and out.get("verdict") not in ("allow", None):
        bad.append(f"verdict {out.get('verdict')!r}, want 'allow'")
    reason = f"{out.get('reason') or ''}\n{out.get('user_message') or ''}"
    bad += [f"reason lacks {p!r}: {reason.strip()[:100]!r}" for p in exp.get("reason_contains", []) if p not in reason]
    if not exp["blocked"] and not blocked:  # edits and texts of a rejected operation reach nobody
        got = (out.get("edits") or {}).get("args")
        original = sub((vec["payload"].get("tool") or {}).get("args"), root)
        want, final = exp.get("args_override"), exp.get("final_args")
        if want is None:
            if got and not same(got, original):
                bad.append(f"unexpected edits.args {json.dumps(got)[:80]}")
        else:
            if not (same(got, want) or same(got, final)):
                bad.append(f"edits.args {json.dumps(got)[:80]}, want {json.dumps(want)[:80]}")
            after = ((out.get("payload") or {}).get("tool") or {}).get("args")
            if not same(after, final):
                bad.append(f"payload.tool.args {json.dumps(after)[:80]}, want {json.dumps(final)[:80]}")
        for key, name in (("reminders", "reminders"), ("contexts", "context")):
            if not same(texts(out.get(name)), exp.get(key, [])):
                bad.append(f"{name} {texts(out.get(name))!r}, want {exp.get(key, [])!r}")
    runs = [
        r
        for r in out.get("runs") or []
        if str(r.get("status", "")).lower() not in NOT_RUN and r.get("hook") not in exp.get("maybe", [])
    ]
    loose = Counter(exp.get("nonblocking", []))
    want_seq = list(exp.get("ran", []))
    for i in exp.get("nonblocking", []):
        want_seq.remove(i)
    got_loose = Counter(r.get("hook") for r in runs if r.get("hook") in loose)
    got_seq = [r.get("hook") for r in runs if r.get("hook") not in loose]
    if got_seq != want_seq:
        bad.append(f"blocking runs {got_seq}, want {want_seq}")
    if got_loose != loose:
        bad.append(f"non-blocking runs {sorted(got_loose.elements())}, want {sorted(loose.elements())}")
    if exp.get("layers"):
        got = ["global" if r.get("layer") == "user" else r.get("layer") for r in runs if r.get("hook") not in loose]
        if got != exp["layers"]:
            bad.append(f"layers {got}, want {exp['layers']}")
    for hook, want in exp.get("exits", {}).items():
        mine = [r for r in runs if r.get("hook") == hook]
        if not mine or not exit_matches(mine[0], want):
            got = (mine[0].get("exit_code"), mine[0].get("signal")) if mine else None
            bad.append(f"hook {hook!r} exit {got}, want {want}")
    for hook, want in exp.get("stdout", {}).items():
        text = next((r.get("stdout") or "" for r in runs if r.get("hook") == hook), "")
        if not (
            text.startswith(want["starts"])
            and text.rstrip("\n").endswith(want["ends"])
            and len(text.encode()) <= want["max_bytes"]
        ):
            bad.append(f"stdout of {hook!r}: {len(text)} characters, {text[:20]!r} ... {text[-20:]!r}")
    said = err + json.dumps({k: v for k, v in out.items() if k not in ("payload", "runs")}, ensure_ascii=False)
    complained = bool(err.strip()) or any(
        out.get(k) for k in ("config_error", "config_errors", "errors", "warnings", "problems", "diagnostics")
    )
    if exp.get("config_error") and not complained:
        bad.append("a broken configuration file was not reported (stderr empty, no warnings/config_errors in the JSON)")
    if exp.get("config_error") is False and (out.get("config_error") or out.get("config_errors")):
        bad.append(
            f"configuration reported as broken: {str(out.get('config_error') or out.get('config_errors'))[:100]}"
        )
    bad += [f"no warning mentions {p!r}" for p in exp.get("warnings_contain", []) if p not in said]
    return bad


def judge(vec, cmd, opts):
    """(problems, which) -- which of expect/expect_doc matched"""
    root = os.path.realpath(tempfile.mkdtemp(prefix="hv-", dir=opts.tmp))
    try:
        layout(vec, root)
        out, err, problem = fire(vec, root, cmd, opts.timeout, opts.path)
        if out is None:
            return [problem], ""
        sides = [("reference", vec["expect"])]
        if vec.get("expect_doc"):
            sides.append(("doc", {**vec["expect"], **vec["expect_doc"]}))
        end, first = time.monotonic() + opts.settle, None
        while True:
            for which, exp in sides:
                bad_out = check_output(exp, vec, out, err, root)
                bad_files = check_files(exp, root, not opts.no_outbox)
                if not bad_out and not bad_files:
                    return [], which
                if which == "reference":
                    first = bad_out + bad_files
                    retry = bool(bad_files) and (not bad_out or len(sides) > 1)
            if not retry or time.monotonic() > end:
                return first, ""
            time.sleep(0.1)
    finally:
        if not opts.keep:
            shutil.rmtree(root, ignore_errors=True)
        else:
            print(f"kept {vec['id']}: {root}")


def load(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def main():
    p = argparse.ArgumentParser(description="Run recorded hook behaviour vectors against hookline.")
    p.add_argument("--vectors", default=str(Path(__file__).with_name("chrys.jsonl")))
    p.add_argument("--only", metavar="TOPIC")
    p.add_argument("--ids", metavar="a,b")
    p.add_argument(
        "--documented",
        action="store_true",
        help="leave out vectors that pin behaviour of the reference that the documents do not state",
    )
    p.add_argument("--cmd", default="hookline", help="the command, may hold arguments")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--tmp", default=None, help="where the temp folders go")
    p.add_argument("--path", default="", help="folders put before the fixed PATH")
    p.add_argument("--timeout", type=float, default=30.0)
    p.add_argument("--settle", type=float, default=5.0, help="seconds to wait for files of non-blocking hooks")
    p.add_argument("--no-outbox", action="store_true", help="do not look at outbox job files")
    p.add_argument("--keep", action="store_true", help="keep the temp folders")
    opts = p.parse_args()
    cmd = shlex.split(opts.cmd)
    cmd[0] = os.path.abspath(shutil.which(cmd[0]) or cmd[0])
    vecs = [v for v in load(opts.vectors) if (not opts.only or v["topic"] == opts.only)]
    if opts.documented:
        vecs = [v for v in vecs if v.get("documented", True)]
    if opts.ids:
        wanted = opts.ids.split(",")
        vecs = [v for v in vecs if v["id"] in wanted]
    passed, total, sides, failing = Counter(), Counter(), Counter(), []

    def one(v):
        try:
            return judge(v, cmd, opts)
        except Exception as exc:  # one odd answer must not end the whole run
            return [f"runner could not judge it: {type(exc).__name__}: {exc}"], ""

    with concurrent.futures.ThreadPoolExecutor(max(1, opts.jobs)) as pool:
        for v, (bad, which) in zip(vecs, pool.map(one, vecs)):
            total[v["topic"]] += 1
            passed[v["topic"]] += not bad
            if v.get("expect_doc") and not bad:
                sides[which] += 1
            if bad:
                failing.append((v["id"], v["topic"], bad))
    for t in sorted(total):
        print(f"{t:10} {passed[t]}/{total[t]}")
    if sides:
        print(
            "where reference and documents differ: "
            + ", ".join(f"{n} as the {'documents' if k == 'doc' else 'reference'}" for k, n in sorted(sides.items()))
        )
    for i, t, bad in failing:
        print(f"FAIL {i} [{t}] {bad[0]}" + (f" (+{len(bad) - 1} more)" if len(bad) > 1 else ""))
    print(f"{sum(passed.values())} passed, {len(failing)} failed")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
