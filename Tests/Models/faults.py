"""Leaves out one rule after the other and counts the histories that notice.

    faults.py [COUNT] [RULE ...]        COUNT histories each, 300 unless said
"""
import sys

import histories

# Rule left out: the world, and the features that it needs; None draws them.
RULES = {
    "noLiftSeen": ("harsh", None), "noLiftUnsent": ("harsh", None), "noLiftNews": ("harsh", None),
    "touchesAreSent": ("harsh", None),
    "liftKeepsVia": ("harsh", None), "liftIsWrite": ("harsh", None), "liftTouches": ("harsh", None),
    "liftKnown": ("harsh", None), "liftIfVisible": ("harsh", None), "newsIfVisible": ("harsh", None),
    "noSayTouched": ("harsh", None), "sayKnown": ("harsh", None), "noSayShown": ("harsh", ["cycles"]), "sayShownFirst": ("harsh", ["cycles"]),
    "restoreBare": ("ordinary", None), "insertBare": ("harsh", None), "noHollow": ("ordinary", None),
    "livesMix": ("harsh", None), "lifeCounts": ("harsh", None), "noFloor": ("harsh", None),
    "equalLivesMerge": ("harsh", ["counters"]), "dropCoveredTouches": ("copies", None), "viaFirst": ("copies", None),
    "shredVisible": ("harsh", None), "shredDropsTouches": ("harsh", None), "shredDropsOwner": ("harsh", None),
    "shredDropsLayers": ("harsh", ["seeds"]), "shredDropsBasis": ("harsh", ["seeds"]),
    "shredDropsForward": ("harsh", ["seeds", "adoption"]), "hollowSeeds": ("harsh", ["seeds"]),
    "noGate": ("ordinary", None), "gateDeletesOnly": ("ordinary", ["deleteWins"]),
    "gateOwnEdits": ("ordinary", None), "gateAboveOnly": ("ordinary", None), "gateLivingOwners": ("window", None),
    "restoreWithoutOwners": ("harsh", ["deleteWins"]), "dwDropsExistence": ("harsh", ["deleteWins"]),
    "totalsDropped": ("harsh", ["counters"]), "noSeenInLife": ("harsh", ["counters"]),
    "firstLifeUnsaid": ("copies", None), "numbersAreUnique": ("copies", None), "noStartNews": ("harsh", ["counters"]),
    "noStartLift": ("harsh", ["counters"]), "noStartAgain": ("harsh", ["counters"]),
    "calendarDays": ("window", None), "windowOffByOne": ("window", None), "rowsKeptAtFirstPeer": ("window", None),
    "newestRowsOnly": ("window", None),
}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for rule in sys.argv[2:] or RULES:
        world, only = RULES[rule]
        failed, caught, _ = histories.run(world, range(1, count + 1), {rule}, only)
        by = " ".join(f"{flag} {len(seeds)}" for flag, seeds in sorted(failed.items(), key=lambda f: -len(f[1])))
        first = min((seeds[0] for seeds in failed.values()), default=None)
        print(f"{rule:22s} {world:9s} {caught:4d} of {count}  first {first}  {by}", flush=True)


if __name__ == "__main__":
    main()
