"""The restore window: from when on a store may shred what a delete hides.

A store keeps rows of its own, which are not replicated: for a day, by its own clock, the vector of what others had as well on that
day (what a peer or a mailbox was given or gave; of a store that never had a peer, its own). A delete may be shredded once a row
covers it that is more than `window` days old: more, and not as many, since a row says what stood there in the evening.

A row that is more than `BELIEVED` days old, or lies in the future, is not believed: the clock has jumped, or the store was not used
for a year. Nothing else is needed for clocks that are wrong: one that is wrong by 50 years counts days like any other, and after a
jump the rows begin anew. Where the clock jumps to and fro (a device that starts in 1970 until it hears the time) the rows of both
times stay, of those that are not believed as many as `ROWS`.

Of the days that the window can need each keeps its row; of those before, the last of every 2, 4, 8 days and so on, counted from 1970,
at a `FINENESS`th of their age. What a row that goes says, a later one says as well.
"""
from today import merged

DAY = 86_400_000
BELIEVED = 400
ROWS = 64
FINENESS = 16


class Days:
    def __init__(self, window, faults=frozenset()):
        self.window, self.faults, self.rows, self.has_peer = window, faults, [], False   # rows: (day, vector), as they came

    def copy(self):
        result = Days(self.window, self.faults)
        result.rows, result.has_peer = list(self.rows), self.has_peer
        return result

    def is_over(self, today, day):
        if "windowOffByOne" in self.faults:
            return self.window <= today - day <= BELIEVED
        return self.window < today - day and (today - day <= BELIEVED or "calendarDays" in self.faults)

    def note(self, clock, vector, peer):
        """Notes what others have as well; of a store without any peer so far, what it has itself."""
        if self.has_peer and not peer:
            return
        today = clock // DAY
        if peer and not self.has_peer:
            self.has_peer = True
            if "rowsKeptAtFirstPeer" not in self.faults:
                self.rows = []
        same = [v for day, v in self.rows if day == today]
        self.rows = [r for r in self.rows if r[0] != today] + [(today, merged(same[0], vector) if same else dict(vector))]
        self.rows = self.rows[-ROWS:] if "newestRowsOnly" in self.faults else self.thinned(today)

    def thinned(self, today):
        kept, latest = {}, {}
        for day, vector in sorted(self.rows, key=lambda r: -r[0]):
            if not self.is_believed(today, day):
                continue
            age = today - day
            doublings = 0 if age <= self.window + 1 else max(1, age // FINENESS).bit_length() - 1
            group = doublings, day >> doublings
            if group in latest:
                kept[latest[group]] = merged(kept[latest[group]], vector)
            else:
                latest[group], kept[day] = day, vector
        others = [day for day, _ in self.rows if not self.is_believed(today, day)][-ROWS:]
        return [(day, kept.get(day, vector)) for day, vector in self.rows if day in kept or day in others]

    def is_believed(self, today, day):
        return 0 <= today - day <= BELIEVED + 1

    def ripe(self, clock):
        """What may be shredded today: what the rows cover that are over."""
        today, result = clock // DAY, {}
        for day, vector in self.rows:
            if self.is_over(today, day):
                result = merged(result, vector)
        return result
