"""Random histories of replicas that run the design beside today's rules, checked after every delta.

    histories.py run WORLD FIRST COUNT [--without RULE ...] [--only FEATURE ...]
    histories.py replay WORLD SEED [...]        the steps of one history, and what failed
    histories.py shrink WORLD SEED [...]        the fewest steps that still fail
    histories.py gate [--seconds SECONDS]       some of every world, for as long

Worlds: harsh, ordinary, window, copies. README.md says what each is for and what is checked.
"""
import argparse
import sys
import time as wall

from world import FEATURES, WORLDS, World

TOTALS = ("deltas", "shredded", "lifted", "says_again", "purged", "hollow", "adopted", "purged_adds", "rebased", "renamed",
          "repaired", "twin_values", "beyond")


def run(kind, seeds, faults=(), only=None):
    """(failed seeds by kind of failure, how many histories failed, totals)"""
    failed, count, totals = {}, 0, dict.fromkeys(TOTALS, 0)
    for seed in seeds:
        world = World(seed, kind, faults, only)
        flags = world.run()
        count += bool(flags)
        for flag in flags:
            failed.setdefault(flag, []).append(seed)
        for name in TOTALS:
            totals[name] += getattr(world, name)
    return failed, count, totals


def shrink(kind, seed, faults=(), only=None):
    """The fewest steps of a history that still fail in one of the ways in which all of it fails."""
    def fails(steps):
        world = World(seed, kind, faults, only, steps)
        try:
            return set(world.run()) & wanted
        except (KeyError, IndexError, RecursionError):
            return set()
    world = World(seed, kind, faults, only)
    steps = list(world.steps)
    wanted = set(world.run())
    size = len(steps)
    while size:
        place = 0
        while place < len(steps):
            rest = steps[:place] + steps[place + size:]
            if fails(rest):
                steps = rest
            else:
                place += size
        size //= 2
    return steps


def gate(seconds):
    """Histories of every world for so many seconds, and faults that the checks must notice at once."""
    begun, bad, count, first = wall.time(), 0, 0, 1
    for rule in ("livesMix", "liftTouches", "liftKeepsVia", "liftIsWrite", "shredDropsOwner", "shredDropsTouches"):
        if not run("harsh", range(1, 21), {rule})[1]:
            print(f"without {rule} 20 histories hold: the checks notice nothing")
            bad += 1
    while wall.time() - begun < seconds:
        for kind in WORLDS:
            failed, failures, _ = run(kind, range(first, first + 10))
            bad += failures
            count += 10
            for flag, seeds in sorted(failed.items()):
                print(f"{kind} {seeds[0]}: {flag}; histories.py shrink {kind} {seeds[0]} shows it")
        first += 10
    print(f"{count} histories, {bad} bad")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "replay", "shrink", "gate"])
    parser.add_argument("world", choices=WORLDS, nargs="?")
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", choices=FEATURES)
    parser.add_argument("--seconds", type=int, default=40)
    options = parser.parse_args()
    faults, only = frozenset(options.without), options.only
    if options.what == "gate":
        return gate(options.seconds)
    if options.world is None:
        parser.error("which world?")
    if options.what == "run":
        begun = wall.time()
        failed, count, totals = run(options.world, range(options.seed, options.seed + options.count), faults, only)
        rest = " ".join(f"{name} {totals[name]}" for name in TOTALS)
        print(f"{options.world} {' '.join(sorted(faults)) or 'design'} {'all' if only is None else ' '.join(only) or 'plain'}: "
              f"seeds {options.seed} to {options.seed + options.count - 1}, failed {count}, {rest}, {wall.time() - begun:.0f} s")
        for flag, seeds in sorted(failed.items()):
            print(f"  {flag} {len(seeds)}, first {seeds[:5]}")
        return 1 if count else 0
    steps = shrink(options.world, options.seed, faults, only) if options.what == "shrink" else None
    world = World(options.seed, options.world, faults, only, steps)
    flags = world.run()
    print(f"{options.world} {options.seed}: {sorted(world.features)}, delete-wins {sorted(world.rules.delete_wins)}, "
          f"steps {world.steps}")
    print("\n".join("  " + line for line in world.log))
    print(flags or "holds")
    return 1 if flags else 0


if __name__ == "__main__":
    sys.exit(main())
